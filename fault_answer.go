package exactlyone

import "fmt"

// lostAnswer: the request was carried out, and its client sees a time-out.
type lostAnswer struct{}

func (lostAnswer) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.LostAnswers, def: 1, json: "lost_answers", flag: "lost", one: "lost answer", usage: "answers lost", severity: 2}
}

func (lostAnswer) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	for c := range w.bounds.Clients {
		if w.word(v, c, 0).phase() == phaseAnswered {
			put(c, 0, 0)
		}
	}
}

func (lostAnswer) strike(w *world, v []uint32, who, slot, _ int) {
	w.count(answersLost)
	if w.word(v, who, slot).commits() > 0 {
		w.count(answersLostAfterCommit)
	}
	n := w.word(v, who, slot).node()
	w.free(v, who, slot)
	v[w.node(n)+1] |= nodeCrashable
	w.tell(v, who, w.cache.timeout)
}

func (lostAnswer) label(w *world, _ []uint32, who, slot, _ int) string {
	return "answer to " + w.requestName(who, slot) + " is lost"
}

func (lostAnswer) tell(w *world, v []uint32, who, slot, _ int, _ *stepLog, add func(who, what string)) {
	add(w.name(who), "✗ answer lost: "+fmt.Sprint(w.values.Value(v[w.slot(who, slot)+slotMessage])))
}
