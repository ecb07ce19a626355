package exactlyone

import "exactlyone/interleave"

// An action packs what happens and to whom:
//
//	fault 1 | kind 7 | client or node 8 | slot 8 | argument 8
const (
	actStep      = iota + 1 // a request does what it asks for
	actDeliver              // an answer reaches its client
	actClient               // a client does what it asks for; argument: the node it sends to
	actDuplicate            // the second copy of a request arrives; argument: the node
	actDeadlock             // the store ends a request's transaction to break a deadlock
	actGiveUp               // a request has waited in vain for a store
	actPick                 // one of a request's goroutines is to go on; argument: which, -1 for any
	actLand                 // a commit that erred takes effect; argument: which
	actFault                // and the faults after it, in the order of their budgets
)

func action(kind, who, slot, arg int) interleave.Action {
	a := interleave.Action(kind<<24 | who<<16 | slot<<8 | arg)
	if kind >= actFault {
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
	busy, none := false, len(buf)
	for c := range w.clients {
		for s := range w.layout.slots {
			switch wd := w.word(v, c, s); wd.phase() {
			case phaseRunning:
				p := w.handlerStands(v, c, s)
				if fork, ok := p.Op.(forkOp); ok {
					buf = w.picks(v, c, s, fork, earliest, buf)
				} else if w.ready(v, c, s, p, earliest) {
					buf = append(buf, action(actStep, c, s, 0))
				} else if w.deadlocked(v, c, s) {
					buf = append(buf, action(actDeadlock, c, s, 0))
				} else if p.Others {
					buf = append(buf, action(actPick, c, s, 0xff))
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
		case sendOp, roundOp:
			if w.word(v, c, 0).phase() == phaseFree {
				for n := range w.nodes {
					buf = append(buf, action(actClient, c, 0, n))
				}
			}
		case sleepOp:
			if ns := op.until.UnixNano(); ns <= max(earliest, now(v)) && !(w.expired(ns) && w.inFlight(v)) {
				buf = append(buf, action(actClient, c, 0, 0))
			}
		default:
			buf = append(buf, action(actClient, c, 0, 0))
		}
	}
	for i := range w.lates {
		if v[w.late(i)] != 0 {
			buf = append(buf, action(actLand, 0, 0, i))
			busy = true
		}
	}
	if !busy {
		return buf
	}
	if len(buf) == none {
		buf = w.offerGivingUp(v, buf)
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
	w.acts = buf
	for i, f := range faults {
		if left(v, i) > 0 {
			f.offer(w, v, w.puts[i])
		}
	}
	return w.acts
}

// putFaults makes the functions that faults are offered with.
func (w *world) putFaults() {
	for i := range faults {
		w.puts[i] = func(who, slot, arg int) {
			w.acts = append(w.acts, action(actFault+i, who, slot, arg))
		}
	}
}

// canSend says whether client c is about to send a request.
func (w *world) canSend(v []uint32, c int) bool {
	_, ok := w.clientStands(v, c).Op.(sendOp)
	return ok && w.word(v, c, 0).phase() == phaseFree && !w.expired(now(v))
}

// faultInfos is what is known of each fault; the budgets in it are nobody's.
var faultInfos = func() (all [budgets]faultInfo) {
	for i, f := range faults {
		all[i] = f.about(new(Bounds))
	}
	return all
}()

// byTask says whether an action is a step of a task, plain or gone wrong.
func byTask(a interleave.Action) bool {
	kind, _, _, _ := unpack(a)
	return kind < actLand || kind >= actFault && !faultInfos[kind-actFault].nobodys
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
