package interleave

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// counters is a model of tasks that count: task i takes steps[i] steps, and up
// to faults times a fault resets a task to its start. Word 0 is the faults left,
// word 1 + i how far task i is, the last word who made the last step.
type counters struct {
	steps  []uint32
	faults uint32
	bad    func(v []uint32) bool // breaks property 1 after a step
	badEnd func(v []uint32) bool // breaks property 2 at the end
	last   bool
}

func (c *counters) Width() int { return len(c.steps) + 2 }

func (c *counters) Start(v []uint32) {
	clear(v)
	v[0], v[len(v)-1] = c.faults, 99
}

func (c *counters) Enabled(v []uint32, buf []Action) []Action {
	for i, n := range c.steps {
		if v[1+i] < n {
			buf = append(buf, Action(i))
		}
	}
	if len(buf) == 0 || v[0] == 0 {
		return buf
	}
	for i := range c.steps {
		if v[1+i] > 0 {
			buf = append(buf, Action(i)|FaultBit)
		}
	}
	return buf
}

func (c *counters) Apply(v []uint32, a Action, next []uint32) uint32 {
	copy(next, v)
	i := int(a &^ FaultBit)
	if a.Fault() {
		next[0]--
		next[1+i] = 0
	} else {
		next[1+i]++
		next[len(next)-1] = uint32(i)
	}
	if c.bad != nil && c.bad(next) {
		return 1
	}
	return 0
}

func (c *counters) End(v []uint32) uint32 {
	if c.badEnd != nil && c.badEnd(v) {
		return 2
	}
	return 0
}

func (c *counters) Key(v []uint32) Key {
	if c.last {
		return HashKey(Key{}, v)
	}
	return HashKey(Key{}, v[:len(v)-1])
}

func (c *counters) Switch(v []uint32, a Action) bool {
	return !a.Fault() && v[len(v)-1] != 99 && v[len(v)-1] != uint32(a)
}

func (c *counters) Fork(last bool) Model {
	f := *c
	f.last = last
	return &f
}

// TestCountsKnownByHand: two tasks of three steps have 6!/(3!3!) = 20
// interleavings and 4 × 4 states.
func TestCountsKnownByHand(t *testing.T) {
	for _, tt := range []struct {
		steps              []uint32
		states, executions int
	}{
		{[]uint32{3, 3}, 16, 20},
		{[]uint32{1, 1, 1}, 8, 6},
		{[]uint32{2, 3, 1}, 24, 60},
		{[]uint32{0}, 1, 1},
	} {
		m := &counters{steps: tt.steps}
		if r := Naive(context.Background(), Config{}, m, true); r.Executions() != tt.executions || r.Ends != tt.executions {
			t.Errorf("%v: %d executions, want %d", tt.steps, r.Executions(), tt.executions)
		}
		for _, workers := range []int{1, 3} {
			r := Explore(context.Background(), Config{Workers: workers}, m)
			if r.Stop != Complete || r.States != tt.states || r.Ends != 1 {
				t.Errorf("%v: %s, %d states, %d ends, want %d and 1", tt.steps, r.Stop, r.States, r.Ends, tt.states)
			}
		}
	}
}

// TestFewestFaultsFirst: breaking needs a task to go back twice.
func TestFewestFaultsFirst(t *testing.T) {
	m := &counters{steps: []uint32{4, 4}, faults: 5, badEnd: func(v []uint32) bool { return v[0] == 3 }}
	r := Explore(context.Background(), Config{Workers: 2}, m)
	if r.Stop != Violation || r.Broken != 2 || r.Faults != 2 {
		t.Fatalf("%+v, want property 2 broken with 2 faults", r)
	}
	least := Minimal(context.Background(), Config{}, m.Fork(true), r.Faults)
	// Each task once to its end, without a switch but the one; each fault
	// costs the step it undoes.
	if faults, switches := count(m, least.Path); least.Broken != 2 || faults != 2 || switches != 1 || len(least.Path) != 8+2+2 {
		t.Errorf("minimal: %d faults, %d switches, %d steps", faults, switches, len(least.Path))
	}
	if none := Minimal(context.Background(), Config{}, m.Fork(true), 1); none.Stop != Complete {
		t.Errorf("with 1 fault: %s", none.Stop)
	}
}

func count(m Model, path []Action) (faults, switches int) {
	m = m.Fork(true)
	v, next := make([]uint32, m.Width()), make([]uint32, m.Width())
	m.Start(v)
	for _, a := range path {
		if a.Fault() {
			faults++
		}
		if m.Switch(v, a) {
			switches++
		}
		m.Apply(v, a, next)
		v, next = next, v
	}
	return faults, switches
}

// TestMinimalPrefersSwitchesToSteps: task 0 breaks alone after five steps, or
// after two if task 1 has taken one in between.
func TestMinimalPrefersSwitchesToSteps(t *testing.T) {
	m := &counters{steps: []uint32{5, 1}, bad: func(v []uint32) bool { return v[1] == 5 || v[1] == 2 && v[2] == 1 }}
	least := Minimal(context.Background(), Config{}, m.Fork(true), 0)
	if diff := cmp.Diff([]Action{0, 0, 0, 0, 0}, least.Path); diff != "" {
		t.Error(diff)
	}
	first := Explore(context.Background(), Config{}, m)
	if len(first.Path) != 3 {
		t.Errorf("fewest steps: %v, want 3", first.Path)
	}
}

func TestSearchIsCutShort(t *testing.T) {
	m := &counters{steps: []uint32{40, 40, 40}, faults: 1}
	if r := Explore(context.Background(), Config{Memory: 1 << 20}, m); r.Stop != Memory || r.Queue == 0 {
		t.Errorf("%s, queue %d", r.Stop, r.Queue)
	}
	if r := Minimal(context.Background(), Config{Memory: 1 << 20}, m.Fork(true), 1); r.Stop != Memory {
		t.Errorf("minimal: %s", r.Stop)
	}
	ctx, cancel := context.WithCancel(context.Background())
	calls := 0
	stop := Config{Progress: func(Progress) {
		if calls++; calls == 3 {
			cancel()
		}
	}}
	if r := Explore(ctx, stop, m); r.Stop != Cancelled || r.States == 0 {
		t.Errorf("%s after %d states", r.Stop, r.States)
	}
	for name, r := range map[string]Report{
		"naive": Naive(ctx, Config{}, m, true), "minimal": Minimal(ctx, Config{}, m, 1),
	} {
		if r.Stop != Cancelled {
			t.Errorf("%s: %s", name, r.Stop)
		}
	}
}

// TestViolationBeatsMemory: one found in the level in which memory ran out.
func TestViolationBeatsMemory(t *testing.T) {
	m := &counters{steps: []uint32{3}, bad: func(v []uint32) bool { return v[1] == 1 }}
	if r := Explore(context.Background(), Config{Memory: 1}, m); r.Stop != Violation || len(r.Path) != 1 {
		t.Errorf("%s after %v", r.Stop, r.Path)
	}
}

// TestSamples: samples are paths that can be followed.
func TestSamples(t *testing.T) {
	m := &counters{steps: []uint32{3, 3}, faults: 1}
	r := Explore(context.Background(), Config{Samples: 5}, m)
	if len(r.Samples) != 5 {
		t.Fatalf("%d samples, want 5", len(r.Samples))
	}
	for _, path := range r.Samples {
		v, next := make([]uint32, m.Width()), make([]uint32, m.Width())
		m.Start(v)
		for _, a := range path {
			if !slices.Contains(m.Enabled(v, nil), a) {
				t.Fatalf("%v: %v is not possible", path, a)
			}
			m.Apply(v, a, next)
			v, next = next, v
		}
	}
}

// TestQueue: states come back as they went in, whatever their numbers.
func TestQueue(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	q := &queue{width: 7}
	var want []string
	for i := range 1000 {
		v := make([]uint32, 7)
		for j := range v {
			v[j] = rng.Uint32() >> rng.IntN(32)
		}
		q.push(appendCoded(nil, v), uint32(i))
		want = append(want, fmt.Sprint(i, v))
	}
	var got []string
	for b := range q.batches() {
		q.batch(b, func(v []uint32, number uint32) { got = append(got, fmt.Sprint(number, v)) })
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestVisited compares the set with a map.
func TestVisited(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	s, numbers := newVisited(), map[Key]int{}
	for range 10_000 {
		k := Key{rng.Uint64N(50) << 60, rng.Uint64N(1 << 13)} // many share slot and tag
		want, known := numbers[k]
		if !known {
			want = len(numbers)
			numbers[k] = want
		}
		if s.has(k) != known {
			t.Fatalf("has(%v) = %v", k, !known)
		}
		if n, isNew := s.add(k); n != want || isNew == known {
			t.Fatalf("add(%v) = %d, %v; want %d, %v", k, n, isNew, want, !known)
		}
	}
}

// TestHashKey: small vectors that differ in one place have keys that differ in
// both halves.
func TestHashKey(t *testing.T) {
	seen := [2]map[uint64]bool{{}, {}}
	n := 0
	for length := range 9 {
		v := make([]uint32, length)
		for i := range 1 << (2 * length) {
			for j := range v {
				v[j] = uint32(i >> (2 * j) & 3)
			}
			k := HashKey(Key{}, v)
			seen[0][k[0]], seen[1][k[1]] = true, true
			n++
		}
	}
	if len(seen[0]) != n || len(seen[1]) != n {
		t.Errorf("%d vectors have %d and %d different halves", n, len(seen[0]), len(seen[1]))
	}
	a, b := HashKey(Key{}, []uint32{1}), HashKey(Key{}, []uint32{2})
	if a.Mix(b) == b.Mix(a) {
		t.Error("the order of parts is not part of the key")
	}
}
