package exactlyone

import (
	"fmt"

	"exactlyone/model"
)

// storeError: a statement, BEGIN or COMMIT has no effect and errs. Which errors
// there are is the backend's to say; those that end a transaction roll it back.
type storeError struct{}

func (storeError) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.StoreErrors, json: "store_errors", one: "store error", usage: "errors of a store, without effect,", severity: 2}
}

func (storeError) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	w.eachStoreOp(v, func(c, s int, op storeOp) {
		waits := w.waits(v, c, s, op)
		for i, err := range w.failing[op.store].Errors {
			switch kindOf(op.op) {
			case KindBegin, KindStatement, KindAuto:
				if err == model.ErrBusy && !NeedsTurn(op.op) || err != model.ErrBusy && waits {
					continue // only who waits for a turn finds the store busy
				}
			case KindCommit:
				if err != model.ErrSerialization && err != model.ErrDeadlock {
					continue // a connection lost at COMMIT is a commit fault
				}
			default:
				continue
			}
			put(c, s, i)
		}
	})
}

// failure is the op that fails and its error.
func (storeError) failure(w *world, v []uint32, who, slot, arg int) (storeOp, error) {
	op := w.handlerStands(v, who, slot).Op.(storeOp)
	return op, w.failing[op.store].Errors[arg]
}

func (e storeError) strike(w *world, v []uint32, who, slot, arg int) {
	op, err := e.failure(w, v, who, slot, arg)
	w.noted(fmt.Sprint("store errors: ", err))
	at := w.slot(who, slot)
	w.silent(v, who, slot)
	if v[at+slotSession+op.store] != 0 && model.EndsTx(err) && kindOf(op.op) != KindAuto {
		w.perform(v, at, op.store, w.cache.rollback[op.store])
	}
	w.give(v, who, slot, w.values.ID(Reply{Err: err}))
}

func (e storeError) label(w *world, v []uint32, who, slot, arg int) string {
	op, err := e.failure(w, v, who, slot, arg)
	return fmt.Sprintf("%s: %s fails: %v", w.requestName(who, slot), w.opText(op), err)
}

func (e storeError) tell(w *world, v []uint32, who, slot, arg int, log *stepLog, add func(who, what string)) {
	op, err := e.failure(w, v, who, slot, arg)
	add(w.requestName(who, slot), fmt.Sprintf("✗ %s fails: %v", w.opBrief(op), err)+ends(log))
}
