package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"exactlyone/interleave"
)

// TestRandomSearchFindsAndShrinks: every way to draw executions finds what is
// wrong with each broken writer, and the story that is left is the smallest.
func TestRandomSearchFindsAndShrinks(t *testing.T) {
	for _, writer := range []string{"naive", "key_split", "key_atomic_nofence"} {
		sys := builtin(t, writer, "")
		want := mustRun(t, sys, Bounds{}, Options{}).Story
		for _, search := range slices.Sorted(maps.Keys(searches)) {
			for seed := range uint64(5) {
				r := mustRun(t, sys, Bounds{}, Options{Search: search, Seed: seed})
				if r.Verdict != Violated {
					t.Errorf("%s, %s, seed %d: %s %s", writer, search, seed, r.Verdict, r.Why)
					continue
				}
				got := r.Story
				if got.Faults != want.Faults || got.Switches != want.Switches || len(got.Steps) != len(want.Steps) || !got.Minimal {
					t.Errorf("%s, %s, seed %d: %d faults, %d switches, %d steps, minimal %v; want %d, %d, %d", writer, search, seed,
						got.Faults, got.Switches, len(got.Steps), got.Minimal, want.Faults, want.Switches, len(want.Steps))
				}
			}
		}
	}
}

// TestShrinkW: from 30 random failing executions of w the known minimum is
// reached.
func TestShrinkW(t *testing.T) {
	sys := wSystem("key_atomic_nofence")
	b := wBounds(3, 2, 2, 2)
	reached := 0
	for seed := range uint64(30) {
		r := mustRun(t, sys, b, Options{Search: "walk", Seed: seed})
		if r.Verdict != Violated {
			t.Errorf("seed %d: %s", seed, r.Verdict)
			continue
		}
		if len(r.Story.Steps) == 11 && r.Story.Minimal {
			reached++
		}
	}
	if reached < 28 {
		t.Errorf("the minimum was reached from %d of 30", reached)
	}
}

// TestRandomSearchIsTheSame: at any number of workers.
func TestRandomSearchIsTheSame(t *testing.T) {
	for _, writer := range []string{"key_atomic", "key_atomic_nofence"} {
		var first string
		for _, workers := range []int{1, 2, 5} {
			r := mustRun(t, builtin(t, writer, ""), Bounds{}, Options{Search: "random", Workers: workers, Executions: 5000, Seed: 7})
			got := fmt.Sprintf("%s %s %+v %v", r.Verdict, r.Why, r.Random, r.Exercised)
			if r.Story != nil {
				got += fmt.Sprint(r.Story.Steps)
			}
			if first == "" {
				first = got
			} else if got != first {
				t.Errorf("%s with %d workers:\n%s\nwith 1:\n%s", writer, workers, got, first)
			}
		}
	}
}

// BenchmarkShrink is how long it takes to shrink a failing execution of w.
func BenchmarkShrink(b *testing.B) {
	sys := wSystem("key_atomic_nofence")
	bounds, err := wBounds(3, 2, 2, 2).withDefaults()
	if err != nil {
		b.Fatal(err)
	}
	tab, err := newTables(&sys, bounds)
	if err != nil {
		b.Fatal(err)
	}
	w := newWorld(tab, reductions{symmetry: true, clients: true})
	w.last = true
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		var path []interleave.Action
		var broken uint32
		for seed := uint64(i); broken == 0; seed += 1000 {
			_, broken, path = interleave.Pilot(seed, w)
		}
		b.StartTimer()
		interleave.Shrink(b.Context(), w, path, broken)
	}
}

// TestShrinkTrace: the story of any failing execution, as it was drawn, shrinks
// to the smallest one.
func TestShrinkTrace(t *testing.T) {
	sys := builtin(t, "key_atomic_nofence", "")
	want := mustRun(t, sys, Bounds{}, Options{}).Story
	b, err := Bounds{}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	tab, err := newTables(&sys, b)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(tab, reductions{})
	w.last = true
	for seed := range uint64(3) {
		_, broken, path := interleave.Pilot(seed, w)
		if broken == 0 {
			continue
		}
		p := newPerformance(w)
		p.follow(path)
		p.end()
		long := p.trace(&Trace{})
		small, err := Shrink(t.Context(), sys, long)
		if err != nil || !small.Minimal || len(small.Steps) != len(want.Steps) || small.Property != long.Property {
			t.Errorf("seed %d, from %d steps: %+v, %v; want %d steps", seed, len(long.Steps), small, err, len(want.Steps))
		}
	}
}

// TestRapidNeedsADriver, and cannot be kept in a file.
func TestRapidNeedsADriver(t *testing.T) {
	drive := func(context.Context, Drive) (string, error) { t.Error("it was driven"); return "", nil }
	for want, o := range map[string]Options{
		"rapidsource.Driver":          {Search: "rapid"},
		"it cannot be kept in a file": {Search: "rapid", Driver: drive, Checkpoint: &Checkpoint{File: "f"}},
	} {
		if _, err := Run(t.Context(), builtin(t, "naive", ""), Bounds{}, o); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
