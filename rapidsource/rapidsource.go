// Package rapidsource answers: how do generated payloads, plans of operations and
// schedules shrink together? It lets rapid (pgregory.net/rapid) draw the schedule
// and the faults of an execution.
//
// In a property, draw whatever the system is made of, then call [Check]:
//
//	rapid.Check(t, func(t *rapid.T) {
//		title := rapid.String().Draw(t, "title")
//		rapidsource.Check(t, newSystem(title), exactlyone.Bounds{})
//	})
//
// rapid shrinks all of it and writes its fail file, which the next run of the
// test tries first. [Driver] lets rapid draw what [exactlyone.Run] searches.
package rapidsource

import (
	"context"
	"fmt"
	"strings"

	"pgregory.net/rapid"

	"exactlyone"
	"exactlyone/choice"
	"exactlyone/internal/rapidrun"
)

// Source draws answers from rapid. Answer 0 is what rapid shrinks to.
type Source struct{ T *rapid.T }

var _ choice.Source = Source{}

// Choose draws from 0 to n-1. rapid draws small numbers more often.
func (s Source) Choose(n int, label string) int {
	return int(rapid.UintRange(0, uint(n-1)).Draw(s.T, label))
}

// Check fails the case unless an execution of the system within the bounds, drawn
// from t, keeps its properties. The code runs for real, twice: if it goes another
// way the second time, the case fails as not deterministic. rapid then most likely
// calls the test flaky, for it runs the code again, too.
//
// A case that passes is one execution that ended well, no more; -rapid.checks says
// how many there are. [exactlyone.Check] tries all of them for one payload.
func Check(t *rapid.T, sys exactlyone.System, b exactlyone.Bounds) {
	t.Helper()
	if sys.Name == "" {
		sys.Name = t.Name()
	}
	story, broken, err := exactlyone.Execute(sys, b, Source{t})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if broken > 0 {
		var text strings.Builder
		_ = story.WriteText(&text, exactlyone.TextOptions{})
		t.Logf("%s", text.String())
		fail(t, broken, fmt.Sprintf("%s breaks %s: %s", sys.Name, story.Property, story.Message))
	}
}

// fail fails by a chain of calls that tells n. rapid takes two failures for the
// same if they come from the same lines, so it never shrinks the story of one
// property into that of another.
func fail(t *rapid.T, n int, text string) {
	t.Helper()
	switch {
	case n == 0:
		t.Fatalf("%s", text)
	case n%2 == 0:
		fail(t, n/2, text)
	default:
		fail(t, n/2, text)
	}
}

// Driver lets rapid draw the executions of a search, and shrink what fails. With
// save it writes a fail file, testdata/rapid/NAME/NAME-SEED.fail after the name
// of the system, and first tries those that are there. No other check of rapid's
// may run in the process meanwhile: how rapid runs is set by flags.
func Driver(save bool) exactlyone.Driver {
	return func(_ context.Context, d exactlyone.Drive) (string, error) {
		c := rapidrun.Config{Name: d.Name, Checks: d.Executions, Seed: d.Seed, Save: save}
		r, err := rapidrun.Check(c, func(t *rapid.T, drawn bool) {
			if broken := d.Execute(Source{t}, drawn); broken > 0 {
				fail(t, broken, "a property is broken")
			}
		})
		return r.File, err
	}
}
