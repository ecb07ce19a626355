package exactlyone

import (
	"exactlyone/interleave"
	"exactlyone/model"
)

// Blocker is a [Backend] that finds deadlocks, as PostgreSQL does: among
// transactions that wait for each other one is rolled back, and the statement
// it waited with returns [model.ErrDeadlock]. Which one is not fixed, so the
// search tries each. Without Blocker they wait for ever.
type Blocker interface {
	// Blocker is the index of the session in others that an op must wait for
	// first, -1 if there is none.
	Blocker(shared, session State, op interleave.Op, others []State) int
}

// deadlocked says whether the transaction of a request that waits is one of
// several that wait for each other. Each waits for one at a time, so they are
// found by going from one to the next:
//
//	client 1 ─waits for─▶ client 2 ─waits for─▶ client 3
//	   ▲──────────────────waits for───────────────┘
//
// A statement of its own holds nothing that another could wait for, and the
// store does not know which transaction the request beside it has open: such a
// circle is never broken.
func (w *world) deadlocked(v []uint32, c, s int) bool {
	op, ok := w.handlerStands(v, c, s).Op.(storeOp)
	if !ok {
		return false
	}
	b, ok := w.backends[op.store].(Blocker)
	if !ok {
		return false
	}
	at := [2]int{c, s}
	for range w.clients * w.layout.slots {
		if at, ok = w.waitsFor(v, b, at, op.store); !ok {
			return false
		}
		if at == [2]int{c, s} {
			return true
		}
	}
	return false // it waits for a circle that it is no part of
}

// waitsFor is whose transaction in a store a request's transaction waits for.
func (w *world) waitsFor(v []uint32, b Blocker, who [2]int, store int) (holder [2]int, waits bool) {
	c, s := who[0], who[1]
	id := v[w.slot(c, s)+slotSession+store]
	if id == 0 || w.word(v, c, s).phase() != phaseRunning {
		return holder, false
	}
	op, ok := w.handlerStands(v, c, s).Op.(storeOp)
	if !ok || op.store != store || NeedsTurn(op.op) {
		return holder, false
	}
	w.findOthers(v, c, s, op)
	n := b.Blocker(w.values.Value(v[atStores+store]).(State), w.values.Value(id).(State), op.op, w.others)
	if n < 0 || w.holders[n] == nobody {
		return holder, false
	}
	return w.holders[n], true
}

// breakDeadlock rolls the transaction of a request back, and its statement errs.
func (w *world) breakDeadlock(v []uint32, c, s int) {
	w.count(deadlocks)
	store := w.handlerStands(v, c, s).Op.(storeOp).store
	for n := range w.nodes {
		v[w.node(n)+1] |= nodeCrashable // before the deadlock, a crash would have avoided it
	}
	w.stepStore(v, c, s, store, w.cache.rollback[store], w.values.ID(Reply{Err: model.ErrDeadlock}))
}
