package exactlyone

import (
	"testing"

	"exactlyone/choice"
)

// TestExecute: answers 0 are one client after the other without a fault, and at
// random the broken writers break.
func TestExecute(t *testing.T) {
	for _, writer := range []string{"key_atomic", "key_split", "key_atomic_nofence", "naive"} {
		sys := builtin(t, writer, "")
		story, broken, err := Execute(sys, Bounds{}, &choice.Replay{})
		if err != nil || (broken != 0) != (writer == "naive") || story.Faults != 0 || story.Switches != 1 {
			t.Errorf("%s, plainest: property %d broken, %d faults, %d switches, %v", writer, broken, story.Faults, story.Switches, err)
		}
		found := 0
		for seed := range uint64(300) {
			story, broken, err := Execute(sys, Bounds{}, choice.NewRandom(seed))
			if err != nil {
				t.Fatal(err)
			}
			if (broken > 0) != (story.Property != "") {
				t.Errorf("%s: property %d broken, the story says %q", writer, broken, story.Property)
			}
			if broken > 0 {
				found++
			}
		}
		if (found > 0) != (writer != "key_atomic") {
			t.Errorf("%s: %d of 300 random executions fail", writer, found)
		}
	}
}

// givesUp is a source that answers so many questions, and panics at the next.
type givesUp struct{ left int }

func (s *givesUp) Choose(int, string) int {
	if s.left--; s.left < 0 {
		panic("enough")
	}
	return 0
}

// TestExecuteEndsWithItsSource: a source may give up by a panic, as that of a
// shrinker does; the panic goes on to the caller.
func TestExecuteEndsWithItsSource(t *testing.T) {
	for n := range 10 {
		func() {
			defer func() {
				if r := recover(); r != "enough" {
					t.Errorf("after %d answers: %v", n, r)
				}
			}()
			_, _, _ = Execute(builtin(t, "key_atomic", ""), Bounds{}, &givesUp{n})
		}()
	}
}

// BenchmarkExecute is executions drawn at random, each run for real, twice.
func BenchmarkExecute(b *testing.B) {
	sys := builtin(b, "key_atomic", "")
	steps := 0
	for i := 0; b.Loop(); i++ {
		story, _, err := Execute(sys, Bounds{}, choice.NewRandom(uint64(i)))
		if err != nil {
			b.Fatal(err)
		}
		steps += len(story.Steps)
	}
	b.ReportMetric(float64(steps)/float64(b.N), "steps")
}
