package exactlyone

import (
	"fmt"
	"slices"
	"strings"

	"exactlyone/interleave"
)

// Replay runs the code of the system for real along a trace, up to and
// including step until (0: to the end), and returns what happened. Unlike a
// search it runs each process from start to end in one go, so that a debugger
// can follow it.
//
// Steps are found by their labels, so a replay survives small edits of the
// code: steps that it has now besides are taken, steps that it has no longer are
// left out; Edits in what is returned counts them. If that does not lead back to
// the trace, the error wraps [ErrDiverged] and names the first step that was not
// possible. The stop is told the state after the last step; it may be nil.
func Replay(sys System, t *Trace, until int, stop func(Snapshot)) (*Trace, error) {
	var out *Trace
	err := guarded(func() (err error) {
		out, err = replayHere(sys, t, until, stop)
		return err
	})
	return out, err
}

// Edits is how code differs from what it was when a trace was written.
type Edits struct {
	Added   int `json:"added"`    // steps taken that the trace does not have
	LeftOut int `json:"left_out"` // steps of the trace that were not possible
}

func replayHere(sys System, t *Trace, until int, stop func(Snapshot)) (*Trace, error) {
	prepared, err := sys.prepared()
	if err != nil {
		return nil, err
	}
	if until < 0 || until > len(t.Steps) {
		return nil, fmt.Errorf("%w: step %d: 1 to %d was expected", ErrUsage, until, len(t.Steps))
	}
	if until == 0 {
		until = len(t.Steps)
	}
	tab, err := newTables(prepared, t.Bounds)
	if err != nil {
		return nil, err
	}
	defer tab.close()
	p := newPerformance(newLive(tab))
	r := replayer{performance: p, want: t.Steps}
	if err := r.follow(until); err != nil {
		return nil, err
	}
	if until == len(t.Steps) {
		p.end()
	}
	out := p.trace(t)
	if r.edits != (Edits{}) {
		out.Edits = &r.edits
	}
	if until == len(t.Steps) && out.Property != t.Property && out.Edits == nil {
		return nil, fmt.Errorf("%w at its end: the trace breaks %q, the replay %q", ErrDiverged, t.Property, out.Property)
	}
	whole := len(p.steps) == len(t.Steps) && out.Edits == nil
	out.Minimal, out.Shrunk = t.Minimal && whole, t.Shrunk && whole
	if !whole {
		out.Need = nil
	}
	if stop != nil {
		stop(p.snapshot())
	}
	return out, p.w.live.end()
}

// replayer follows a trace by the labels of its steps.
type replayer struct {
	*performance
	want  []Step // of the trace
	at    int    // how many of them are done with
	edits Edits
	first error // where the trace was left for the first time
	lost  bool  // it was left, and not found again yet
	alone int   // steps added since
}

// lookAhead is how many steps in a row may be added or left out.
const lookAhead = 8

func (r *replayer) follow(until int) error {
	for r.at < until && r.broken == 0 {
		acts := r.enabled()
		if len(acts) == 0 {
			if r.first != nil {
				return r.first
			}
			return fmt.Errorf("%w at step %d: the trace goes on with %q, but the execution has ended", ErrDiverged, r.at+1, r.want[r.at].Label)
		}
		i, skip := r.find(acts, until)
		if (i < 0 || skip > 0) && r.first == nil {
			r.first = r.diverged(r.at, r.want[r.at], acts)
		}
		switch {
		case i >= 0:
			r.edits.LeftOut += skip
			r.at += skip + 1
			r.lost, r.alone = false, 0
			r.perform(acts[i], i, len(acts))
		default:
			r.lost = true
			i = r.own(acts)
			if i < 0 || r.alone == lookAhead || r.edits.Added+r.edits.LeftOut > len(r.want) {
				return r.first
			}
			r.edits.Added++
			r.alone++
			r.perform(acts[i], i, len(acts))
		}
	}
	if r.lost && r.broken == 0 {
		return r.first
	}
	return nil
}

// find is the action that the trace goes on with, after leaving out so many
// steps of the same actor; -1 if there is none.
func (r *replayer) find(acts []interleave.Action, until int) (i, skip int) {
	actor := r.want[r.at].whose()
	for skip := 0; skip <= lookAhead && r.at+skip < until; skip++ {
		want := r.want[r.at+skip]
		if skip > 0 && want.whose() != actor {
			break
		}
		if want.Choice < len(acts) && r.w.label(r.v, acts[want.Choice]) == want.Label {
			return want.Choice, skip
		}
		if i := slices.IndexFunc(acts, func(a interleave.Action) bool { return r.w.label(r.v, a) == want.Label }); i >= 0 {
			return i, skip
		}
	}
	return -1, 0
}

// own is a step of the actor who is next in the trace, -1 if it has none.
func (r *replayer) own(acts []interleave.Action) int {
	actor := r.want[r.at].whose()
	return slices.IndexFunc(acts, func(a interleave.Action) bool {
		return !a.Fault() && Step{Label: r.w.label(r.v, a)}.whose() == actor
	})
}

// whose is whose step it is, by its label: "client 1: BEGIN", "client 1 receives
// 201". A fault is nobody's but its own.
func (s Step) whose() string {
	if s.Fault {
		return s.Label
	}
	who, _, _ := strings.Cut(s.Label, ": ")
	who, _, _ = strings.Cut(who, " receives ")
	who, _, _ = strings.Cut(who, " arrives at ")
	return who
}

// diverged says how a replay left its trace.
func (p *performance) diverged(n int, want Step, acts []interleave.Action) error {
	var now []string
	for _, a := range acts {
		if len(now) < 8 {
			now = append(now, fmt.Sprintf("%q", p.w.label(p.v, a)))
		}
	}
	return fmt.Errorf("%w at step %d: the trace chose %q (%d of %d); what can happen now is %v (%d)",
		ErrDiverged, n+1, want.Label, want.Choice, want.Of, now, len(acts))
}
