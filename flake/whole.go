package flake

import (
	"cmp"
	"fmt"
	"slices"

	"exactlyone/ingest"
)

// wholes notes, while runs are read, which suites each of them ran.
type wholes struct {
	seen   []int             // by test: index + 1 of the latest run that noted its suite
	ran    map[string][]int  // by suite: indices of runs, in their order
	bad    map[wholeRun]bool // a test explains the failure of its suite
	failed map[wholeRun]bool // nothing does
}

// wholeRun is a suite in one run, by index.
type wholeRun struct {
	suite string
	run   int
}

// note notes that an attempt at a test was made in run i.
func (w *wholes) note(i int, r record, suite string) {
	if o := ingest.Outcome(r.outcome); o == ingest.Fail || o == ingest.Unfinished {
		if w.bad == nil {
			w.bad = map[wholeRun]bool{}
		}
		w.bad[wholeRun{suite, i}] = true
	}
	if n := int(r.test) + 1 - len(w.seen); n > 0 {
		w.seen = append(w.seen, make([]int, n)...)
	}
	if w.seen[r.test] == i+1 {
		return
	}
	w.seen[r.test] = i + 1
	if w.ran == nil {
		w.ran = map[string][]int{}
	}
	list := w.ran[suite]
	if n := len(list); n == 0 || list[n-1] != i {
		w.ran[suite] = append(list, i)
	}
}

// fail notes that a suite failed in run i. It failed as a whole if none of its tests did.
func (w *wholes) fail(suite string, i int) {
	if at := (wholeRun{suite, i}); !w.bad[at] {
		if w.failed == nil {
			w.failed = map[wholeRun]bool{}
		}
		w.failed[at] = true
	}
}

// wholeTallies counts the runs of each suite and of each command as one test: it fails where
// something failed for a reason that no failing test explains. A command runs in each run of
// its campaigns, and a suite where one of its tests does or where it fails itself.
func (a *analysis) wholeTallies() (list []*tally) {
	runs := map[Identity][]int{}
	add := func(suite string, i int) {
		id := Identity{Suite: suite, Name: suite, Labels: a.runs[i].labels}
		runs[id] = append(runs[id], i)
	}
	for suite, in := range a.wholes.ran {
		for _, i := range in {
			add(suite, i)
		}
	}
	for at := range a.wholes.failed {
		add(at.suite, at.run)
	}
	for i := range a.runs {
		if command := a.runs[i].command; command != "" {
			add(command, i)
		}
	}
	for id, in := range runs {
		if f := a.config.Filter.Match; f != nil && !f(Subject{id, true}.shown()) {
			continue
		}
		slices.Sort(in)
		t := a.wholeTally(id, slices.Compact(in))
		if id.Suite != "" || t.asRuns.failures > 0 { // tests without a suite are none together
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(x, y *tally) int { return compareTests(x.test, y.test) })
	return list
}

// wholeTally counts one suite in the runs in which it ran.
func (a *analysis) wholeTally(id Identity, in []int) *tally {
	t := &tally{test: id}
	for _, i := range in {
		outcome := ingest.Pass
		if a.wholes.failed[wholeRun{id.Suite, i}] {
			outcome = ingest.Fail
		}
		t.now = inRun{run: i + 1, seen: true}
		t.firstAttempt(outcome, record{ordered: true}, false)
		t.endRun(&a.runs[i], len(a.runs))
		if a.runs[i].campaign == 0 {
			t.planned = -1 // a plan for an imported report is about its tests
		}
	}
	return t
}

// addWholes puts the suites that failed as a whole into the report, and counts the others.
func (a *analysis) addWholes(r *Report, b *bounder) {
	for _, t := range a.wholeTallies() {
		if t.asRuns.failures == 0 {
			r.soundWholes = append(r.soundWholes, Subject{t.test, true})
			continue
		}
		x := a.test(t, b)
		x.Whole, x.Display = true, Subject{t.test, true}.String()
		r.Whole = append(r.Whole, x)
	}
	slices.SortStableFunc(r.Whole, func(x, y Test) int { return cmp.Compare(y.Lower, x.Lower) })
}

// wholeNames are the names of suites and commands, for a quarantine.
func (r *Report) wholeNames() (list []Identity) {
	for _, t := range r.Whole {
		list = append(list, Subject{t.Identity, true}.shown())
	}
	for _, s := range r.soundWholes {
		list = append(list, s.shown())
	}
	return list
}

// onWholes says what a list of tests has beside tests.
func onWholes(n int) string {
	return fmt.Sprintf("%s as a whole: counted as failed where no failing test explains why", suites(n))
}

// suites counts suites and commands.
func suites(n int) string {
	if n == 1 {
		return "1 suite or command"
	}
	return fmt.Sprintf("%d suites or commands", n)
}

// missing counts the runs that a test lacks because its suite, or a command that also ran
// it, failed as a whole.
func (a *analysis) missing(t *tally) (n int) {
	if len(a.wholes.failed) == 0 {
		return 0
	}
	of := map[int64]bool{} // campaigns that ran it
	for i, c := range t.cells {
		if c != absent && a.runs[i].campaign != 0 {
			of[a.runs[i].campaign] = true
		}
	}
	for i, c := range t.cells {
		r := &a.runs[i]
		if c == absent && r.labels == t.test.Labels &&
			(a.wholes.failed[wholeRun{t.test.Suite, i}] || of[r.campaign] && a.wholes.failed[wholeRun{r.command, i}]) {
			n++
		}
	}
	return n
}
