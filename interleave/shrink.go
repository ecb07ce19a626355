package interleave

import (
	"context"
	"slices"
)

// Shrinkable is a [Model] whose failing executions can be shrunk. It must have
// been made by Fork(true).
type Shrinkable interface {
	Sampled
	// Severity ranks a fault: of two stories with equally many faults, the one
	// whose faults are less severe in sum is smaller. It is 0 for steps, and 1
	// for the mildest fault.
	Severity(a Action) int
}

// Size is how large a failing execution is; fewer faults count first, then
// their severity, then switches, then steps.
type Size struct{ Faults, Severity, Switches, Steps int }

// less compares sizes.
func (s Size) less(o Size) bool {
	return slices.Compare(
		[]int{s.Faults, s.Severity, s.Switches, s.Steps},
		[]int{o.Faults, o.Severity, o.Switches, o.Steps}) < 0
}

// shrinkStates is how many states a search for a smaller execution may visit
// before Shrink is content with what it has.
const shrinkStates = 30_000

// Shrink makes a failing execution smaller as long as it breaks the same
// property. First it leaves out and moves actions (delta debugging, Zeller and
// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", TSE 2002);
// then it searches for the smallest one there is. If that search came to its
// end, the result is minimal: no execution that breaks the property is smaller.
func Shrink(ctx context.Context, m Shrinkable, path []Action, broken uint32) (shrunk []Action, minimal bool) {
	s := &shrinker{ctx: ctx, m: m, broken: broken, v: make([]uint32, m.Width()), next: make([]uint32, m.Width())}
	if !s.try(path) {
		return path, false // it does not fail the way it did
	}
	for s.pass() && ctx.Err() == nil {
	}
	minimal = s.search()
	return s.best, minimal
}

type shrinker struct {
	ctx    context.Context
	m      Shrinkable
	broken uint32

	best []Action
	size Size

	v, next []uint32
	acts    []Action
}

// try follows actions as far as it can, leaving out what is not possible, and
// goes on in the plainest way. If the property is broken by something smaller
// than the best so far, that is the best.
func (s *shrinker) try(want []Action) bool {
	var path []Action
	var size Size
	s.m.Start(s.v)
	step := func(a Action) (broken uint32) {
		if s.m.Switch(s.v, a) {
			size.Switches++
		}
		if a.Fault() {
			size.Faults++
			size.Severity += s.m.Severity(a)
		}
		size.Steps++
		path = append(path, a)
		broken = s.m.Apply(s.v, a, s.next)
		s.v, s.next = s.next, s.v
		return broken
	}
	var broken uint32
	for broken == 0 {
		s.acts = s.m.Enabled(s.v, s.acts[:0])
		a, found := Action(0), false
		for len(want) > 0 && !found {
			a, want = want[0], want[1:]
			found = slices.Contains(s.acts, a)
		}
		if !found {
			if ends(s.acts) {
				broken = s.m.End(s.v)
				break
			}
			a = s.plainest()
		}
		if broken = step(a); s.best != nil && !size.less(s.size) || len(path) > MaxHistory {
			return false
		}
	}
	if broken != s.broken || s.best != nil && !size.less(s.size) {
		return false
	}
	s.best, s.size = path, size
	return true
}

// plainest is the step of the task that goes on, else the first one.
func (s *shrinker) plainest() Action {
	for _, a := range s.acts {
		if !a.Fault() && !s.m.Switch(s.v, a) {
			return a
		}
	}
	return s.acts[0]
}

// pass tries every kind of simplification once, and says whether any helped.
func (s *shrinker) pass() bool {
	before := s.size
	for n := len(s.best) / 2; n > 0; n /= 2 { // leave out parts
		for i := 0; i+n <= len(s.best); i++ {
			s.try(slices.Concat(s.best[:i], s.best[i+n:]))
		}
	}
	s.milder()
	s.together()
	return s.size.less(before)
}

// milder puts a less severe fault in the place of each.
func (s *shrinker) milder() {
	for i := 0; i < len(s.best); i++ {
		a := s.best[i]
		if !a.Fault() {
			continue
		}
		for _, b := range s.possible(i) {
			if b.Fault() && s.m.Severity(b) < s.m.Severity(a) {
				s.try(slices.Concat(s.best[:i], []Action{b}, s.best[i+1:]))
			}
		}
	}
}

// possible is the actions possible after the first n of the best execution.
func (s *shrinker) possible(n int) []Action {
	s.m.Start(s.v)
	for _, a := range s.best[:min(n, len(s.best))] {
		s.m.Apply(s.v, a, s.next)
		s.v, s.next = s.next, s.v
	}
	return s.m.Enabled(s.v, nil)
}

// together moves the steps of one task next to one another: each run of steps of
// a task is put right after the run of the same task before it, or right before
// the one after it.
func (s *shrinker) together() {
	for i := 1; i < len(s.best); i++ {
		runs := s.runs()
		if i >= len(runs) {
			return
		}
		for j := i - 1; j >= 0; j-- {
			if s.m.Task(runs[i][0]) == s.m.Task(runs[j][0]) {
				s.try(slices.Concat(slices.Concat(runs[:j+1]...), runs[i], slices.Concat(runs[j+1:i]...), slices.Concat(runs[i+1:]...)))
				s.try(slices.Concat(slices.Concat(runs[:j]...), slices.Concat(runs[j+1:i]...), runs[j], slices.Concat(runs[i:]...)))
				break
			}
		}
	}
}

// runs splits the best execution where the task changes.
func (s *shrinker) runs() [][]Action {
	var all [][]Action
	for i, a := range s.best {
		if i == 0 || s.m.Task(a) != s.m.Task(s.best[i-1]) {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], a)
	}
	return all
}

// search looks for the smallest execution there is: with fewer faults first, and
// milder ones among them. It says whether what it found is known to be minimal:
// not where several faults of unlike severity could be traded for one another.
func (s *shrinker) search() bool {
	worst := 0
	for _, a := range s.best {
		worst = max(worst, s.m.Severity(a))
	}
	states := 0
	for faults := 0; faults <= s.size.Faults; faults++ {
		for severity := min(faults, 1); severity <= worst; severity++ {
			if states >= shrinkStates {
				return false
			}
			r := Minimal(s.ctx, Config{
				States: shrinkStates - states, Only: s.broken,
				Skip: func(a Action) bool { return s.m.Severity(a) > severity },
			}, s.m, faults)
			states += r.States
			switch r.Stop {
			case Violation:
				s.try(r.Path)
				return faults <= 1 || s.size.Severity == faults
			case Complete:
			default:
				return false
			}
			if faults == 0 {
				break
			}
		}
	}
	return true
}
