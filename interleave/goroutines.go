package interleave

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unidentified is the goroutines of which it matters which they are and is not
// known. A context tells the task of who asks with it. If there is one task, and it
// has just been given something to do, one that waits can only be its own. Of
// several that wait in one task each must be known.
func (b *Bubble) unidentified() []*waiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 1 && len(b.tasks) == 1 && b.current == 0 {
		return nil
	}
	several := map[int]int{}
	for _, w := range b.waiting {
		several[w.task]++
	}
	var all []*waiter
	for _, w := range b.waiting {
		if w.goroutine == 0 && (w.task < 0 || several[w.task] > 1) {
			all = append(all, w)
		}
	}
	return all
}

// settle finds out whose goroutines wait, and puts them in an order that does not
// depend on which came first: those of one task by where they were started, then
// by their number.
func (b *Bubble) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.waiting {
		if w.task < 0 {
			w.task = b.owner(w.goroutine)
		}
		if c := b.creators[w.goroutine]; c != nil {
			w.site = c.site
		}
	}
	slices.SortStableFunc(b.waiting, func(x, y *waiter) int {
		return cmp.Or(cmp.Compare(x.task, y.task), cmp.Compare(x.site, y.site), cmp.Compare(x.goroutine, y.goroutine))
	})
}

// owner is the task that a goroutine works for: the one that started it, or
// started who started it; else the one for which it was last given something to
// do, as a worker is that waits for jobs.
func (b *Bubble) owner(goroutine uint64) int {
	for range 100 {
		if task, ok := b.started[goroutine]; ok {
			return task
		}
		c := b.creators[goroutine]
		if c == nil {
			break
		}
		if c.timer {
			return b.last // who set the timer is not known
		}
		goroutine = c.by
	}
	return b.current
}

// Waiting is the tasks that have a goroutine waiting for a mutex. Only a bubble
// that polls knows.
func (b *Bubble) Waiting() []int {
	if !b.polls {
		return nil
	}
	var all []int
	for _, g := range b.goroutines() {
		if g.mutex() {
			if b.creators[g.id] == nil {
				b.creators[g.id] = &g.creation
			}
			all = append(all, b.owner(g.id))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Stacks says where the goroutines of a task wait: a line for each, of functions
// only, the innermost first. Goroutines that database/sql and contexts have of
// their own are left out.
func (b *Bubble) Stacks(task int) []string {
	var all []string
	for _, g := range b.goroutines() {
		if b.creators[g.id] == nil {
			b.creators[g.id] = &g.creation
		}
		if b.owner(g.id) == task && slices.ContainsFunc(g.frames, ofUser) {
			all = append(all, g.state+" in "+strings.Join(g.frames, " < "))
		}
	}
	slices.Sort(all)
	return all
}

// Contended says whether what was recovered is ErrContended; any other panic goes on.
func Contended(recovered any) bool {
	if err, ok := recovered.(error); ok && errors.Is(err, ErrContended) {
		return true
	}
	if recovered != nil {
		panic(recovered)
	}
	return false
}

// lookAfter is how long an order may take before the goroutines are looked at, and
// mostLooks how often they are looked at, after longer and longer times up to
// longestLook. It takes half a minute; while a debugger stops the program nobody
// looks.
const (
	lookAfter   = 2 * time.Millisecond
	longestLook = 100 * time.Millisecond
	mostLooks   = 300
)

// await returns when an order was carried out and all goroutines stand still. It
// panics with ErrContended if the controller will never say so, and with ErrEndless
// if goroutines go on and on without asking for anything.
func (b *Bubble) await() {
	b.watch.Reset(lookAfter)
	for looks := 1; ; looks++ {
		select {
		case <-b.done:
			b.watch.Stop()
			b.poll()
			return
		case <-b.watch.C:
		}
		all := b.goroutines()
		switch runs := slices.IndexFunc(all, goroutine.runs); {
		case runs < 0 && b.controller.waits() && slices.ContainsFunc(all, goroutine.mutex):
			b.lost = true
			panic(ErrContended)
		case runs >= 0 && looks > mostLooks:
			b.lost = true
			panic(fmt.Errorf("%w: it goes on for half a minute without asking for anything, in %s", ErrEndless, strings.Join(all[runs].frames, " < ")))
		}
		b.watch.Reset(min(longestLook, time.Duration(looks)*lookAfter))
	}
}

// poll waits until all goroutines stand still.
func (b *Bubble) poll() {
	for b.polls && slices.ContainsFunc(b.goroutines(), goroutine.runs) {
		runtime.Gosched()
	}
}

// goroutine is what a stack trace tells of one.
type goroutine struct {
	creation
	id     uint64
	state  string
	frames []string // functions, the innermost first, without those of the runtime
}

// runs says whether it does not wait.
func (g goroutine) runs() bool {
	for _, s := range []string{"running", "runnable", "syscall", "GC", "preempted", "copystack", "waiting", "idle", "dead", "semacquire"} { // the last is for the runtime itself, as when it begins to collect garbage
		if strings.HasPrefix(g.state, s) {
			return true
		}
	}
	return false
}

// waits says whether the controller waits in the middle of an order: it neither has
// to begin with it, nor to say that it is done.
func (g goroutine) waits() bool { return !g.runs() && !strings.HasPrefix(g.state, "chan") }

// mutex says whether it waits for one.
func (g goroutine) mutex() bool {
	return strings.HasPrefix(g.state, "sync.Mutex") || strings.HasPrefix(g.state, "sync.RWMutex")
}

// goroutines is those of the bubble. Among them are the controller and one of
// synctest's own, which fires timers.
func (b *Bubble) goroutines() []goroutine {
	buf := make([]byte, 1<<16)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	var all []goroutine
	for text := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		header, rest, _ := strings.Cut(text, "\n")
		g := goroutine{creation: *creationOf([]byte(text))}
		id, state, _ := strings.Cut(strings.TrimPrefix(header, "goroutine "), " [")
		g.id, _ = strconv.ParseUint(id, 10, 64)
		// One that helps to collect garbage is not said to be in a bubble.
		if !strings.Contains(header, b.id) && !b.members[g.id] && !b.members[g.by] {
			continue
		}
		b.members[g.id] = true
		state, _, _ = strings.Cut(strings.TrimRight(state, "]:"), ",")
		g.state = strings.TrimSuffix(state, " (durable)")
		if strings.Contains(rest, "(*Bubble).control(") {
			b.controller = g
			continue
		}
		for line := range strings.SplitSeq(rest, "\n") {
			if strings.HasPrefix(line, "created by ") {
				break
			}
			if at, where := strings.CutPrefix(line, "\t"); where {
				at, _, _ = strings.Cut(at, " ")
				if n := len(g.frames); n > 0 && !strings.HasSuffix(g.frames[n-1], ")") {
					g.frames[n-1] += " (" + path.Base(at) + ")"
				}
			} else if name, _, call := cutLast(line, "("); call && !ownFrame(name) {
				g.frames = append(g.frames, name)
			} else {
				g.frames = append(g.frames, "") // for the next line
			}
		}
		g.frames = slices.DeleteFunc(g.frames, func(f string) bool { return strings.HasPrefix(f, " ") })
		all = append(all, g)
	}
	return all
}

func ownFrame(name string) bool {
	for _, p := range []string{
		"runtime.", "sync.", "internal/", "testing.", "testing/", "time.Sleep",
		"exactlyone/interleave.", "exactlyone.(*hosted).", "exactlyone/simhttp.server.",
	} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// ofUser says whether a function may be of the code under test.
func ofUser(name string) bool {
	return !strings.HasPrefix(name, "database/sql.") && !strings.HasPrefix(name, "context.")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func stackOf() []byte {
	buf := make([]byte, 1<<12)
	for {
		if n := runtime.Stack(buf, false); n < len(buf) {
			return buf[:n]
		}
		buf = make([]byte, 2*len(buf))
	}
}

// goroutineID is the number of the calling goroutine.
func goroutineID() uint64 {
	var buf [40]byte
	n := runtime.Stack(buf[:], false)
	id, _, _ := bytes.Cut(bytes.TrimPrefix(buf[:n], []byte("goroutine ")), []byte(" "))
	number, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("interleave: no goroutine has the number %q", id))
	}
	return number
}

// bubbleOf is how the header of a stack names the bubble: "synctest bubble 5".
func bubbleOf(stack []byte) string {
	header, _, _ := bytes.Cut(stack, []byte("]:"))
	_, name, _ := bytes.Cut(header, []byte("synctest bubble "))
	return "synctest bubble " + string(name) + "]"
}

// creationOf reads who started the goroutine that a stack is of.
func creationOf(stack []byte) *creation {
	i := bytes.LastIndex(stack, []byte("created by "))
	if i < 0 {
		return new(creation)
	}
	text := string(stack[i+len("created by "):])
	first, where, _ := strings.Cut(text, "\n")
	_, by, _ := cutLast(first, " in goroutine ")
	c := new(creation)
	c.timer = strings.HasPrefix(first, "time.goFunc")
	c.by, _ = strconv.ParseUint(by, 10, 64)
	where, _, _ = strings.Cut(strings.TrimSpace(where), " ")
	c.site = where
	return c
}
