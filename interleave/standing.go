package interleave

import (
	"fmt"
	"time"
)

// of is the waiting goroutines of a task.
func (b *Bubble) of(task int) []*waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []*waiter
	for _, w := range b.waiting {
		if w.task == task {
			all = append(all, w)
		}
	}
	return all
}

// Standing is where one task of a bubble stands.
type Standing struct {
	Result fmt.Stringer // what it returned, nil if it has not
	Asks   []Op         // what its goroutines ask for, in an order that is the same every time

	Deadlines []time.Time // of the contexts with which they ask
}

// Standing says where a task stands.
func (b *Bubble) Standing(task int) Standing {
	s := Standing{}
	b.mu.Lock()
	if task < len(b.tasks) && b.tasks[task].ended {
		s.Result = b.tasks[task].result
	}
	b.mu.Unlock()
	for _, w := range b.of(task) {
		s.Asks = append(s.Asks, w.op)
		if d, ok := w.ctx.Deadline(); ok {
			s.Deadlines = append(s.Deadlines, d)
		}
	}
	return s
}

// Stray is what goroutines ask for that belong to no task.
func (b *Bubble) Stray() []Op {
	var all []Op
	for _, w := range b.of(-1) {
		all = append(all, w.op)
	}
	return all
}
