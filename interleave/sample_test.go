package interleave

import (
	"context"
	"fmt"
	"testing"

	"exactlyone/choice"
)

// The methods of counters that a search which draws executions needs.

func (c *counters) Task(a Action) int {
	if a.Fault() {
		return -1
	}
	return int(a)
}
func (c *counters) Stable(v []uint32) Key               { return c.Key(v) }
func (c *counters) Fault(Action) int                    { return 0 }
func (c *counters) Budgets() []int                      { return []int{int(c.faults)} }
func (c *counters) Racing(_ []uint32, _, _ Action) bool { return true }
func (c *counters) Severity(a Action) int {
	if a.Fault() {
		return 1
	}
	return 0
}

// frequencies draws n executions of m and counts the interleavings.
func frequencies(t *testing.T, m *counters, st Strategy, n int) map[string]int {
	t.Helper()
	learned, _, _ := Pilot(1, m)
	d := newDrawer(m, learned)
	seen := map[string]int{}
	for i := range n {
		d.draw(st, choice.NewRandom(mixed(1, i)))
		seen[fmt.Sprint(d.path)]++
	}
	return seen
}

// TestStrategies: two tasks of three steps have 20 interleavings. Each strategy
// draws all of them but PCT, whose executions of depth 3 switch at most three
// times; URW draws each with the same chance.
func TestStrategies(t *testing.T) {
	m := func() *counters { return &counters{steps: []uint32{3, 3}} }
	const n = 20_000
	for _, tt := range []struct {
		st                Strategy
		interleavings     int
		rarest, commonest int // of n, in percent of an equal share; 0: whatever
	}{
		{URW, 20, 90, 110},
		{RandomWalk, 20, 30, 260},
		{POS, 20, 30, 260},
		{PCT, 2 + 4 + 8, 0, 0}, // those with at most three switches
	} {
		seen := frequencies(t, m(), tt.st, n)
		if len(seen) != tt.interleavings {
			t.Errorf("%s: %d interleavings, want %d", tt.st.Name(), len(seen), tt.interleavings)
		}
		for path, k := range seen {
			if percent := k * 20 * 100 / n; tt.rarest > 0 && (percent < tt.rarest || percent > tt.commonest) {
				t.Errorf("%s: %s was drawn %d times of %d, %d %% of an equal share", tt.st.Name(), path, k, n, percent)
			}
		}
	}
}

// TestPCTFindsDepthTwo: with a chance of at least 1/(n·k), as its paper says, an
// execution in which one task falls behind at one step.
func TestPCTFindsDepthTwo(t *testing.T) {
	m := &counters{steps: []uint32{5, 5, 5}}
	// Task 0 takes two steps, then task 1 all of its, then task 0 goes on.
	m.bad = func(v []uint32) bool { return v[1] == 2 && v[2] == 5 && v[3] == 0 }
	learned, _, _ := Pilot(1, m)
	d := newDrawer(m, learned)
	const n = 20_000
	found := 0
	for i := range n {
		if d.draw(PCT, choice.NewRandom(mixed(1, i))); d.broken != 0 {
			found++
		}
	}
	if least := n / (3 * 3 * 15); found < least { // a third of the executions have depth 2
		t.Errorf("%d of %d, want at least %d", found, n, least)
	}
}

// TestSampleFaults: every number of faults is drawn, at every step.
func TestSampleFaults(t *testing.T) {
	m := &counters{steps: []uint32{3}, faults: 2}
	want := map[string]bool{}
	Naive(context.Background(), Config{}, m, true)
	for path := range frequencies(t, m, RandomWalk, 20_000) {
		want[path] = true
	}
	report := Naive(context.Background(), Config{}, &counters{steps: []uint32{3}, faults: 2}, true)
	if len(want) != report.Executions() {
		t.Errorf("%d different executions were drawn, there are %d", len(want), report.Executions())
	}
}

// TestSampleReport: the same at any number of workers, and it stops at the first
// execution that fails.
func TestSampleReport(t *testing.T) {
	m := func() *counters {
		return &counters{steps: []uint32{4, 4}, bad: func(v []uint32) bool { return v[1] == 4 && v[2] == 0 }}
	}
	var first string
	for _, workers := range []int{1, 2, 7} {
		r := Sample(context.Background(), SampleConfig{
			Strategies: []Strategy{URW, PCT, POS}, Executions: 10_000, Workers: workers, Learned: Learned{Steps: 8},
		}, m())
		text := fmt.Sprintf("%+v", r)
		if first == "" {
			first = text
		}
		if r.Stop != Violation || r.Drawn[0].Failed+r.Drawn[1].Failed+r.Drawn[2].Failed != 1 || text != first {
			t.Errorf("%d workers: %s, want %s", workers, text, first)
		}
	}
}

// TestShrinkNeverSlips: a failing execution shrinks to the smallest that breaks
// the same property, though a smaller one breaks another.
func TestShrinkNeverSlips(t *testing.T) {
	m := &counters{
		steps: []uint32{3, 3}, faults: 1, last: true,
		bad:    func(v []uint32) bool { return v[1] == 3 && v[2] == 1 },
		badEnd: func(v []uint32) bool { return v[0] == 1 },
	}
	start := []Action{1, 0, 0, 1 | FaultBit, 1, 0}
	small, minimal := Shrink(context.Background(), m, start, 1)
	if got := fmt.Sprint(small); got != "[0 0 0 1]" && got != "[1 0 0 0]" || !minimal {
		t.Errorf("%v, minimal %v", small, minimal)
	}
}
