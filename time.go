package exactlyone

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"exactlyone/clock"
	"exactlyone/interleave"
)

// moveTo moves the clock. Boundaries passed and duplicates that would now come
// too late are forgotten.
func (w *world) moveTo(v []uint32, ns int64) {
	if ns == now(v) {
		w.forgetPast(v)
		return
	}
	setNow(v, ns)
	for n := range w.nodes {
		v[w.node(n)+1] |= nodeCrashable
	}
	w.forgetPast(v)
	w.passTime(v)
	for c := range w.clients {
		for s := 1; s < w.layout.slots; s++ {
			at := w.slot(c, s)
			if word(v[at]).phase() == phaseDuplicate && w.values.Value(v[at+slotHistory]).(moment).UnixNano() < ns {
				w.free(v, c, s)
			}
		}
	}
}

// instants is a sorted list of times in nanoseconds.
type instants []int64

func (l instants) String() string {
	var parts []string
	for _, ns := range l {
		parts = append(parts, fmt.Sprint(ns))
	}
	return strings.Join(parts, " ")
}

// lateness is how long after a boundary a node may still be just past it.
func (w *world) lateness() int64 {
	if w.bounds.Skews > 0 {
		return int64(justBeside + w.sys.maxSkew())
	}
	return int64(justBeside)
}

// justBeside is how far "just before" and "just past" are from a boundary.
const justBeside = time.Millisecond

// see remembers the times in an op's parameters, or those that a store says are
// stored: each is a boundary to which the clock may jump while it lies ahead.
func (w *world) see(v []uint32, op uint32) {
	if op == 0 || left(v, budgetJump) == 0 || w.sys.tuning.jump > 0 {
		return
	}
	times := w.timesIn(op)
	if len(times) == 0 {
		return
	}
	seen := w.seen(v)
	all := slices.Clone(seen)
	for _, t := range times {
		ns := t.UnixNano()
		if i, found := slices.BinarySearch(all, ns); !found && ns+w.lateness() > now(v) {
			all = slices.Insert(all, i, ns)
		}
	}
	if len(all) > len(seen) {
		v[atBoundaries] = w.values.ID(all)
	}
}

func (w *world) seen(v []uint32) instants {
	if v[atBoundaries] == 0 {
		return nil
	}
	return w.values.Value(v[atBoundaries]).(instants)
}

// forgetPast drops boundaries that lie behind, and all when no jump is left.
func (w *world) forgetPast(v []uint32) {
	if v[atBoundaries] == 0 {
		return
	}
	if left(v, budgetJump) == 0 {
		v[atBoundaries] = 0
		return
	}
	seen := w.seen(v)
	ahead := slices.DeleteFunc(slices.Clone(seen), func(ns int64) bool { return ns+w.lateness() <= now(v) })
	switch {
	case len(ahead) == 0:
		v[atBoundaries] = 0
	case len(ahead) < len(seen):
		v[atBoundaries] = w.values.ID(ahead)
	}
}

// maxTargets is what an action's argument has room for.
const maxTargets = 256

// ladder is how far the clock jumps where no duration was declared.
var ladder = []time.Duration{time.Second, time.Minute, time.Hour, 25 * time.Hour}

// jumpTargets is the times to which the clock may jump, in ascending order.
func (w *world) jumpTargets(v []uint32) []int64 {
	t, from := w.targets[:0], now(v)
	around := func(ns int64) {
		for _, target := range [3]int64{ns - int64(justBeside), ns, ns + int64(justBeside)} {
			if target > from {
				t = append(t, target)
			}
		}
	}
	switch {
	case w.sys.tuning.jump > 0:
		t = append(t, from+int64(w.sys.tuning.jump))
	case len(w.sys.Durations) == 0:
		for _, d := range ladder {
			t = append(t, from+int64(d))
		}
	default:
		for _, d := range w.sys.Durations {
			around(from + int64(d))
		}
	}
	if w.sys.tuning.jump == 0 {
		for _, ns := range w.seen(v) {
			around(ns)
			for n := range w.nodes {
				if s := w.skewOf(v, n); s != 0 {
					around(ns - int64(s)) // when it is that time on the node
				}
			}
		}
		w.eachSleeper(v, around)
		w.eachDeadline(v, around)
	}
	if w.sys.Retention > 0 && w.inFlight(v) {
		t = slices.DeleteFunc(t, w.expired)
	}
	slices.Sort(t)
	w.targets = slices.Compact(t)
	if len(w.targets) > maxTargets {
		panic(fmt.Errorf("%w: the clock has more than %d boundaries to jump to; declare fewer durations", ErrUsage, maxTargets))
	}
	return w.targets
}

// eachDeadline calls f with the time at which each request gives up what it asks
// for.
func (w *world) eachDeadline(v []uint32, f func(ns int64)) {
	if !w.sys.ordinary {
		return
	}
	for c := range w.clients {
		for s := range w.layout.slots {
			if w.word(v, c, s).phase() == phaseRunning {
				for _, d := range w.handlerStands(v, c, s).Deadlines {
					f(d.UnixNano())
				}
			}
		}
	}
}

// eachSleeper calls f with the time at which each sleeper is due.
func (w *world) eachSleeper(v []uint32, f func(ns int64)) {
	see := func(p *interleave.Parked) {
		if op, ok := p.Op.(sleepOp); ok {
			f(op.until.UnixNano())
		}
	}
	for c := range w.clients {
		see(w.clientStands(v, c))
		for s := range w.layout.slots {
			if w.word(v, c, s).phase() == phaseRunning {
				see(w.handlerStands(v, c, s))
			}
		}
	}
}

// expired says whether keys are kept no longer at a time: see System.Retention.
func (w *world) expired(ns int64) bool {
	return w.sys.Retention > 0 && ns >= clock.Epoch.Add(w.sys.Retention).UnixNano()
}

// errExpired is what a client sees that does not send because its key may be
// kept no longer.
var errExpired = errors.New("not sent: keys are kept no longer")

// inFlight says whether a request is on its way or running.
func (w *world) inFlight(v []uint32) bool {
	for c := range w.bounds.Clients {
		for s := range w.layout.slots {
			if w.word(v, c, s).phase() != phaseFree {
				return true
			}
		}
	}
	return false
}
