package interleave

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Process is live code: one or more tasks that share memory. What its tasks
// ask for must depend only on the events it was given.
type Process interface {
	// Handle gives one event to a task, or starts a task with it, and returns
	// where every task of the process stands now.
	Handle(task int, event any) []Parked
	// Kill ends the process; nothing it still does takes effect.
	Kill() error
}

// Forgetful is a Process that knows all it remembers: State tells everything
// that what it will do depends on. In a tree whose root was made with forget
// set, histories with equal states are one node.
type Forgetful interface {
	Process
	State() string
}

// What can be wrong with the code of a process. A search panics with an error
// that wraps one of these.
var (
	// ErrNondeterministic is code that did something else when it was given the
	// same events again; see [Divergence].
	ErrNondeterministic = errors.New("not deterministic")
	// ErrEndless is code that went on asking beyond [MaxHistory].
	ErrEndless = errors.New("it does not end")
	// ErrAbandoned is code that caught the panic which ends a dead process, again
	// and again.
	ErrAbandoned = errors.New("it would not die")
	// ErrGoexit is code that ended its goroutine, as t.FailNow does.
	ErrGoexit = errors.New("it called runtime.Goexit")
	// ErrTooMany is code with more distinct values or histories than there are
	// numbers for.
	ErrTooMany = errors.New("too many distinct values or histories")
)

// MaxHistory is how many events a process may be given.
const MaxHistory = 2000

// Tree has a node for every history of a process: the events it was given, in
// order. A node knows what the tasks of the process then ask for. It is
// learned once, by running the code from the start with that history:
//
//	root ──request──▶ SELECT … ──no row──▶ BEGIN ──ok──▶ INSERT …
//	                          └──1 row──▶ done: 201
//
// A Tree is safe for concurrent use.
type Tree struct {
	Values *Interner // what events, ops and results are numbered in

	mu     sync.Mutex
	next   map[edge]uint32
	roots  map[string]uint32
	merged map[string]uint32 // root and state → the first history with it
	nodes  chunks[node]
	runs   int // processes started
}

type edge struct{ node, event uint32 }

type node struct {
	parent, event uint32
	root          uint32
	state         string         // of a forgetful process
	launch        func() Process // roots only
	name          string         // roots only
	forget        bool           // roots only
	parked        atomic.Pointer[[]Parked]
}

// NewTree is an empty tree over a table of values.
func NewTree(values *Interner) *Tree {
	t := &Tree{Values: values, next: map[edge]uint32{}, roots: map[string]uint32{}, merged: map[string]uint32{}}
	t.nodes.add(node{})
	return t
}

// Event packs the task of a process and the number of the value it is given.
func Event(task int, value uint32) uint32 {
	if task >= 1<<eventTaskBits || value >= 1<<eventValueBits {
		panic(ErrTooMany)
	}
	return uint32(task)<<eventValueBits | value
}

const (
	eventTaskBits  = 8
	eventValueBits = 32 - eventTaskBits
)

// EventTask is the task of an [Event].
func EventTask(e uint32) int { return int(e >> eventValueBits) }

// EventValue is the number of the value in an [Event].
func EventValue(e uint32) uint32 { return e & (1<<eventValueBits - 1) }

// Root is the empty history of the process that launch starts. Equal names
// must stand for equal processes. With forget the process must be [Forgetful].
func (t *Tree) Root(name string, forget bool, launch func() Process) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id, ok := t.roots[name]; ok {
		return id
	}
	id := t.nodes.add(node{launch: launch, name: name, forget: forget})
	t.nodes.at(id).root = id
	t.roots[name] = id
	return id
}

// Next is the history with one more event. Unless the process is forgetful it
// does not run anything.
func (t *Tree) Next(id, event uint32) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := edge{id, event}
	next, ok := t.next[e]
	if ok {
		return next
	}
	root := t.nodes.at(id).root
	next = t.nodes.add(node{parent: id, event: event, root: root})
	if t.nodes.at(root).forget {
		state := fmt.Sprint(root, " ", t.learn(next))
		if first, ok := t.merged[state]; ok {
			next = first // others may be reading it
		} else {
			t.merged[state] = next
			t.nodes.at(next).state = state
		}
	}
	t.next[e] = next
	return next
}

// Last is the event that a history ends with and the history before it; both 0
// for a root.
func (t *Tree) Last(id uint32) (parent, event uint32) {
	n := t.nodes.at(id)
	return n.parent, n.event
}

// State is what a forgetful process remembers after a history, with its root;
// "" for any other process.
func (t *Tree) State(id uint32) string { return t.nodes.at(id).state }

// Parked is where the tasks of the process stand after a history. Where that
// is not known yet, the process is run from its start. It panics with a
// [Divergence] if the code does not do what it did before.
func (t *Tree) Parked(id uint32) []Parked {
	n := t.nodes.at(id)
	if p := n.parked.Load(); p != nil {
		return *p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.learn(id)
	return *n.parked.Load()
}

// Runs is how many processes were started to fill the tree.
func (t *Tree) Runs() int { t.mu.Lock(); defer t.mu.Unlock(); return t.runs }

// learn runs the process along the history of id. It returns the state of a
// forgetful process.
func (t *Tree) learn(id uint32) (state string) {
	var path []uint32
	root := t.nodes.at(id).root
	for n := id; n != root; n = t.nodes.at(n).parent {
		path = append(path, n)
	}
	if len(path) > MaxHistory {
		was := *t.nodes.at(path[1]).parked.Load()
		panic(fmt.Errorf("%w: after %d steps it asks for %s", ErrEndless, MaxHistory, was[EventTask(t.nodes.at(id).event)]))
	}
	t.runs++
	p := t.nodes.at(root).launch()
	if len(path) == 0 {
		t.nodes.at(root).parked.Store(new([]Parked))
	}
	for i := len(path) - 1; i >= 0; i-- {
		n := t.nodes.at(path[i])
		parked := p.Handle(EventTask(n.event), t.Values.Value(EventValue(n.event)))
		t.Number(parked)
		if known := n.parked.Load(); known == nil {
			n.parked.Store(&parked)
		} else if d := Compare(*known, parked); d != nil {
			d.Process, d.Step = t.nodes.at(root).name, len(path)-i
			_ = p.Kill() // it has diverged: that is what will be said of it
			d.Reordered = t.reordered(path, i)
			panic(d)
		}
	}
	if t.nodes.at(root).forget {
		state = p.(Forgetful).State()
	}
	if err := p.Kill(); err != nil {
		panic(err)
	}
	return state
}

// Number fills in the numbers of what tasks ask for and return.
func (t *Tree) Number(parked []Parked) {
	for i := range parked {
		if parked[i].Op != nil {
			parked[i].OpID = t.Values.ID(parked[i].Op)
		} else {
			parked[i].ResultID = t.Values.ID(parked[i].Result)
		}
	}
}

// String says what the task asks for or what it returned.
func (p Parked) String() string {
	if p.Op != nil {
		return p.Op.String()
	}
	return "the end with " + p.Result.String()
}
