package flake

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"exactlyone/ingest"
	"exactlyone/stats"
)

// report turns counts into numbers.
func (a *analysis) report() *Report {
	r := &Report{
		Schema: 1, Confidence: a.config.Confidence, PriorRate: a.priorRate, Target: a.config.Target,
		Runs: []RunInfo{}, Tests: []Test{}, Suites: []Suite{}, Whole: []Test{},
		SuiteFailure: append([]SuiteFailure{}, a.suites...), Warnings: append([]WarningCount{}, a.warnings...),
	}
	for i := range a.runs {
		x := &a.runs[i]
		r.Runs = append(r.Runs, RunInfo{x.name, x.runID, x.revision, x.labels, stamp(x.time), x.how, x.planned, x.failed || x.suiteFailed})
	}
	b := &bounder{alpha: stats.TailOf(a.config.Confidence), known: map[counts]Reading{}, knownSplit: map[[2]counts]Reading{}}
	b.priorA, b.priorB = stats.Prior(a.priorRate)
	for _, t := range a.order {
		r.Tests = append(r.Tests, a.test(t, b))
	}
	adjust(r.Tests)
	warnRepeats(r.Tests)
	a.addPairs(r.Tests)
	slices.SortStableFunc(r.Tests, func(x, y Test) int {
		return cmp.Or(cmp.Compare(x.silent(), y.silent()), cmp.Compare(y.Lower, x.Lower), cmp.Compare(y.Rate, x.Rate), cmp.Compare(y.Upper, x.Upper),
			compareTests(x.Identity, y.Identity))
	})
	a.addWholes(r, b)
	r.Suites = a.suiteChances(r.Tests, b)
	r.Assumes = a.assumes(r)
	return r
}

// test computes what is said of one test.
func (a *analysis) test(t *tally, b *bounder) Test {
	x := Test{
		Identity: t.test, Display: t.test.String(),
		Runs: t.asRuns.runs, Failures: t.asRuns.failures,
		Skips: t.skips, Unfinished: t.unfinished, Cached: t.cached,
		Retries: t.retries, RetryFailures: t.retryFailures, ChildFailures: t.childFailures,
		Collateral: t.collateral, FixedSince: t.mark.revision, cells: t.cells,
	}
	if x.Runs > 0 {
		x.Rate = float64(x.Failures) / float64(x.Runs)
	}
	x.Readings = []Reading{b.reading(t.asRuns, t.unfinished)}
	if t.unclear {
		x.Readings = append(x.Readings, b.reading(t.asRetries, t.unfinished))
	}
	if t.planned > 0 {
		x.PlannedRuns = t.planned
		x.Planned = !t.unclear && !a.config.Filter.chooses() && x.Runs+x.Unfinished == t.planned
	}
	lower, upper := 1.0, 0.0
	for _, reading := range x.Readings {
		shown := reading.Anytime
		if x.Planned {
			shown = reading.Fixed
		}
		lower, upper = min(lower, shown.Lower), max(upper, shown.Upper)
	}
	x.Bounds = bounds(lower, upper)
	x.Verdict = verdict(x)
	if a.config.Target > 0 && x.silent() == 0 {
		x.OnRate = onTarget(x, a.config.Target)
	}
	x.Dependence = t.dependence()
	if !t.unclear && !t.unordered {
		x.Repeats = t.repeats.result(b)
	}
	x.id = t.id
	x.Before = t.compare()
	x.Messages = a.masked(t)
	return x
}

// silent is 1 for a test that tells nothing, which is ranked last.
func (t *Test) silent() int {
	if t.Runs+t.Unfinished == 0 {
		return 1
	}
	return 0
}

func verdict(t Test) Verdict {
	switch {
	case t.Runs == 0:
		return NoRuns
	case t.Failures == 0:
		return Passing
	case t.Failures == t.Runs:
		return Failing
	}
	return Flaky
}

func onTarget(t Test, target float64) Verdict {
	switch {
	case t.Lower > target:
		return TooFlaky
	case within(t.Upper, target):
		return Certified
	}
	return Undecided
}

// within says whether an upper bound is at most the target. A tie is one also after
// rounding errors: the planned number of runs must do.
func within(upper, target float64) bool { return upper <= target*(1+1e-12) }

// dependence tests whether failures come in clusters or alternate.
func (t *tally) dependence() Dependence {
	k, n := t.asRuns.failures, t.asRuns.runs
	switch {
	case t.unclear:
		return Dependence{Why: "repeats cannot be told from retries"}
	case t.unordered:
		return Dependence{Why: "the reports do not keep the order of runs"}
	case k == 0 || k == n:
		return Dependence{Why: "all runs ended alike"}
	}
	p := stats.RunsTest(k, n-k, t.streaks)
	d := Dependence{Tested: true, Streaks: t.streaks, P: p.Doubled}
	switch {
	case p.Few < p.Many && t.streaks == 2 && t.last == ingest.Fail:
		d.Warning = fmt.Sprintf("it fails from run %d on, every time: something changed then", n-k+1)
	case p.Few < p.Many && t.streaks == 2:
		d.Warning = fmt.Sprintf("it failed in the first %s and never since: something changed then", times(k, "run"))
	case p.Few < p.Many:
		d.Warning = "failures come in clusters"
	default:
		d.Warning = "failures alternate with passes"
	}
	return d
}

// maxBoschloo is how many runs Boschloo's test is asked for; above it takes longer than
// it is worth.
const maxBoschloo = 2000

// compare sets the runs since a fix against those before.
func (t *tally) compare() *Before {
	before, since := t.before, t.asRuns
	if t.mark.revision == "" || before.runs == 0 || since.runs == 0 {
		return nil
	}
	b := &Before{Runs: before.runs, Failures: before.failures, Test: "Fisher"}
	b.P = stats.Fisher(before.failures, before.runs, since.failures, since.runs).Greater
	if before.runs+since.runs <= maxBoschloo {
		if p, err := stats.Boschloo(before.failures, before.runs, since.failures, since.runs); err == nil {
			b.P, b.Test = p.Greater, "Boschloo"
		}
	}
	return b
}

// adjust keeps the warnings that stand after correction for the number of tests.
func adjust(tests []Test) {
	var p []float64
	var at []int
	for i, t := range tests {
		if t.Dependence.Tested {
			p, at = append(p, t.Dependence.P), append(at, i)
		}
	}
	for i, x := range stats.Holm(p) {
		d := &tests[at[i]].Dependence
		if d.Adjusted = x; x > falseAlarm {
			d.Warning = ""
		}
	}
}

// addPairs adds what was found about pairs of tests.
func (a *analysis) addPairs(list []Test) {
	together := a.together()
	for i := range list {
		list[i].Order, list[i].Together = a.orders[list[i].id], together[list[i].id]
	}
}

// masked are the distinct messages, the most frequent first.
func (a *analysis) masked(t *tally) []Message {
	byText := map[string]int{}
	for id, n := range t.messages {
		byText[Mask(a.messages[id])] += n
	}
	var list []Message
	for _, text := range slices.Sorted(maps.Keys(byText)) {
		list = append(list, Message{text, byText[text]})
	}
	slices.SortStableFunc(list, func(x, y Message) int { return cmp.Compare(y.Count, x.Count) })
	return list
}

// bounder computes bounds, each pair of counts once.
type bounder struct {
	alpha, priorA, priorB float64
	known                 map[counts]Reading
	knownSplit            map[[2]counts]Reading
}

// reading bounds a rate; unfinished runs count as passed below and as failed above.
func (b *bounder) reading(c counts, unfinished int) Reading {
	low, high := counts{c.runs + unfinished, c.failures}, counts{c.runs + unfinished, c.failures + unfinished}
	key := [2]counts{low, high}
	r, ok := b.knownSplit[key]
	if !ok {
		l, h := b.at(low), b.at(high)
		r.Fixed = bounds(l.Fixed.Lower, h.Fixed.Upper)
		r.Anytime = bounds(l.Anytime.Lower, h.Anytime.Upper)
		b.knownSplit[key] = r
	}
	r.Runs, r.Failures = c.runs, c.failures
	return r
}

func (b *bounder) at(c counts) Reading {
	r, ok := b.known[c]
	if !ok {
		lower, upper := stats.Sequence(b.priorA, b.priorB, c.failures, c.runs, b.alpha)
		r = Reading{
			Fixed:   Bounds{Lower: stats.Lower(c.failures, c.runs, b.alpha), Upper: stats.Upper(c.failures, c.runs, b.alpha)},
			Anytime: Bounds{Lower: lower, Upper: upper},
		}
		b.known[c] = r
	}
	return r
}

// suiteChances says for each set of labels how often a run of all tests fails.
func (a *analysis) suiteChances(tests []Test, b *bounder) []Suite {
	byLabels := map[string]*Suite{}
	get := func(labels string) *Suite {
		if byLabels[labels] == nil {
			byLabels[labels] = &Suite{Labels: labels}
		}
		return byLabels[labels]
	}
	unsure := map[string]int{} // runs that count as failed above and as passed below
	for i := range a.runs {
		if !a.runs[i].ran && !a.runs[i].suiteFailed {
			continue
		}
		s := get(a.runs[i].labels)
		s.Runs++
		switch {
		case a.runs[i].failed || a.runs[i].suiteFailed:
			s.Failed++
		case a.runs[i].unsure:
			unsure[s.Labels]++
		}
	}
	logPass := map[string][]float64{} // ln of the chance that all pass, by retries
	for _, t := range tests {
		if t.Runs == 0 {
			continue
		}
		s := get(t.Labels)
		s.Tests++
		s.RetriesSeen += t.Retries
		s.RetryFailures += t.RetryFailures
		if logPass[t.Labels] == nil {
			logPass[t.Labels] = make([]float64, a.config.Retries+1)
		}
		own := float64(t.Failures-t.ChildFailures) / float64(t.Runs)
		for r := range logPass[t.Labels] {
			logPass[t.Labels][r] += math.Log1p(-math.Pow(own, float64(r+1)))
		}
	}
	var list []Suite
	for _, labels := range slices.Sorted(maps.Keys(byLabels)) {
		s := byLabels[labels]
		low, high := b.at(counts{s.Runs, s.Failed}), b.at(counts{s.Runs, s.Failed + unsure[labels]})
		s.Observed = bounds(low.Anytime.Lower, high.Anytime.Upper)
		for r, x := range logPass[labels] {
			chance := -math.Expm1(x)
			if r == 0 {
				s.Chance = chance
				continue
			}
			s.Retries = append(s.Retries, Hidden{r, chance, max(0, s.Chance-chance)})
		}
		list = append(list, *s)
	}
	return list
}

// assumes lists what the numbers rest on.
func (a *analysis) assumes(r *Report) []string {
	list := []string{"the runs of a test are independent and alike: a warning says where they are seen not to be"}
	planned, unplanned, unclear, unfinished := 0, 0, 0, 0
	for _, t := range r.Tests {
		if t.Planned {
			planned++
		} else if t.Runs > 0 {
			unplanned++
		}
		if len(t.Readings) > 1 {
			unclear++
		}
		if t.Unfinished > 0 {
			unfinished++
		}
	}
	if planned > 0 {
		list = append(list, fmt.Sprintf("%s: n was fixed beforehand and is reached, bounds are Clopper-Pearson, one-sided", tests(planned)))
	}
	if unplanned > 0 {
		list = append(list, fmt.Sprintf("%s: n was not fixed beforehand, bounds hold at every n at once (confidence sequence, prior Beta(1, %.6g), fixed when the store was made)", tests(unplanned), 1/r.PriorRate))
	}
	if a.config.Filter.chooses() {
		list = append(list, "a filter by revision or time chose the runs: bounds hold if it was not chosen for how they ended, and no n counts as fixed beforehand")
	}
	if unclear > 0 {
		list = append(list, fmt.Sprintf("%s: a report cannot tell repeats from retries, bounds are the worse of both readings", tests(unclear)))
	}
	if unfinished > 0 {
		list = append(list, fmt.Sprintf("%s: unfinished runs count as failed in the upper bound and as passed in the lower one", tests(unfinished)))
	}
	return append(list, "each bound holds by itself with the confidence stated, not all of them at once")
}

func tests(n int) string {
	if n == 1 {
		return "1 test"
	}
	return fmt.Sprintf("%d tests", n)
}
