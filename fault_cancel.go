package exactlyone

import (
	"context"
	"fmt"
)

// cancel: the caller goes away while its request runs. The client sees a
// time-out, and the request's context is cancelled: what it asks for now has
// no effect and errs, and its open transactions are rolled back, as
// database/sql does. The request goes on, and nobody waits for its answer.
type cancel struct{}

func (cancel) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.Cancels, json: "cancels", one: "cancel", usage: "callers that go away while their request runs,", severity: 2}
}

func (cancel) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	for c := range w.bounds.Clients {
		if w.word(v, c, 0).phase() == phaseRunning {
			put(c, 0, 0)
		}
	}
}

func (cancel) strike(w *world, v []uint32, who, _, _ int) {
	w.noted("callers gone")
	from, spare := w.slot(who, 0), w.spare(v, who)
	to := w.slot(who, spare)
	copy(v[to:to+w.slotLen], v[from:from+w.slotLen])
	v[to] &^= uint32(wordLast)
	w.free(v, who, 0)
	w.rollBack(v, who, spare)
	v[w.node(word(v[to]).node())+1] |= nodeCrashable
	w.give(v, who, spare, w.values.ID(cancelled{}))
	w.tell(v, who, w.cache.timeout)
}

func (cancel) label(w *world, _ []uint32, who, _, _ int) string {
	return w.name(who) + " goes away, its request is cancelled"
}

func (cancel) tell(w *world, v []uint32, who, _, _ int, log *stepLog, add func(who, what string)) {
	add(w.requestName(who, w.spare(v, who)), fmt.Sprintf("✗ its caller is gone: %s is cancelled", w.opBrief(w.handlerStands(v, who, 0).Op))+ends(log))
}

// cancelled is the event that cancels the context of a request.
type cancelled struct{}

func (cancelled) String() string { return "cancelled" }

// cancel ends the context of a task. What it waits for, if it heeds its
// context, errs at once.
func (p *serverProcess) cancel(task int) {
	p.cancels[task]()
	switch p.tasks.Parked()[task].Op.(type) {
	case storeOp:
		p.tasks.Resume(task, Reply{Err: context.Canceled})
	case sleepOp:
		p.tasks.Resume(task, ok{})
	}
}
