package interleave

import (
	"fmt"
	"slices"
)

// Divergence is how a process did something else when it was given the same
// events again. It wraps [ErrNondeterministic].
type Divergence struct {
	Process   string // its name
	Step      int    // after so many events, the one that started it included
	Was, Now  Parked // where a task stood the first time, and again
	Reordered bool   // it asks for the same things, in another order
}

func (d *Divergence) Error() string {
	return fmt.Sprintf("%v: in step %d it asked for %s, given the same again it asked for %s", ErrNondeterministic, d.Step, d.Was, d.Now)
}

// Unwrap is [ErrNondeterministic].
func (d *Divergence) Unwrap() error { return ErrNondeterministic }

// Compare says how where the tasks of a process stand now differs from where
// they stood before, after the same events; nil if it does not.
func Compare(was, now []Parked) *Divergence {
	if len(was) != len(now) {
		return &Divergence{Was: Parked{Result: tasks(len(was))}, Now: Parked{Result: tasks(len(now))}}
	}
	for i := range was {
		if was[i].String() != now[i].String() {
			return &Divergence{Was: was[i], Now: now[i]}
		}
	}
	return nil
}

// tasks is a number of tasks.
type tasks int

func (n tasks) String() string { return fmt.Sprintf("%d tasks", int(n)) }

// A process that diverged is run again so often, and given so many events after
// that, to see whether it asks for the same things in another order.
const (
	probes   = 8
	probeLen = 32
)

// reordered says whether a process that diverged at path[at] asks for the same
// things in another order when it is run again. After that point it is given
// what it was given next, over and over. The path goes from the end to the root.
func (t *Tree) reordered(path []uint32, at int) (yes bool) {
	defer func() {
		if recover() != nil { // it has gone another way still, on which these events mean nothing
			yes = false
		}
	}()
	task := EventTask(t.nodes.at(path[at]).event)
	next := slices.IndexFunc(path[:at], func(n uint32) bool { return EventTask(t.nodes.at(n).event) == task })
	if next < 0 {
		return false
	}
	var runs [][]string
	for range probes {
		p := t.nodes.at(t.nodes.at(path[at]).root).launch()
		give := func(n uint32) []Parked {
			e := t.nodes.at(n).event
			return p.Handle(EventTask(e), t.Values.Value(EventValue(e)))
		}
		for _, n := range slices.Backward(path[at+1:]) {
			give(n)
		}
		var asked []string
		stands := give(path[at])[task]
		for len(asked) < probeLen && stands.Op != nil {
			asked = append(asked, stands.String())
			stands = give(path[next])[task]
		}
		_ = p.Kill() // it has diverged: that is what will be said of it
		runs = append(runs, asked)
	}
	for _, run := range runs[1:] {
		a, b := slices.Sorted(slices.Values(runs[0])), slices.Sorted(slices.Values(run))
		if !slices.Equal(run, runs[0]) && slices.Equal(a, b) {
			return true
		}
	}
	return false
}
