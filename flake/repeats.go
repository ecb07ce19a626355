package flake

import (
	"fmt"
	"math"

	"exactlyone/stats"
)

// Repeats compares the first run of a test in a process, which is fresh then, with those
// that the process made after it (go test -count).
type Repeats struct {
	Processes       int    `json:"processes"` // that ran the test more than once
	FreshRuns       int    `json:"fresh_runs"`
	FreshFailures   int    `json:"fresh_failures"`
	LaterRuns       int    `json:"later_runs"`
	LaterFailures   int    `json:"later_failures"`
	Fresh           Bounds `json:"fresh"` // on the rate in fresh processes, at every n
	FailedProcesses int    `json:"failed_processes"`

	P        float64 `json:"p"`          // Fisher's exact test of fresh against later runs, two-sided
	Adjusted float64 `json:"p_adjusted"` // by Holm, over all tests with repeats

	// From and To are the first failing repeat of a process, counted from 1, if it never
	// passed again after that in any process: the least and the most of all processes.
	// LeakP is the chance that all failures come last if their order is by chance.
	From         int     `json:"fails_from,omitempty"`
	To           int     `json:"fails_from_at_most,omitempty"`
	LeakP        float64 `json:"leak_p,omitempty"`
	LeakAdjusted float64 `json:"leak_p_adjusted,omitempty"`

	Warning string `json:"warning,omitempty"`
}

// repeats is what is counted of the repeats of one test.
type repeats struct {
	run, session int // of the process being read; run is index + 1
	inProcess    counts
	from         int // its first failure
	recovered    bool

	processes, failed int
	fresh, later      counts
	least, most       int
	anyRecovered      bool
	logP              float64
}

// add takes the next outcome of a process.
func (p *repeats) add(run, session int, failed bool) {
	if p.run != run || p.session != session {
		p.endProcess()
		p.run, p.session = run, session
	}
	one := counts{1, 0}
	if failed {
		one.failures = 1
	}
	if p.inProcess.runs == 0 {
		p.fresh.add(one)
	} else {
		p.later.add(one)
	}
	p.inProcess.add(one)
	switch {
	case failed && p.from == 0:
		p.from = p.inProcess.runs
	case !failed && p.from > 0:
		p.recovered = true
	}
}

func (p *repeats) endProcess() {
	k, n := p.inProcess.failures, p.inProcess.runs
	if n > 1 {
		p.processes++
	}
	if k > 0 {
		p.failed++
		p.anyRecovered = p.anyRecovered || p.recovered
		if p.least == 0 || p.from < p.least {
			p.least = p.from
		}
		p.most = max(p.most, p.from)
		p.logP -= logChoose(n, k)
	}
	p.inProcess, p.from, p.recovered = counts{}, 0, false
}

func logChoose(n, k int) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// result is nil for a test without repeats, or of unknown order.
func (p *repeats) result(b *bounder) *Repeats {
	p.endProcess()
	if p.processes == 0 || p.fresh.failures+p.later.failures == 0 {
		return nil
	}
	r := &Repeats{
		Processes: p.processes, FailedProcesses: p.failed,
		FreshRuns: p.fresh.runs, FreshFailures: p.fresh.failures, LaterRuns: p.later.runs, LaterFailures: p.later.failures,
		P: stats.Fisher(p.fresh.failures, p.fresh.runs, p.later.failures, p.later.runs).TwoSided, LeakP: 1,
	}
	x := b.at(p.fresh).Anytime
	r.Fresh = bounds(x.Lower, x.Upper)
	if !p.anyRecovered && p.least > 1 {
		r.From, r.To, r.LeakP = p.least, p.most, math.Exp(p.logP)
	}
	return r
}

// warnRepeats keeps what stands after correction for the number of tests.
func warnRepeats(list []Test) {
	var p, leak []float64
	var at []*Repeats
	for i := range list {
		if r := list[i].Repeats; r != nil {
			p, leak, at = append(p, r.P), append(leak, r.LeakP), append(at, r)
		}
	}
	p, leak = stats.Holm(p), stats.Holm(leak)
	for i, r := range at {
		r.Adjusted, r.LeakAdjusted = p[i], leak[i]
		fresh := fmt.Sprintf("only a fresh process is a run like the others, and of those %d of %d failed: at least %s, at most %s",
			r.FreshFailures, r.FreshRuns, r.Fresh.LowerShown, r.Fresh.UpperShown)
		switch {
		case r.LeakAdjusted <= falseAlarm:
			from := fmt.Sprintf("run %d", r.From)
			if r.To > r.From {
				from = fmt.Sprintf("run %d to %d", r.From, r.To)
			}
			r.Warning = fmt.Sprintf("a leak: it fails from %s of a process on, every time, in %d of %s (p = %.2g, %.2g over all tests). The bounds above count repeats as independent runs, which they are not: %s",
				from, r.FailedProcesses, processes(r.Processes), r.LeakP, r.LeakAdjusted, fresh)
		case r.Adjusted <= falseAlarm:
			r.Warning = fmt.Sprintf("repeats within a process are unlike fresh processes: %d of %d failed against %d of %d (Fisher's exact test, p = %.2g, %.2g over all tests). The bounds above mix both: %s",
				r.LaterFailures, r.LaterRuns, r.FreshFailures, r.FreshRuns, r.P, r.Adjusted, fresh)
		}
	}
}

// falseAlarm is the chance that a report warns of even one test that has nothing, for
// each kind of warning by itself.
const falseAlarm = 0.05

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
