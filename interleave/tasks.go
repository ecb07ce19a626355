package interleave

import (
	"fmt"
	"iter"
	"time"
)

// Op is what a task asks for. Its String must tell everything: ops of one type
// with equal strings are the same request.
type Op interface{ fmt.Stringer }

// Parked is where one task of a process stands.
type Parked struct {
	Op      Op           // what it asks for; nil once it is done
	Result  fmt.Stringer // what it returned, once done
	Blocked bool         // its op cannot be carried out now, e.g. a lock that is held
	Others  bool         // another goroutine of the task asks for something as well

	Deadlines []time.Time // when what it asks for is given up, in order

	// OpID and ResultID are the interned Op and Result; a Tree fills them in.
	OpID, ResultID uint32
}

// Panicked is the result of a task that panicked.
type Panicked struct{ Value string }

func (p Panicked) String() string { return "panic: " + p.Value }

// blocker is an Op that can only be carried out at times.
type blocker interface{ Blocked() bool }

// Tasks runs tasks as coroutines, one at a time: a task runs from one Ask to
// the next while everything else stands still. The zero value has no tasks.
type Tasks struct {
	all     []*task
	current *task
	killed  bool
}

type task struct {
	next      func() (Op, bool)
	yield     func(Op) bool
	in        any // the outcome of the op it asked for
	op        Op
	result    fmt.Stringer
	swallowed int // how often it caught the sentinel and went on
}

// killed is the sentinel panic that unwinds a dead task.
type killed struct{}

// swallowLimit is how often a dead task may catch the sentinel before it is
// abandoned.
const swallowLimit = 100

// Go starts a task and runs it until it asks for something or returns.
func (ts *Tasks) Go(f func() fmt.Stringer) {
	t := new(task)
	t.next, _ = iter.Pull(func(yield func(Op) bool) {
		t.yield = yield
		defer func() {
			switch r := recover().(type) {
			case nil, killed:
			default:
				t.result = Panicked{fmt.Sprint(r)}
			}
		}()
		t.result = f()
	})
	ts.all = append(ts.all, t)
	ts.run(t)
}

// Resume hands task i the outcome of what it asked for, and runs it until it
// asks again or returns.
func (ts *Tasks) Resume(i int, outcome any) {
	t := ts.all[i]
	if t.op == nil {
		panic("interleave: Resume of a task that is done")
	}
	t.in = outcome
	ts.run(t)
}

func (ts *Tasks) run(t *task) {
	before := ts.current
	ts.current = t
	t.op, _ = t.next()
	ts.current = before
}

// Ask parks the calling task until op was carried out and returns the outcome.
// Only code that runs in a task may call it. In a task that was killed it
// panics, again and again, until the task has unwound.
func (ts *Tasks) Ask(op Op) any {
	t := ts.current
	if t == nil {
		panic("interleave: a store, clock or network was used outside a task: before the first request, or in a goroutine of its own")
	}
	if !ts.killed {
		t.yield(op)
	}
	if ts.killed {
		if t.swallowed++; t.swallowed > swallowLimit {
			t.yield(op) // abandoned: parks for ever
		}
		panic(killed{})
	}
	return t.in
}

// Parked is where each task stands, in the order they were started.
func (ts *Tasks) Parked() []Parked {
	all := make([]Parked, len(ts.all))
	for i, t := range ts.all {
		p := Parked{Op: t.op, Result: t.result}
		if t.op == nil && t.result == nil {
			p.Result = Panicked{"the task returned nothing"}
		}
		if b, ok := t.op.(blocker); ok {
			p.Blocked = b.Blocked()
		}
		all[i] = p
	}
	return all
}

// Kill unwinds every task that is still parked: deferred functions run, but
// whatever they ask for is refused. The error names tasks that would not end.
func (ts *Tasks) Kill() error {
	ts.killed = true
	abandoned := 0
	for _, t := range ts.all {
		if t.op == nil {
			continue
		}
		if ts.run(t); t.op != nil {
			abandoned++
		}
	}
	if abandoned > 0 {
		return fmt.Errorf("%w: %d tasks caught the panic of a dead process %d times and went on; they were abandoned", ErrAbandoned, abandoned, swallowLimit)
	}
	return nil
}
