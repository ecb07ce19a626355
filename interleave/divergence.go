package interleave

import "fmt"

// Divergence is how a process did something else when it was given the same
// events again. It wraps [ErrNondeterministic].
type Divergence struct {
	Process  string   // its name
	Step     int      // after so many events, the one that started it included
	Was, Now Parked   // where a task stood the first time, and again
	Later    []Parked // where tasks stood the first time, further on
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
