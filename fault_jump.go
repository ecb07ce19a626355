package exactlyone

import "exactlyone/clock"

// jump moves the clock while requests are in flight, to one of the times that
// jumpTargets lists.
type jump struct{}

func (jump) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.Jumps, def: 2, json: "jumps", one: "clock jump", usage: "jumps of the clock", nobodys: true, severity: 1}
}

func (jump) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	for i := range w.jumpTargets(v) {
		put(0, 0, i)
	}
}

func (jump) strike(w *world, v []uint32, _, _, arg int) {
	w.count(jumps)
	w.moveTo(v, w.jumpTargets(v)[arg])
}

func (jump) label(w *world, v []uint32, _, _, arg int) string {
	return "the clock jumps to " + clock.Since(at(w.jumpTargets(v)[arg]))
}

func (jump) tell(_ *world, _ []uint32, _, _, _ int, log *stepLog, add func(who, what string)) {
	add("clock", "✗ "+log.time)
}
