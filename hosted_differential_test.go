package exactlyone

import (
	"context"
	"testing"
)

// TestHostsAgree: random programs break the same property, with the same faults and
// steps, whether they run as coroutines or in a bubble.
func TestHostsAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("searches many programs twice; -short")
	}
	verdicts := map[Verdict]int{}
	for seed := range uint64(60) {
		p := newProgram(seed, 2)
		p.bounds.Skews = 0 // package time has one clock
		p.opaque = false
		if p.remembers { // takes too long: histories of a whole node are run from the start
			continue
		}
		var told [2]*Result
		for i := range told {
			sys := *p.system()
			if i == 1 {
				start := sys.Start
				sys.Start = func(env *Env) Server { return Goroutines(start(env)) }
			}
			r, err := Run(context.Background(), sys, named(p.bounds), Options{Memory: 8 << 20, Executions: 1})
			if err != nil {
				t.Fatalf("host %d: %v\n%s", i, err, p)
			}
			told[i] = r
			t.Log(seed, i, r.States, r.Steps, r.Verdict)
		}
		a, b := told[0], told[1]
		verdicts[a.Verdict]++
		if a.Verdict == Inconclusive || b.Verdict == Inconclusive {
			continue // too large
		}
		if a.Verdict != b.Verdict {
			t.Fatalf("%s as coroutines, %s in a bubble\n%s\n%s\n%s", a.Verdict, b.Verdict, p, a.Why, b.Why)
		}
		if a.Verdict == Violated && (a.Story.Property != b.Story.Property || a.Faults != b.Faults || len(a.Story.Steps) != len(b.Story.Steps)) {
			t.Errorf("%s, %d faults, %d steps as coroutines; %s, %d, %d in a bubble\n%s", a.Story.Property, a.Faults, len(a.Story.Steps), b.Story.Property, b.Faults, len(b.Story.Steps), p)
		}
	}
	t.Log(verdicts)
}

// named is bounds as they were resolved, so that what is 0 stays so.
func named(b Bounds) Bounds {
	for _, l := range b.Limits() {
		if *l.N == 0 && l.Least == 0 {
			*l.N = None
		}
	}
	b.Rounds = max(b.Rounds, 1)
	return b
}
