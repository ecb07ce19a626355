package exactlyone

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"time"

	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
)

// Server handles requests; [System.Start] returns one.
type Server = model.Server

// Goroutines marks a server as ordinary code, which may start goroutines, lock
// mutexes, sleep, and use package time, contexts and database/sql as it likes.
// It is run in a bubble of testing/synctest, where time is virtual. simhttp.Serve
// does this for a handler.
func Goroutines(s Server) Server { return ordinary{s} }

// ordinary is a server that is run in a bubble.
type ordinary struct{ Server }

// hosted is a server process whose code runs in a bubble, or the part of one that
// handles a single request where the system is stateless. For each request there
// are two tasks: task 2i is its handler, task 2i+1 the goroutines that are left
// when the handler has returned.
type hosted struct {
	sys    *System
	bubble *interleave.Bubble
	env    *Env
	server Server
	polls  bool
	late   time.Time // what the time should be, if it could not move that far; see Bubble.Advance
	given  []given   // since the start, in the order in which they were last given

	history [sha256.Size]byte // tells what was given from all else
	tasks   []hostedTask
}

// given is an event and the task that it was given to.
type given struct {
	task  int
	event any
}

// hostedTask is what is known of a request.
type hostedTask struct {
	picked      int                // which of its goroutines goes on, -1 if that is open
	connections map[connection]int // those in use, and their numbers
	seed        token              // of its random numbers
	drawn       int                // how often it was given anything
	over        bool               // its handler has returned and nothing is left of it
}

// How far ahead it is looked for what a goroutine waits for: that of a request that
// has not been answered, and one that a handler has left. A ticker that does nothing
// visible ticks all that time.
const (
	probeLimit = 48 * time.Hour
	restLimit  = 10 * time.Minute
)

func newHosted(sys *System) *hosted {
	h := &hosted{sys: sys}
	h.launch()
	return h
}

// launch runs the system's Start.
func (h *hosted) launch() {
	env := &Env{stores: h.sys.Stores} // goroutines of an earlier bubble may still look at theirs
	var server Server
	h.env = env
	h.tasks, h.history, h.late = nil, [sha256.Size]byte{}, time.Time{}
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Errorf("%w: system %q: Start: %v", ErrUsage, h.sys.Name, r))
		}
	}()
	h.polls = h.sys.contended.Load()
	h.bubble = interleave.NewBubble(clock.Epoch, h.polls, func(b *interleave.Bubble) {
		env.asker = b
		if server = h.sys.Start(env); server == nil {
			panic("it returned no server")
		}
		if o, ok := server.(ordinary); ok {
			server = o.Server // as background actors know it
		}
	})
	h.server = server
	h.env.started = true
}

// Handle gives an event to a task; see [interleave.Process].
func (h *hosted) Handle(task int, event any) (parked []interleave.Parked) {
	g := given{task, event}
	if _, moves := event.(passed); moves && len(h.bubble.Waiting()) > 0 && h.putOff(g) {
		return h.parked()
	}
	h.given = append(h.given, g)
	defer func() {
		if r := recover(); interleave.Contended(r) {
			if h.polls {
				panic(r)
			}
			h.sys.contended.Store(true)
			h.again(h.given)
			parked = h.parked()
		}
	}()
	h.give(g)
	return h.parked()
}

// again starts the process anew and gives it these events.
func (h *hosted) again(events []given) {
	h.end()
	h.given = events
	h.launch()
	for _, g := range events {
		h.give(g)
	}
}

// putOff starts again with the events so far and one that moves time, with what made
// goroutines wait for a mutex put off until after it: time cannot move while they
// wait, and nobody could see what they did in between. If they still wait then, all
// is as before, and it says no.
func (h *hosted) putOff(moves given) (done bool) {
	before := h.given
	now, later := h.withhold()
	defer func() {
		if interleave.Contended(recover()) {
			h.again(before)
			done = false
		}
	}()
	h.again(append(append(now, moves), later...))
	if h.late.IsZero() {
		return true
	}
	h.again(before)
	return false
}

// withhold parts the events that made goroutines wait for a mutex from all others.
func (h *hosted) withhold() (now, later []given) {
	waiting := h.bubble.Waiting()
	for i := len(h.given) - 1; i >= 0; i-- {
		g := h.given[i]
		_, moves := g.event.(passed)
		if at := slices.Index(waiting, g.task/2); at >= 0 && !moves {
			waiting = slices.Delete(waiting, at, at+1)
			later = append(later, g)
		} else {
			now = append(now, g)
		}
	}
	slices.Reverse(now)
	slices.Reverse(later)
	return now, later
}

func (h *hosted) give(g given) {
	i := g.task / 2
	h.history = sha256.Sum256(fmt.Appendf(h.history[:], "%d %T %s", g.task, g.event, g.event))
	for len(h.tasks) <= i {
		h.tasks = append(h.tasks, hostedTask{picked: -1})
	}
	t := &h.tasks[i]
	switch event := g.event.(type) {
	case arrived:
		h.bubble.Advance(event.now)
		t.seed = event.seed
		h.sow(t)
		server := h.server // of this process, also if it is left behind
		h.bubble.Go(i, func(ctx context.Context) fmt.Stringer {
			if r, isRound := event.what.(round); isRound {
				h.sys.Background[r.actor].Run(ctx, server)
				return ok{}
			}
			return server.Handle(ctx, event.what.(model.Request))
		})
	case passed:
		if len(h.bubble.Waiting()) > 0 || !h.bubble.Advance(event.Time) {
			h.late = event.Time
		}
	case cancelled:
		t.picked = -1
		h.bubble.Cancel(i)
	case pick:
		t.picked = int(event)
	default:
		n := max(t.picked, 0)
		t.picked = -1
		h.sow(t)
		h.bubble.Resume(i, n, event)
	}
	if !h.late.IsZero() && len(h.bubble.Waiting()) == 0 && h.bubble.Advance(h.late) {
		h.late = time.Time{}
	}
}

// sow makes what the task draws from crypto/rand depend on nothing else than what
// it was given.
func (h *hosted) sow(t *hostedTask) {
	t.drawn++
	if h.sys.seeded {
		sum := sha256.Sum256(fmt.Append(nil, t.seed, " ", t.drawn))
		cryptotest.SetGlobalRandom(new(testing.T), binary.LittleEndian.Uint64(sum[:]))
	}
}

// parked is where all tasks stand.
func (h *hosted) parked() []interleave.Parked {
	if stray := h.bubble.Stray(); len(stray) > 0 {
		panic(fmt.Errorf("%w: system %q: a goroutine that Start started asks for %s; declare it as one of System.Background", ErrUsage, h.sys.Name, stray[0]))
	}
	all := make([]interleave.Parked, 0, 2*len(h.tasks))
	for i := range h.tasks {
		s := h.bubble.Standing(i)
		handler, rest := interleave.Parked{Result: s.Result}, interleave.Parked{Result: ok{}}
		switch {
		case s.Result == nil:
			handler = h.stands(i, s.Asks)
			handler.Deadlines = s.Deadlines
		case len(s.Asks) > 0 || h.sleeps(i):
			rest = h.stands(i, s.Asks)
			rest.Deadlines = s.Deadlines
		}
		all = append(all, handler, rest)
	}
	return all
}

// stands is what the goroutines of a request ask for.
func (h *hosted) stands(i int, asks []interleave.Op) interleave.Parked {
	t := &h.tasks[i]
	h.number(t, asks)
	switch {
	case len(asks) == 1:
		return interleave.Parked{Op: asks[0]}
	case len(asks) > 1 && t.picked >= len(asks):
		panic(fmt.Errorf("%w: a request had %d goroutines that asked for something, now it has %d", interleave.ErrNondeterministic, t.picked+1, len(asks)))
	case len(asks) > 1 && t.picked >= 0:
		return interleave.Parked{Op: asks[t.picked], Others: true}
	case len(asks) > 1:
		return interleave.Parked{Op: forkOp{asks}}
	}
	if slices.Contains(h.bubble.Waiting(), i) {
		return interleave.Parked{Op: waitOp{"a mutex: " + strings.Join(h.bubble.Stacks(i), "; ")}, Blocked: true}
	}
	if at, found := h.wakes(i); found {
		return interleave.Parked{Op: sleepOp{until: at, itself: true}}
	}
	return interleave.Parked{Op: waitOp{"another goroutine: " + strings.Join(h.bubble.Stacks(i), "; ")}, Blocked: true}
}

// connection is one of a pool's.
type connection struct{ store, number int }

// number numbers the connections on which a request asks for something.
func (h *hosted) number(t *hostedTask, asks []interleave.Op) {
	used := map[connection]int{}
	for c, n := range t.connections {
		if i, ok := h.env.dbs[c.store].connector.(Idler); ok && !i.Idle(c.number) {
			used[c] = n
		}
	}
	for i, op := range asks {
		s, _ := op.(storeOp)
		on, ok := s.op.(Connected)
		if !ok {
			continue
		}
		c := connection{s.store, on.Connection()}
		if used[c] == 0 {
			used[c] = unused(used, s.store)
		}
		asks[i] = storeOp{s.store, on.On(used[c])}
	}
	t.connections = used
}

// unused is the smallest number that no connection to a store has.
func unused(used map[connection]int, store int) int {
	for n := 1; ; n++ {
		free := true
		for c, m := range used {
			free = free && (c.store != store || m != n)
		}
		if free {
			return n
		}
	}
}

// wakes is when the goroutines of a request that waits, but asks for nothing, go
// on by themselves. It is found out in another process with the same history,
// once for each.
func (h *hosted) wakes(i int) (at time.Time, ok bool) {
	key := wakeKey{h.history, i}
	if known, found := h.sys.wakes.Load(key); found {
		at = known.(time.Time)
		return at, !at.IsZero()
	}
	if at, ok = h.probe(i); !ok {
		at = time.Time{}
	}
	h.sys.wakes.Store(key, at)
	return at, ok
}

// wakeKey is a history and a request.
type wakeKey struct {
	history [sha256.Size]byte
	task    int
}

// probe is wakes, for a history that is new.
func (h *hosted) probe(i int) (at time.Time, ok bool) {
	defer func() {
		if interleave.Contended(recover()) {
			h.sys.contended.Store(true)
			at, ok = time.Time{}, false // it waits for a mutex before it comes to a time
		}
	}()
	probe := &hosted{sys: h.sys}
	probe.given, _ = h.withhold()
	probe.again(probe.given)
	defer probe.end()
	was := probe.bubble.Standing(i)
	limit := probeLimit
	if was.Result != nil {
		limit = restLimit
	}
	for left := limit; left > 0; {
		from := at
		if at, ok = probe.bubble.Wake(left); !ok {
			return at, false
		}
		if s := probe.bubble.Standing(i); len(s.Asks) != len(was.Asks) || (s.Result == nil) != (was.Result == nil) {
			return at, true
		}
		if !from.IsZero() {
			left -= at.Sub(from)
		}
	}
	return at, false
}

// sleeps says whether goroutines are left of a request whose handler has returned,
// and will go on by themselves.
func (h *hosted) sleeps(i int) bool {
	t := &h.tasks[i]
	if t.over {
		return false
	}
	_, sleeps := h.wakes(i)
	t.over = !sleeps
	return sleeps
}

// end ends the process.
func (h *hosted) end() {
	if h.bubble == nil {
		return
	}
	done := true
	for i := range h.tasks {
		s := h.bubble.Standing(i)
		done = done && s.Result != nil && len(s.Asks) == 0
	}
	if h.bubble.Kill(h.env.closeAll) && done {
		h.sys.left.note(h)
	}
	h.bubble = nil
}

// leftBehind is where goroutines wait for ever whose handler has returned.
type leftBehind struct {
	mu     sync.Mutex
	looks  int
	stacks []string
}

// mostLooks is how many processes are looked at for what they have left: one that
// leaves something mostly leaves the same.
const mostLooks = 10

func (l *leftBehind) note(h *hosted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.looks++; l.looks > mostLooks {
		return
	}
	for i := range h.tasks {
		for _, s := range h.bubble.Stacks(i) {
			if at, found := slices.BinarySearch(l.stacks, s); !found {
				l.stacks = slices.Insert(l.stacks, at, s)
			}
		}
	}
}

// Kill ends the process.
func (h *hosted) Kill() error {
	h.end()
	return nil
}

// arrived is a request that arrives, or a round of a background actor that begins,
// and what its random numbers come from.
type arrived struct {
	what fmt.Stringer
	now  time.Time
	seed token
}

func (a arrived) String() string {
	return fmt.Sprintf("%s at %s, random numbers from %s", a.what, clock.Since(a.now), a.seed)
}

// passed is that it is now a later time.
type passed struct{ time.Time }

func (p passed) String() string { return "it is " + clock.Since(p.Time) }

// pick says which of the goroutines of a request goes on.
type pick int

func (p pick) String() string { return fmt.Sprint("goroutine ", int(p)+1, " goes on") }

// forkOp is what several goroutines of one request ask for.
type forkOp struct{ ops []interleave.Op }

func (o forkOp) String() string {
	var all []string
	for _, op := range o.ops {
		all = append(all, op.String())
	}
	return strings.Join(all, " | ")
}

// waitOp is a request all of whose goroutines wait for others, or for a mutex.
type waitOp struct{ what string }

func (o waitOp) String() string { return "wait for " + o.what }

// isOrdinary says whether the server that Start returns is marked by [Goroutines].
func isOrdinary(sys *System) (yes bool) {
	defer func() { _ = recover() }() // who starts it for good will say so
	env := &Env{stores: sys.Stores}
	b := interleave.NewBubble(clock.Epoch, false, func(b *interleave.Bubble) {
		env.asker = b
		_, yes = sys.Start(env).(ordinary)
	})
	b.Kill(env.closeAll)
	return yes
}

// hostedRequest is a request as a process of its own, though others run in its
// bubble: so executions for real find out whether a system is stateless.
type hostedRequest struct {
	in    *hosted
	first int // its first task
}

func (r *hostedRequest) Handle(task int, event any) []interleave.Parked {
	return r.in.Handle(r.first+task, event)[r.first : r.first+2]
}

// Kill leaves the end of the bubble to the node.
func (r *hostedRequest) Kill() error { return nil }
