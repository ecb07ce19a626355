package exactlyone

import (
	"fmt"

	"exactlyone/model"
)

// failedCall: a call to a third party fails, with or without having been
// carried out, or the code that makes it panics. Clean-up does run then.
type failedCall struct{}

// Variants of a failed call.
const (
	callRefused = iota
	callLost
	callPanics
)

var callTexts = [...]string{
	callRefused: "fails: connection closed, without effect",
	callLost:    "takes effect, but its answer is lost",
	callPanics:  "panics, without effect",
}

func (failedCall) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.Calls, json: "calls", one: "failed call", usage: "calls to third parties that fail", severity: 2}
}

func (failedCall) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	w.eachReady(v, func(c, s int, op storeOp) {
		if _, ok := op.op.(callOp); ok {
			for variant := range callTexts {
				put(c, s, variant)
			}
		}
	})
}

func (failedCall) strike(w *world, v []uint32, who, slot, arg int) {
	w.noted("calls: " + callTexts[arg])
	p := w.handlerStands(v, who, slot)
	if arg == callLost {
		w.stepStore(v, who, slot, p.Op.(storeOp).store, p.OpID, w.values.ID(Reply{Value: received{err: model.ErrTimeout}}))
		return
	}
	reply := Reply{Value: received{err: model.ErrConnection}}
	if arg == callPanics {
		reply = Reply{Value: panicking{}}
	}
	w.silent(v, who, slot)
	w.give(v, who, slot, w.values.ID(reply))
}

func (failedCall) label(w *world, v []uint32, who, slot, arg int) string {
	return fmt.Sprintf("%s: %s %s", w.requestName(who, slot), w.opText(w.handlerStands(v, who, slot).Op), callTexts[arg])
}

func (failedCall) tell(w *world, v []uint32, who, slot, arg int, log *stepLog, add func(who, what string)) {
	add(w.requestName(who, slot), "✗ "+w.opBrief(w.handlerStands(v, who, slot).Op)+" "+callTexts[arg]+ends(log))
}
