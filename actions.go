package exactlyone

import "exactlyone/interleave"

// An action packs what happens and to whom:
//
//	fault 1 | kind 7 | client or node 8 | slot 8 | argument 8
const (
	actStep         = iota + 1 // a request does what it asks for
	actDeliver                 // an answer reaches its client
	actClient                  // a client does what it asks for; argument: the node it sends to
	actDuplicate               // the second copy of a request arrives; argument: the node
	actDeadlock                // the store ends a request's transaction to break a deadlock
	actLose                    // an answer is lost
	actLoseRequest             // a request is lost
	actSendTwice               // a request is sent and will arrive again; argument: the node
	actCommitTook              // a commit takes effect and errs
	actCommitFailed            // a commit has no effect and errs
	actCrash                   // a node crashes
	actJump                    // the clock jumps; argument: which target
)

func action(kind, who, slot, arg int) interleave.Action {
	a := interleave.Action(kind<<24 | who<<16 | slot<<8 | arg)
	if kind >= actLose {
		a |= interleave.FaultBit
	}
	return a
}

func unpack(a interleave.Action) (kind, who, slot, arg int) {
	return int(a >> 24 & 0x7f), int(a >> 16 & 0xff), int(a >> 8 & 0xff), int(a & 0xff)
}

// Enabled lists what can happen next: steps first, then faults.
func (w *world) Enabled(v []uint32, buf []interleave.Action) []interleave.Action {
	earliest := w.earliestSleep(v)
	busy := false
	for c := range w.clients {
		for s := range w.layout.slots {
			switch wd := w.word(v, c, s); wd.phase() {
			case phaseRunning:
				p := w.handlerStands(v, c, s)
				if w.ready(v, c, s, p, earliest) {
					buf = append(buf, action(actStep, c, s, 0))
				} else if w.deadlocked(v, c, s) {
					buf = append(buf, action(actDeadlock, c, s, 0))
				}
			case phaseAnswered:
				buf = append(buf, action(actDeliver, c, s, 0))
			case phaseDuplicate:
				for n := range w.nodes {
					buf = append(buf, action(actDuplicate, c, s, n))
				}
			default:
				continue
			}
			busy = true
		}
		p := w.clientStands(v, c)
		if p.Op == nil {
			continue
		}
		busy = true
		switch op := p.Op.(type) {
		case sendOp:
			if w.word(v, c, 0).phase() == phaseFree {
				for n := range w.nodes {
					buf = append(buf, action(actClient, c, 0, n))
				}
			}
		case sleepOp:
			if ns := op.until.UnixNano(); ns <= max(earliest, now(v)) {
				buf = append(buf, action(actClient, c, 0, 0))
			}
		default:
			buf = append(buf, action(actClient, c, 0, 0))
		}
	}
	if !busy {
		return buf
	}
	return w.faults(v, buf)
}

// ready says whether the op of a request can be carried out now. A sleeper can
// wake at any time, if none is due earlier: the steps of others take as long
// as they take.
func (w *world) ready(v []uint32, c, s int, p *interleave.Parked, earliest int64) bool {
	if p.Blocked {
		return false
	}
	switch op := p.Op.(type) {
	case sleepOp:
		return op.until.UnixNano() <= max(earliest, now(v))
	case storeOp:
		return !w.waits(v, c, s, op)
	}
	return true
}

// earliestSleep is when the first sleeper is due, 0 if nobody sleeps.
func (w *world) earliestSleep(v []uint32) int64 {
	var first int64
	w.eachSleeper(v, func(ns int64) {
		if first == 0 || ns < first {
			first = ns
		}
	})
	return first
}

// faults appends what can break.
func (w *world) faults(v []uint32, buf []interleave.Action) []interleave.Action {
	for c := range w.clients {
		for s := range w.layout.slots {
			buf = w.slotFaults(v, buf, c, s)
		}
		if _, ok := w.clientStands(v, c).Op.(sendOp); !ok || w.word(v, c, 0).phase() != phaseFree {
			continue
		}
		if left(v, budgetLostRequest) > 0 {
			buf = append(buf, action(actLoseRequest, c, 0, 0))
		}
		if left(v, budgetDuplicate) > 0 {
			for n := range w.nodes {
				buf = append(buf, action(actSendTwice, c, 0, n))
			}
		}
	}
	if left(v, budgetCrash) > 0 {
		for n := range w.nodes {
			if w.canCrash(v, n) {
				buf = append(buf, action(actCrash, n, 0, 0))
			}
		}
	}
	if left(v, budgetJump) > 0 {
		for i := range w.jumpTargets(v) {
			buf = append(buf, action(actJump, 0, 0, i))
		}
	}
	return buf
}

func (w *world) slotFaults(v []uint32, buf []interleave.Action, c, s int) []interleave.Action {
	switch w.word(v, c, s).phase() {
	case phaseAnswered:
		if left(v, budgetLost) > 0 {
			buf = append(buf, action(actLose, c, s, 0))
		}
	case phaseRunning:
		if left(v, budgetCommit) == 0 {
			break
		}
		p := w.handlerStands(v, c, s)
		op, ok := p.Op.(storeOp)
		if _, commits := op.op.(CommitOp); ok && commits && !w.waits(v, c, s, op) {
			buf = append(buf, action(actCommitTook, c, s, 0), action(actCommitFailed, c, s, 0))
		}
	}
	return buf
}

// canCrash says whether a crash of a node would change anything that a crash
// before the last step would not have changed as well.
func (w *world) canCrash(v []uint32, n int) bool {
	if w.reduce.crashes && v[w.node(n)+1]&nodeCrashable == 0 {
		return false
	}
	if !w.sys.Stateless && len(w.stands(v[w.node(n)])) > 0 {
		return true // its memory goes
	}
	for c := range w.clients {
		for s := range w.layout.slots {
			wd := w.word(v, c, s)
			if (wd.phase() == phaseRunning || wd.phase() == phaseAnswered) && wd.node() == n {
				return true
			}
		}
	}
	return false
}

// byTask says whether an action is a step of a task, plain or gone wrong.
// Crashes and jumps of the clock are nobody's.
func byTask(a interleave.Action) bool {
	kind, _, _, _ := unpack(a)
	return kind != actCrash && kind != actJump
}

// Switch says whether a step is another task's than the last one. A client and
// the request it waits for are one task; each duplicate is another.
func (w *world) Switch(v []uint32, a interleave.Action) bool {
	if !byTask(a) {
		return false
	}
	_, c, s, _ := unpack(a)
	if w.word(v, c, s).last() {
		return false
	}
	for oc := range w.clients {
		for os := range w.layout.slots {
			if w.word(v, oc, os).last() {
				return true
			}
		}
	}
	return false // the first step of all
}
