package exactlyone

import (
	"errors"
	"slices"

	"exactlyone/choice"
	"exactlyone/interleave"
)

// Execute runs one execution of a system for real, from start to end or until a
// property is broken, and then once more to see that it goes the same way, and
// many times if something is broken. The source says what happens: answer 0 is always the plainest, where the task that
// made the last step goes on, or the execution ends, and nothing breaks. It
// learns nothing for the next execution, so it suits systems that differ from
// case to case; [Run] is faster for one that does not.
//
// The story is what happened. Broken numbers the property that is broken, from
// 1; 0 if none is. The error wraps [interleave.ErrNondeterministic] for code
// that went another way the second time, or is another of those of [Run].
func Execute(sys System, b Bounds, src choice.Source) (story *Trace, broken int, err error) {
	err = guarded(func() error {
		prepared, err := sys.prepared()
		if err != nil {
			return err
		}
		if b, err = b.withDefaults(); err != nil {
			return err
		}
		t, err := newTables(prepared, b)
		if err != nil {
			return err
		}
		defer t.close()
		if err := t.distinctOperations(); err != nil {
			return err
		}
		w := newLive(t)
		var d driven
		if err := d.drawLive(w, src); err != nil {
			return err
		}
		first := &performance{w: w, path: d.path, broken: d.broken}
		again := newPerformance(newLive(t))
		if err := errors.Join(t.compare(first, again), again.w.live.end()); err != nil {
			return err
		}
		if again.broken != 0 {
			if err := t.repeatedly(again); err != nil {
				return err
			}
		}
		story, broken = again.trace(&Trace{}), int(again.broken)
		return nil
	})
	return story, broken, err
}

// driven is an execution drawn choice by choice, of all that can happen next.
type driven struct {
	path   []interleave.Action
	broken uint32
	v      []uint32 // where it ended

	next []uint32
	acts []interleave.Action
}

// oneIn is how rarely something breaks where it can: once in so many steps.
const oneIn = 8

// draw replaces the execution by another.
func (d *driven) draw(w *world, src choice.Source) {
	d.path, d.broken = d.path[:0], 0
	d.v, d.next = slices.Grow(d.v[:0], w.width)[:w.width], slices.Grow(d.next[:0], w.width)[:w.width]
	w.Start(d.v)
	for d.broken == 0 && len(d.path) < interleave.MaxHistory {
		d.acts = w.plainestFirst(d.v, d.acts[:0])
		steps, breaks := d.acts, []interleave.Action(nil)
		if i := slices.IndexFunc(d.acts, interleave.Action.Fault); i >= 0 {
			steps, breaks = d.acts[:i], d.acts[i:]
		}
		var a interleave.Action
		switch {
		case len(breaks) > 0 && src.Choose(oneIn, "fault") == oneIn-1:
			a = chosen(src, breaks, "which fault")
		case len(steps) == 0:
			d.broken = w.End(d.v)
			return
		default:
			a = chosen(src, steps, "next")
		}
		d.path = append(d.path, a)
		d.broken = w.Apply(d.v, a, d.next)
		d.v, d.next = d.next, d.v
	}
}

// drawLive draws in a live world, and ends it, also if the source gives up.
func (d *driven) drawLive(w *world, src choice.Source) (err error) {
	defer func() { err = w.live.end() }()
	d.draw(w, src)
	return nil
}

// chosen is one of several actions. Where there is one, nothing is asked.
func chosen(src choice.Source, acts []interleave.Action, label string) interleave.Action {
	if len(acts) == 1 {
		return acts[0]
	}
	return acts[src.Choose(len(acts), label)]
}
