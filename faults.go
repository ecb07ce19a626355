package exactlyone

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"exactlyone/interleave"
)

// strike carries out a fault and takes it from its budget.
func (w *world) strike(v []uint32, kind, who, slot, arg int) {
	switch kind {
	case actLose:
		spend(v, budgetLost)
		w.count(answersLost)
		if w.word(v, who, slot).commits() > 0 {
			w.count(answersLostAfterCommit)
		}
		n := w.word(v, who, slot).node()
		w.free(v, who, slot)
		v[w.node(n)+1] |= nodeCrashable
		w.tell(v, who, w.cache.timeout)
	case actLoseRequest:
		spend(v, budgetLostRequest)
		w.count(requestsLost)
		w.tell(v, who, w.cache.timeout)
	case actCommitTook, actCommitFailed:
		spend(v, budgetCommit)
		op := w.handlerStands(v, who, slot)
		store := op.Op.(storeOp).store
		if kind == actCommitTook {
			w.count(commitsErredInEffect)
			w.stepStore(v, who, slot, store, op.OpID, w.cache.commitError)
		} else {
			w.count(commitsErred)
			w.stepStore(v, who, slot, store, w.cache.rollback[store], w.cache.commitError)
		}
	case actCrash:
		spend(v, budgetCrash)
		w.crash(v, who)
	case actJump:
		target := w.jumpTargets(v)[arg]
		spend(v, budgetJump)
		w.count(jumps)
		w.moveTo(v, target)
	}
}

// sendTwice sends a request of which a second copy arrives later.
func (w *world) sendTwice(v []uint32, c, node int) {
	spend(v, budgetDuplicate)
	w.count(duplicatesSent)
	p := w.clientStands(v, c)
	for s := 1; s < w.layout.slots; s++ {
		if w.word(v, c, s).phase() != phaseFree {
			continue
		}
		at := w.slot(c, s)
		v[at] = uint32(word(v[at]).with(phaseDuplicate))
		v[at+slotHistory] = w.values.ID(moment{moved(v).Add(w.sys.maxDelay())})
		v[at+slotMessage] = w.requestOf(p)
		break
	}
	w.arrive(v, c, 0, node, w.requestOf(p))
}

// crash ends a server process: requests in it die, their transactions are
// rolled back, answers not yet delivered are gone, and it starts again with
// nothing in its memory. Those who waited see a closed connection.
func (w *world) crash(v []uint32, n int) {
	w.count(crashes)
	var waited [maxClients]bool
	between := false
	for c := range w.clients {
		for s := range w.layout.slots {
			wd := w.word(v, c, s)
			if wd.phase() != phaseRunning && wd.phase() != phaseAnswered || wd.node() != n {
				continue
			}
			between = between || wd.phase() == phaseRunning && wd.commits() > 0
			w.rollBack(v, c, s)
			if w.live != nil && wd.phase() == phaseRunning && w.sys.Stateless {
				w.live.kill(v[w.slot(c, s)+slotHistory])
			}
			w.free(v, c, s)
			waited[c] = waited[c] || s == 0
		}
	}
	if between {
		w.count(crashesBetweenCommits)
	}
	if w.live != nil && !w.sys.Stateless {
		w.live.kill(v[w.node(n)])
	}
	v[w.node(n)] = w.bootServer(n)
	v[w.node(n)+1] &^= nodeCrashable
	for c := range w.clients {
		if waited[c] {
			w.tell(v, c, w.cache.connection)
		}
	}
}

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

// justBeside is how far "just before" and "just past" are from a boundary.
const justBeside = time.Millisecond

// see remembers the times in an op's parameters: each is a boundary to which
// the clock may jump while it lies ahead.
func (w *world) see(v []uint32, op uint32) {
	if left(v, budgetJump) == 0 || w.sys.tuning.jump > 0 {
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
		if i, found := slices.BinarySearch(all, ns); !found && ns+int64(justBeside) > now(v) {
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
	ahead := slices.DeleteFunc(slices.Clone(seen), func(ns int64) bool { return ns+int64(justBeside) <= now(v) })
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
		}
		w.eachSleeper(v, around)
	}
	slices.Sort(t)
	w.targets = slices.Compact(t)
	if len(w.targets) > maxTargets {
		panic(fmt.Errorf("%w: the clock has more than %d boundaries to jump to; declare fewer durations", ErrUsage, maxTargets))
	}
	return w.targets
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
