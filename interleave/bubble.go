package interleave

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ErrContended is a bubble in which a goroutine waits for a mutex whose holder
// stands still. It cannot be used any more; run its history again in one that
// polls.
var ErrContended = errors.New("time cannot move while a goroutine waits for a mutex")

// Bubble runs tasks that are unmodified code: a task may start goroutines, lock
// mutexes, sleep, and use whatever package time and contexts offer. It is a
// bubble of testing/synctest, so time in it stands still but for
// [Bubble.Advance].
//
// All its methods but Ask are for one goroutine outside. Each gives an order to
// a goroutine in the bubble, the controller, and returns when all others in
// the bubble stand still: they wait for the outcome of what they asked for, for
// each other, or for a time.
//
//	outside ──orders──▶ controller ──starts, resumes──▶ goroutines of tasks
//	        ◀──done───
//
// The controller waits for orders on a channel made outside the bubble. That
// is not durable, as synctest calls it, and keeps time from moving by itself.
type Bubble struct {
	orders chan func()
	done   chan struct{}
	ended  chan any // what synctest panicked with at the end

	watch *time.Timer // real time, to look after orders that take long

	id    string // as runtime.Stack names the bubble
	polls bool
	lost  bool // the controller cannot be reached any more

	mu         sync.Mutex
	dead       bool
	refused    int // how often it was asked for something since
	waiting    []*waiter
	deadlines  []time.Time // of contexts, in order
	tasks      []*bubbleTask
	current    int                  // the task that the last order was for, -1 if for none
	last       int                  // the last task that an order was for, -1 if none was
	started    map[uint64]int       // goroutine → the task that it is
	creators   map[uint64]*creation // goroutine → who made it
	members    map[uint64]bool      // goroutines seen in the bubble
	controller goroutine            // as it was last seen
	activity   chan struct{}        // of the bubble; tells a probe that something happened
}

// waiter is a goroutine that waits for the outcome of what it asked for.
type waiter struct {
	op        Op
	ctx       context.Context
	in        chan any
	goroutine uint64
	site      string // where the goroutine was started, "" for a task's own
	task      int    // -1 if it belongs to none
	turn      bool   // it will be told when its context has ended
}

type bubbleTask struct {
	result fmt.Stringer
	ended  bool
	cancel context.CancelFunc
}

// creation says who started a goroutine, and where.
type creation struct {
	by    uint64
	site  string
	timer bool // it runs the function of a time.AfterFunc, and by is whoever ran just then
}

// NewBubble starts a bubble whose time begins at start, and in it a goroutine
// that runs setUp. One that polls finds out by looking at all goroutines that
// all stand still; that takes longer, and bears goroutines that wait for a mutex.
// It panics with what setUp panics with, and with an error if setUp asks for
// something.
func NewBubble(start time.Time, polls bool, setUp func(b *Bubble)) *Bubble {
	b := &Bubble{
		orders: make(chan func()), done: make(chan struct{}), ended: make(chan any, 1), polls: polls, current: -1, last: -1, watch: time.NewTimer(time.Hour),
		started: map[uint64]int{}, creators: map[uint64]*creation{}, members: map[uint64]bool{},
	}
	go func() {
		defer func() { b.ended <- recover() }() // goroutines that are left are taken for a deadlock
		synctest.Test(new(testing.T), func(*testing.T) { b.control() })
	}()
	<-b.done
	b.Advance(start)
	var panicked any
	finished := false
	b.do(-1, func() {
		go func() {
			defer func() {
				r := recover()
				b.mu.Lock()
				defer b.mu.Unlock()
				panicked, finished = r, r == nil
			}()
			setUp(b)
		}()
	})
	b.mu.Lock()
	failure := panicked
	b.mu.Unlock()
	if asks := b.Stray(); failure == nil && len(asks) > 0 {
		failure = fmt.Errorf("it asks for %s before the first request", asks[0])
	} else if failure == nil && !finished {
		failure = errors.New("it waits for something that never happens")
	}
	if failure != nil {
		b.Kill(func() {})
		panic(failure)
	}
	return b
}

// control carries out orders.
func (b *Bubble) control() {
	b.id = bubbleOf(stackOf())
	b.members[goroutineID()] = true
	b.activity = make(chan struct{}, 1)
	b.done <- struct{}{}
	for order := range b.orders {
		order()
		if !b.polls {
			synctest.Wait()
		}
		b.done <- struct{}{}
	}
}

// do gives an order that has to do with a task, -1 for none, and waits until all
// stand still.
func (b *Bubble) do(task int, order func()) {
	if b.lost {
		panic(ErrContended)
	}
	b.current = task
	if task >= 0 {
		b.last = task
	}
	b.orders <- order
	b.await()
	if unknown := b.unidentified(); len(unknown) > 0 {
		b.orders <- func() {
			for _, w := range unknown {
				w.in <- identify{}
			}
		}
		b.await()
	}
	b.settle()
}

// Go starts task i. Its context ends when it returns, as that of an HTTP request
// does.
func (b *Bubble) Go(i int, f func(ctx context.Context) fmt.Stringer) {
	for i >= len(b.tasks) {
		b.tasks = append(b.tasks, new(bubbleTask))
	}
	t := b.tasks[i]
	b.do(i, func() {
		var ctx context.Context
		ctx, t.cancel = context.WithCancel(context.WithValue(context.Background(), taskKey{}, i))
		go func() {
			b.mu.Lock()
			b.started[goroutineID()] = i
			b.mu.Unlock()
			t.run(ctx, f)
			b.mu.Lock()
			t.ended = true
			b.mu.Unlock()
			b.happened()
		}()
	})
}

// taskKey is the key under which a task's context holds its number.
type taskKey struct{}

// run calls the function of a task.
func (t *bubbleTask) run(ctx context.Context, f func(ctx context.Context) fmt.Stringer) {
	returned := false
	defer func() {
		if r := recover(); r != nil {
			t.result = Panicked{fmt.Sprint(r)}
		} else if !returned {
			t.result = Panicked{"it called runtime.Goexit"}
		}
		t.cancel()
	}()
	t.result = f(ctx)
	returned = true
}

// Cancel ends the context of a task. Those of its goroutines that wait go on one
// after another, the first before anybody else that watches the context: else which
// of them gets to, say, roll a transaction back would be left to chance.
func (b *Bubble) Cancel(task int) {
	end := b.tasks[task].cancel
	b.expire(task, expired{end: end}, func(w *waiter) bool {
		of, ok := w.ctx.Value(taskKey{}).(int)
		return ok && of == task && w.ctx.Done() != nil
	})
	b.do(task, end)
}

// expired is what a goroutine is given that is to see that its context has ended,
// once it has called end, or that it is about to end with an error.
type expired struct {
	end func()
	err error
}

// expire tells goroutines that wait that their context has ended.
func (b *Bubble) expire(task int, what expired, which func(*waiter) bool) {
	var told []*waiter
	b.mu.Lock()
	for _, w := range b.waiting {
		if which(w) {
			w.turn = true
			told = append(told, w)
		}
	}
	b.mu.Unlock()
	for _, w := range told {
		b.do(task, func() {
			b.mu.Lock()
			w.turn = false
			b.mu.Unlock()
			w.in <- what
		})
	}
}

// Ask parks the calling goroutine until op was carried out and returns the
// outcome, or until ctx is done and returns its error. In a bubble that was killed
// it returns ErrKilled, so that code unwinds as it does after any error, and what
// it locked is unlocked; code that goes on asking is ended.
func (b *Bubble) Ask(ctx context.Context, op Op) (any, error) {
	w := &waiter{op: op, ctx: ctx, in: make(chan any, 1), task: -1}
	if task, ok := ctx.Value(taskKey{}).(int); ok {
		w.task = task
	}
	b.mu.Lock()
	if b.dead {
		b.mu.Unlock()
		return nil, b.refuse()
	}
	b.waiting = append(b.waiting, w)
	if d, ok := ctx.Deadline(); ok {
		if at, known := slices.BinarySearchFunc(b.deadlines, d, time.Time.Compare); !known {
			b.deadlines = slices.Insert(b.deadlines, at, d)
		}
	}
	b.mu.Unlock()
	b.happened()
	done := ctx.Done()
	for {
		select {
		case out := <-w.in:
			switch out := out.(type) {
			case killed:
				return nil, b.refuse()
			case expired:
				if out.end != nil {
					out.end()
					out.err = ctx.Err()
				}
				if out.err != nil {
					b.drop(w)
					return nil, out.err
				}
				done = ctx.Done() // it goes on without the one that has ended
			case identify:
				b.identify(w)
			default:
				return out, nil
			}
		case <-done:
			b.mu.Lock()
			turn := w.turn
			b.mu.Unlock()
			if turn {
				done = nil // it is told when it is its turn
				continue
			}
			b.drop(w)
			return nil, ctx.Err()
		}
	}
}

// ErrKilled is what a process is told that is dead.
var ErrKilled = errors.New("the process was killed")

// refuse counts what a dead process asks for; one that asks too often has the
// goroutine ended that does.
func (b *Bubble) refuse() error {
	b.mu.Lock()
	b.refused++
	over := b.refused > swallowLimit
	b.mu.Unlock()
	if over {
		runtime.Goexit()
	}
	return ErrKilled
}

// identify is what a goroutine that waits is given to say which it is. That takes
// time, so it is asked only where there are several.
type identify struct{}

func (b *Bubble) identify(w *waiter) {
	id, made := goroutineID(), creationOf(stackOf())
	b.mu.Lock()
	defer b.mu.Unlock()
	w.goroutine = id
	if _, own := b.started[id]; !own {
		b.creators[id] = made
	}
}

func (b *Bubble) happened() {
	select {
	case b.activity <- struct{}{}:
	default:
	}
}

// Resume hands the n-th of the goroutines of a task that wait the outcome of what
// it asked for.
func (b *Bubble) Resume(task, n int, outcome any) {
	all := b.of(task)
	if n >= len(all) {
		panic(fmt.Errorf("%w: goroutine %d of a request asked for something, given the same again only %d do", ErrNondeterministic, n+1, len(all)))
	}
	w := all[n]
	b.do(task, func() {
		b.drop(w)
		w.in <- outcome
	})
}

func (b *Bubble) drop(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = slices.DeleteFunc(b.waiting, func(x *waiter) bool { return x == w })
}

// Advance moves time on; timers that are due fire. It does nothing if it is that
// time already. Those who wait are told that their deadline has come before others
// are; see [Bubble.Cancel]. It says whether it is that time now: time stands still
// once a goroutine waits for a mutex.
func (b *Bubble) Advance(to time.Time) (reached bool) {
	for {
		next, found := b.nextDeadline(to)
		if !found {
			break
		}
		b.do(-1, func() { time.Sleep(time.Until(next.Add(-1))) })
		b.expire(-1, expired{err: context.DeadlineExceeded}, func(w *waiter) bool {
			d, ok := w.ctx.Deadline()
			return ok && !d.After(next)
		})
		if len(b.Waiting()) > 0 {
			return false
		}
		b.do(-1, func() { time.Sleep(time.Until(next)) })
		if len(b.Waiting()) > 0 {
			return false
		}
	}
	b.do(-1, func() { time.Sleep(time.Until(to)) })
	return true
}

// nextDeadline is the first deadline up to a time of the contexts with which anybody
// has asked for something; it is forgotten.
func (b *Bubble) nextDeadline(to time.Time) (next time.Time, found bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.deadlines) == 0 || b.deadlines[0].After(to) {
		return next, false
	}
	next = b.deadlines[0]
	b.deadlines = b.deadlines[1:]
	return next, true
}

// Wake lets time move until something is asked for or a task ends, and returns
// when that was; ok is false if nothing is within the limit. The bubble is then
// of no more use.
func (b *Bubble) Wake(limit time.Duration) (at time.Time, ok bool) {
	b.do(-1, func() {
		select {
		case <-b.activity: // of the past
		default:
		}
		timer := time.NewTimer(limit)
		select {
		case <-b.activity:
			ok = true
		case <-timer.C:
		}
		timer.Stop()
		at = time.Now().UTC()
	})
	return at, ok
}

// lastMoments is how long goroutines of a dead process may go on sleeping.
const lastMoments = 10 * time.Second

// Kill refuses goroutines what they wait for, and all that they ask for later, and
// then ends their contexts; atEnd runs in the bubble. Code that goes on trying
// whatever happens would not ask any more once its context has ended, and so would
// not be stopped. It says whether goroutines are
// left, which stand where they stood for ever.
func (b *Bubble) Kill(atEnd func()) (left bool) {
	if b.lost {
		return true
	}
	defer func() { left = Contended(recover()) || left }()
	b.do(-1, func() {
		b.mu.Lock()
		b.dead = true
		waiting := b.waiting
		b.waiting = nil
		b.mu.Unlock()
		for _, w := range waiting {
			w.in <- killed{}
		}
	})
	b.do(-1, func() {
		for _, t := range b.tasks {
			if t.cancel != nil {
				t.cancel()
			}
		}
		go atEnd()
	})
	if b.polls && len(b.Waiting()) > 0 {
		b.lost = true
		return true // synctest would wait for them for ever
	}
	b.do(-1, func() { time.Sleep(lastMoments) })
	b.lost = true
	close(b.orders)
	return <-b.ended != nil
}
