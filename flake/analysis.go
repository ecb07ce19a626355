package flake

import (
	"context"
	"database/sql"

	"exactlyone/ingest"
)

// cell is what a test did in one run.
type cell uint8

const (
	absent   cell = iota
	passed        // all first attempts
	retried       // a first attempt failed and a retry passed
	failed        // a first attempt failed
	noResult      // skipped, unfinished or cached only
)

// counts are runs and failures.
type counts struct{ runs, failures int }

// tally is what is counted of one test.
type tally struct {
	id   int64
	test Identity
	mark mark

	asRuns, asRetries counts // the two readings; equal unless unclear
	unclear           bool
	before            counts // the mark
	skips, unfinished int
	cached            int
	retries           int
	retryFailures     int
	childFailures     int

	streaks    int // of equal outcomes
	last       ingest.Outcome
	unordered  bool
	ranAt      int64 // time of the last run
	campaign   int64 // of the runs, see plan
	planned    int   // runs; 0: no run yet; -1: not all were planned, or not alike
	collateral Collateral
	messages   map[int64]int
	cells      []cell
	repeats    repeats

	now inRun
}

// inRun is what a test did in the run being read.
type inRun struct {
	run                    int // index + 1
	first                  counts
	passes, fails          int // of first attempts
	retryPassed            bool
	unordered, childFailed bool
	maybe                  counts // attempts in sessions that may be retries
	seen                   bool   // any attempt that counts
	unfinished             bool
}

// analysis reads the store once and counts.
type analysis struct {
	config    Config
	priorRate float64
	runs      []run // that count
	tallies   map[int64]*tally
	order     []*tally // in order of the first record
	messages  map[int64]string
	touched   []*tally // in the run being read
	suites    []SuiteFailure
	warnings  []WarningCount
	sequence  sequence
	orders    map[int64]*Order // by test
	wholes    wholes
}

func newAnalysis(c Config, priorRate float64) *analysis {
	return &analysis{config: c, priorRate: priorRate, tallies: map[int64]*tally{}, messages: map[int64]string{}}
}

// load reads everything in one transaction, so that a run being stored meanwhile is
// seen whole or not at all.
func (a *analysis) load(ctx context.Context, s *Store) (err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	all, err := s.loadRuns(ctx, tx, a.config.Filter)
	if err != nil {
		return err
	}
	tests, err := loadTests(ctx, tx)
	if err != nil {
		return err
	}
	marks, err := loadFixes(ctx, tx)
	if err != nil {
		return err
	}
	if a.config.ignoreFixes {
		marks = nil
	}
	for _, r := range all {
		if r.counts {
			a.runs = append(a.runs, r)
		}
	}
	st, err := tx.PrepareContext(ctx, recordsQuery)
	if err != nil {
		return err
	}
	read := 0
	for i := range a.runs {
		err := s.records(ctx, st, a.runs[i].id, func(r record) {
			a.add(i, r, tests, marks)
			if read++; read%10_000 == 0 && a.config.Progress != nil {
				a.config.Progress(i, len(a.runs))
			}
		})
		if err != nil {
			return err
		}
		a.endRun(i)
	}
	if err := a.loadOrders(ctx, s, st, tests); err != nil {
		return err
	}
	if err := loadMessages(ctx, tx, a.messages); err != nil {
		return err
	}
	return a.loadSuites(ctx, tx)
}

// tally finds what is counted of a test; nil if the filter leaves it out.
func (a *analysis) tally(id int64, tests map[int64]Identity, marks map[int64]mark) *tally {
	t, known := a.tallies[id]
	if known {
		return t
	}
	test := tests[id]
	if a.config.Filter.Match == nil || a.config.Filter.Match(test) {
		t = &tally{id: id, test: test, mark: marks[id]}
		a.order = append(a.order, t)
	}
	a.tallies[id] = t
	return t
}

// add counts one attempt of run i.
func (a *analysis) add(i int, r record, tests map[int64]Identity, marks map[int64]mark) {
	a.sequence.note(r)
	t := a.tally(r.test, tests, marks)
	from := &a.runs[i]
	var in session
	if int(r.session) < len(from.sessions) {
		in = from.sessions[r.session]
	}
	if !in.cached {
		a.wholes.note(i, r, tests[r.test].Suite)
	}
	if t == nil {
		return
	}
	if t.mark.revision != "" && !t.mark.takes(from) {
		t.addBefore(from, r)
		return
	}
	if t.now.run != i+1 {
		t.now = inRun{run: i + 1}
		a.touched = append(a.touched, t)
	}
	now := &t.now
	outcome := ingest.Outcome(r.outcome)
	switch {
	case in.cached:
		t.cached++
		return
	case outcome == ingest.Skip:
		t.skips++
		return
	}
	now.seen = true
	if outcome == ingest.Fail || outcome == ingest.Unfinished {
		if r.message != 0 {
			if t.messages == nil {
				t.messages = map[int64]int{}
			}
			t.messages[r.message]++
			a.messages[r.message] = ""
		}
	}
	switch {
	case outcome == ingest.Unfinished:
		t.unfinished++
		now.unfinished = true
	case r.attempt > 0:
		t.retries++
		if outcome == ingest.Fail {
			t.retryFailures++
		} else {
			now.retryPassed = true
		}
	default:
		t.firstAttempt(outcome, r, in.mayBeRetry)
	}
}

// addBefore counts an attempt from before the test was marked as fixed.
func (t *tally) addBefore(from *run, r record) {
	cached := int(r.session) < len(from.sessions) && from.sessions[r.session].cached
	switch outcome := ingest.Outcome(r.outcome); {
	case cached || r.attempt > 0:
	case outcome == ingest.Fail:
		t.before.add(counts{1, 1})
	case outcome == ingest.Pass:
		t.before.add(counts{1, 0})
	}
}

func (t *tally) firstAttempt(outcome ingest.Outcome, r record, mayBeRetry bool) {
	now := &t.now
	if mayBeRetry && now.fails > 0 {
		now.maybe.runs++
		if outcome == ingest.Fail {
			now.maybe.failures++
		}
	}
	if r.ordered {
		t.repeats.add(now.run, int(r.session), outcome == ingest.Fail)
	}
	now.first.runs++
	now.unordered = now.unordered || !r.ordered
	if outcome == ingest.Fail {
		now.first.failures++
		now.fails++
		if r.child {
			t.childFailures++
			now.childFailed = true
		}
	} else {
		now.passes++
	}
	if t.streaks == 0 || t.last != outcome {
		t.streaks++
	}
	t.last = outcome
}

// endRun closes run i: what its tests did, and what failed together.
func (a *analysis) endRun(i int) {
	from := &a.runs[i]
	failing := 0 // tests that failed for a reason of their own
	for _, t := range a.touched {
		t.endRun(from, len(a.runs))
		from.ran = from.ran || t.now.seen
		from.unsure = from.unsure || t.now.unfinished
		if t.now.fails > 0 {
			from.failed = true
			if !t.now.childFailed {
				failing++
			}
		}
	}
	for _, t := range a.touched {
		if t.now.fails > 0 {
			t.addCollateral(failing, a.touched)
		}
	}
	a.touched = a.touched[:0]
	a.sequence.endRun(from)
}

// endRun adds what the test did in a run to what it did before.
func (t *tally) endRun(from *run, runs int) {
	now := &t.now
	if t.cells == nil {
		t.cells = make([]cell, runs)
	}
	at := &t.cells[now.run-1]
	switch {
	case now.fails > 0 && (now.retryPassed || now.passes > 0 && from.unclear):
		*at = retried
	case now.fails > 0:
		*at = failed
	case now.passes > 0:
		*at = passed
	default:
		*at = noResult
	}
	if !now.seen {
		return
	}
	t.plan(from)
	t.asRuns.add(now.first)
	second := now.first
	switch {
	case from.unclear && now.first.runs > 1 && now.fails > 0:
		second = counts{1, 1} // the first attempt failed, or there would be no other
		t.unclear = true
	case now.maybe.runs > 0:
		second = counts{now.first.runs - now.maybe.runs, now.first.failures - now.maybe.failures}
		t.unclear = true
	}
	t.asRetries.add(second)
	if now.unordered && now.first.runs > 1 || t.ranAt == from.time {
		t.unordered = true // of two runs of one time nobody knows which came first
	}
	t.ranAt = from.time
}

// plan notes what was planned for the test, if that holds for all its runs. One campaign
// may end early because of how its runs ended, so two together have no fixed n; nor has
// one whose processes run a test more than once.
func (t *tally) plan(from *run) {
	switch {
	case from.how != Planned, t.planned != 0 && (t.planned != from.planned || t.campaign != from.campaign),
		from.campaign != 0 && t.now.first.runs > 1:
		t.planned = -1
	case t.planned == 0:
		t.planned, t.campaign = from.planned, from.campaign
	}
}

func (c *counts) add(other counts) { c.runs += other.runs; c.failures += other.failures }

// addCollateral notes how many other tests failed in the run.
func (t *tally) addCollateral(failing int, touched []*tally) {
	others := failing
	if t.now.childFailed {
		for _, o := range touched {
			if o.now.fails > 0 && !o.now.childFailed && o.test.below(t.test) {
				others-- // the subtest is why the test failed
			}
		}
	} else {
		others--
	}
	c := &t.collateral
	c.Mean = (c.Mean*float64(c.Runs) + float64(others)) / float64(c.Runs+1)
	c.Runs++
	c.Most = max(c.Most, others)
	if others == 0 {
		c.Alone++
	}
}

// loadSuites counts failed suites and warnings of the runs that count.
func (a *analysis) loadSuites(ctx context.Context, tx *sql.Tx) error {
	byID := map[int64]int{}
	for i := range a.runs {
		byID[a.runs[i].id] = i
	}
	suites := map[[2]string]int{}
	err := loadCounted(ctx, tx, `SELECT run, suite, reason, 1 FROM suite_failure ORDER BY suite, reason, run`, func(id int64, suite, reason string, _ int) {
		i, counts := byID[id]
		if !counts {
			return
		}
		a.wholes.fail(suite, i)
		if a.config.Filter.Match != nil { // it says nothing of the tests chosen
			return
		}
		a.runs[i].suiteFailed = true
		key := [2]string{suite, reason}
		at, known := suites[key]
		if !known {
			at = len(a.suites)
			suites[key] = at
			a.suites = append(a.suites, SuiteFailure{Suite: suite, Reason: reason})
		}
		a.suites[at].Runs++
	})
	if err != nil {
		return err
	}
	return loadCounted(ctx, tx, `SELECT run, kind, '', count FROM warning ORDER BY kind, run`, func(id int64, kind, _ string, _ int) {
		if _, counts := byID[id]; !counts {
			return
		}
		if n := len(a.warnings); n == 0 || a.warnings[n-1].Kind != kind {
			a.warnings = append(a.warnings, WarningCount{Kind: kind})
		}
		a.warnings[len(a.warnings)-1].Reports++
	})
}
