package flake

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"exactlyone/ingest"
	"exactlyone/stats"
)

// Order says that a test fails depending on whether another one ran before it in the same
// process: a victim fails after it, a brittle test without it (A. Shi et al., "iFixFlakies:
// A Framework for Automatically Fixing Order-Dependent Flaky Tests", ESEC/FSE 2019).
type Order struct {
	Other          Identity `json:"other"`
	Kind           string   `json:"kind"` // victim or brittle
	AfterRuns      int      `json:"after_runs"`
	AfterFailures  int      `json:"after_failures"` // with the other before it
	WithoutRuns    int      `json:"without_runs"`
	WithoutFailure int      `json:"without_failures"`
	P              float64  `json:"p"`          // Fisher's exact test, two-sided
	Adjusted       float64  `json:"p_adjusted"` // by Holm, over all pairs of a flaky test and another
	Warning        string   `json:"warning"`
}

// Together says that a test fails in the same runs as another one.
type Together struct {
	Other    Identity `json:"other"`
	Runs     int      `json:"runs"` // in which both ran
	Failures int      `json:"failures"`
	Others   int      `json:"others_failures"`
	Both     int      `json:"both"`
	P        float64  `json:"p"`          // Fisher's exact test, one-sided
	Adjusted float64  `json:"p_adjusted"` // by Holm, over all pairs of flaky tests
	Warning  string   `json:"warning"`
}

// maxPaired is how many flaky tests are compared with others, those with the most
// failures: the work grows with the product.
const maxPaired = 200

// paired are the tests to compare: those that failed and passed.
func (a *analysis) paired() []*tally {
	var list []*tally
	for _, t := range a.order {
		if k := t.asRuns.failures; k > 0 && k < t.asRuns.runs && !t.unclear {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(x, y *tally) int {
		return cmp.Or(cmp.Compare(y.asRuns.failures, x.asRuns.failures), compareTests(x.test, y.test))
	})
	return list[:min(len(list), maxPaired)]
}

// sequence is the order of tests within the processes of a run, as far as it is told.
type sequence struct {
	hash   []uint64 // by session
	first  uint64   // of the first run
	runs   int
	varied bool // not all runs have the same order
}

// note takes the next first attempt of a run.
func (q *sequence) note(r record) {
	if r.attempt > 0 {
		return
	}
	for len(q.hash) <= int(r.session) {
		q.hash = append(q.hash, 14695981039346656037)
	}
	h := &q.hash[r.session]
	*h = (*h ^ uint64(r.test)) * 1099511628211 // FNV-1a, by words
}

func (q *sequence) endRun(from *run) {
	sum := uint64(0)
	for _, h := range q.hash {
		sum += h
	}
	q.hash = q.hash[:0]
	if !from.inOrder() {
		return
	}
	if q.runs == 0 {
		q.first = sum
	}
	q.varied = q.varied || sum != q.first
	q.runs++
}

// inOrder says whether a report has its tests in the order in which they ran.
func (r *run) inOrder() bool {
	return r.format == string(ingest.GoTest) || r.format == string(ingest.TAP)
}

// pair counts how one test fared with and without another before it.
type pair struct{ after, without counts }

// pairs counts all others for one test.
type pairs struct {
	*tally
	with map[int64]*pair // by the other; all runs in which the other was not before are in total
	all  counts
}

// loadOrders reads the runs once more, for the tests that failed in some of them.
func (a *analysis) loadOrders(ctx context.Context, s *Store, st *sql.Stmt, tests map[int64]Identity) error {
	flaky := map[int64]*pairs{}
	for _, t := range a.paired() {
		flaky[t.id] = &pairs{tally: t, with: map[int64]*pair{}}
	}
	if !a.sequence.varied || len(flaky) == 0 {
		return nil
	}
	for i := range a.runs {
		from := &a.runs[i]
		if !from.inOrder() {
			continue
		}
		seen := map[int32][]int64{} // by session: tests in the order of their first run
		known := map[[2]int64]bool{}
		err := s.records(ctx, st, from.id, func(r record) {
			key := [2]int64{int64(r.session), r.test}
			if known[key] || r.attempt > 0 || ingest.Outcome(r.outcome) == ingest.Skip || from.cached(r.session) {
				return
			}
			known[key] = true
			if f := flaky[r.test]; f != nil {
				f.add(from, r, seen[r.session])
			}
			seen[r.session] = append(seen[r.session], r.test)
		})
		if err != nil {
			return err
		}
	}
	a.orders = orders(flaky, tests)
	return nil
}

func (r *run) cached(session int32) bool {
	return int(session) < len(r.sessions) && r.sessions[session].cached
}

// add counts a run of the test, before which others ran.
func (f *pairs) add(from *run, r record, before []int64) {
	outcome := ingest.Outcome(r.outcome)
	if outcome != ingest.Pass && outcome != ingest.Fail || f.mark.revision != "" && !f.mark.takes(from) {
		return
	}
	one := counts{1, 0}
	if outcome == ingest.Fail {
		one.failures = 1
	}
	f.all.add(one)
	for _, other := range before {
		x := f.with[other]
		if x == nil {
			x = new(pair)
			f.with[other] = x
		}
		x.after.add(one)
	}
}

// orders finds for each test the one on whose place it depends the most.
func orders(flaky map[int64]*pairs, tests map[int64]Identity) map[int64]*Order {
	var all []*Order
	var of []int64
	var p []float64
	for id, f := range flaky {
		for other, x := range f.with {
			x.without = counts{f.all.runs - x.after.runs, f.all.failures - x.after.failures}
			if x.without.runs == 0 || tests[other].below(tests[id]) {
				continue
			}
			o := &Order{
				Other: tests[other], Kind: "victim",
				AfterRuns: x.after.runs, AfterFailures: x.after.failures, WithoutRuns: x.without.runs, WithoutFailure: x.without.failures,
				P: stats.Fisher(x.after.failures, x.after.runs, x.without.failures, x.without.runs).TwoSided,
			}
			if o.AfterFailures*o.WithoutRuns < o.WithoutFailure*o.AfterRuns {
				o.Kind = "brittle"
			}
			all, of, p = append(all, o), append(of, id), append(p, o.P)
		}
	}
	best := map[int64]*Order{}
	for i, adjusted := range stats.Holm(p) {
		o := all[i]
		o.Adjusted = adjusted
		if was := best[of[i]]; adjusted <= falseAlarm && (was == nil || o.before(was)) {
			best[of[i]] = o
		}
	}
	for _, o := range best {
		o.Warning = fmt.Sprintf("order-dependent: it failed in %d of %s in which %s had run before it in the same process, and in %d of %d others (Fisher's exact test, p = %.2g, %.2g over all pairs). The bounds hold for orders drawn as these were, not for any one of them",
			o.AfterFailures, times(o.AfterRuns, "run"), o.Other, o.WithoutFailure, o.WithoutRuns, o.P, o.Adjusted)
	}
	return best
}

func (o *Order) before(other *Order) bool {
	return cmp.Or(cmp.Compare(o.P, other.P), compareTests(o.Other, other.Other)) < 0
}

// together finds for each test the one with which it fails in the same runs.
func (a *analysis) together() map[int64]*Together {
	list := a.paired()
	type both struct{ x, y, n, failX, failY, failBoth int }
	var all []both
	var p []float64
	for i, x := range list {
		for j, y := range list[:i] {
			if x.test.below(y.test) || y.test.below(x.test) {
				continue
			}
			c := both{x: i, y: j}
			for r := range min(len(x.cells), len(y.cells)) {
				fx, ranX := x.cells[r].fate()
				fy, ranY := y.cells[r].fate()
				if !ranX || !ranY {
					continue
				}
				c.n++
				if fx {
					c.failX++
				}
				if fy {
					c.failY++
				}
				if fx && fy {
					c.failBoth++
				}
			}
			chance := 1.0
			if c.failBoth > 1 {
				chance = stats.Fisher(c.failBoth, c.failY, c.failX-c.failBoth, c.n-c.failY).Greater
			}
			all, p = append(all, c), append(p, chance)
		}
	}
	best := map[int64]*Together{}
	keep := func(t, other *tally, n, k, others, both int, p, adjusted float64) {
		o := &Together{Other: other.test, Runs: n, Failures: k, Others: others, Both: both, P: p, Adjusted: adjusted}
		if was := best[t.id]; was == nil || cmp.Or(cmp.Compare(p, was.P), compareTests(o.Other, was.Other)) < 0 {
			best[t.id] = o
		}
	}
	for i, adjusted := range stats.Holm(p) {
		if c := all[i]; adjusted <= falseAlarm {
			keep(list[c.x], list[c.y], c.n, c.failX, c.failY, c.failBoth, p[i], adjusted)
			keep(list[c.y], list[c.x], c.n, c.failY, c.failX, c.failBoth, p[i], adjusted)
		}
	}
	for _, o := range best {
		o.Warning = fmt.Sprintf("fails together with %s: in %d of its %s, though that one failed in %d of %d (Fisher's exact test, p = %.2g, %.2g over all pairs). Each bound holds by itself; the chance that the whole run fails is less than the product says",
			o.Other, o.Both, times(o.Failures, "failing run"), o.Others, o.Runs, o.P, o.Adjusted)
	}
	return best
}

// fate says whether a test failed in a run, and whether it ran.
func (c cell) fate() (failing, ran bool) {
	return c == failed || c == retried, c == passed || c == failed || c == retried
}
