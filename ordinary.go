package exactlyone

import (
	"fmt"

	"exactlyone/interleave"
)

// What the search does for code that runs in a bubble; see [Goroutines].

// picks lists the goroutines of a request that can go on.
func (w *world) picks(v []uint32, c, s int, fork forkOp, earliest int64, buf []interleave.Action) []interleave.Action {
	for i, op := range fork.ops {
		if w.ready(v, c, s, &interleave.Parked{Op: op}, earliest) {
			buf = append(buf, action(actPick, c, s, i))
		}
	}
	return buf
}

// pickText names the choice of a goroutine.
func (w *world) pickText(v []uint32, c, s, which int) string {
	if fork, ok := w.handlerStands(v, c, s).Op.(forkOp); ok && which >= 0 {
		return w.requestName(c, s) + ": the goroutine that asks for " + w.opText(fork.ops[which])
	}
	return w.requestName(c, s) + ": another goroutine"
}

// leave moves what a handler that returns leaves behind to a slot of its own: its
// goroutines that are not done, and the transactions that they have open.
func (w *world) leave(v []uint32, c, s int) {
	if !w.sys.ordinary || s >= w.attended || w.rest(v, c, s).Op == nil {
		return
	}
	from, to := w.slot(c, s), 0
	for spare := w.attended; spare < w.layout.slots; spare++ {
		if w.word(v, c, spare).phase() == phaseFree {
			to = spare
			break
		}
	}
	if to == 0 {
		panic(fmt.Errorf("%w: more than %d requests of one client left goroutines behind", ErrUsage, w.layout.slots-w.attended))
	}
	w.noted("goroutines left behind by a handler that returned")
	wd := w.word(v, c, s)
	at := w.slot(c, to)
	copy(v[at+1:at+w.slotLen], v[from+1:from+w.slotLen])
	v[at] = uint32(newWord(phaseRunning, wd.node(), wd.task()+1))
	clear(v[from+slotSession : from+w.slotLen])
	w.settleHandler(v, c, to)
}

// rest is what the goroutines ask for that a request's handler left behind.
func (w *world) rest(v []uint32, c, s int) *interleave.Parked {
	wd := w.word(v, c, s)
	if w.sys.Stateless {
		return &w.stands(v[w.slot(c, s)+slotHistory])[wd.task()+1]
	}
	return &w.stands(v[w.node(wd.node())])[wd.task()+1]
}

// passTime tells code in bubbles what time it is. What was waiting for it goes on.
func (w *world) passTime(v []uint32) {
	if !w.sys.ordinary {
		return
	}
	event := interleave.Event(0, w.values.ID(passed{moved(v)}))
	if !w.sys.Stateless {
		for n := range w.nodes {
			v[w.node(n)] = w.next(v[w.node(n)], event)
		}
	}
	for c := range w.clients {
		for s := range w.layout.slots {
			if w.word(v, c, s).phase() != phaseRunning {
				continue
			}
			if at := w.slot(c, s) + slotHistory; w.sys.Stateless {
				v[at] = w.next(v[at], event)
			}
			w.settleHandler(v, c, s)
		}
	}
}

// settleOthers does what takes no step for requests that went on, or came to their
// end, because of what another in their process did: it unlocked a mutex, say.
func (w *world) settleOthers(v []uint32, node int) {
	if !w.sys.ordinary || w.sys.Stateless {
		return
	}
	for c := range w.clients {
		for s := range w.layout.slots {
			if wd := w.word(v, c, s); wd.phase() == phaseRunning && wd.node() == node {
				w.settleHandler(v, c, s)
			}
		}
	}
}
