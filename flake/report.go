package flake

import (
	"context"
	"fmt"
	"time"

	"exactlyone/stats"
)

// Config says what a report computes. The zero value works.
type Config struct {
	Filter     Filter
	Confidence float64               // of each bound, one-sided; 0 means 0.95
	Target     float64               // rate that tests must not exceed; 0 means none
	Retries    int                   // up to how many retries to say what they would hide; 0 means 3
	Progress   func(done, total int) // called now and then with the runs read; may be nil

	ignoreFixes bool // count all runs, also those before a fix
}

// Report is what the runs of a store say. Its JSON is versioned by Schema.
type Report struct {
	Schema       int            `json:"schema"` // 1
	Confidence   float64        `json:"confidence"`
	PriorRate    float64        `json:"prior_rate"`
	Target       float64        `json:"target,omitempty"`
	Runs         []RunInfo      `json:"runs"`
	Tests        []Test         `json:"tests"` // by lower bound, the highest first
	Suites       []Suite        `json:"suites"`
	Whole        []Test         `json:"whole"` // suites and commands that failed as a whole, each counted as a test
	SuiteFailure []SuiteFailure `json:"suite_failures"`
	Warnings     []WarningCount `json:"warnings"`
	Assumes      []string       `json:"assumes"`

	soundWholes []Subject // those that never failed
}

// RunInfo is one run that the report counts.
type RunInfo struct {
	Name     string `json:"name"`
	RunID    string `json:"run_id,omitempty"`
	Revision string `json:"revision,omitempty"`
	Labels   string `json:"labels,omitempty"`
	Time     string `json:"time"` // RFC 3339, UTC
	How      How    `json:"gathered"`
	Planned  int    `json:"planned,omitempty"`
	Failed   bool   `json:"failed"` // a first attempt or a suite failed
}

// Verdict is what can be said of a test.
type Verdict string

// The verdicts.
const (
	Flaky   Verdict = "flaky"   // it failed and it passed
	Failing Verdict = "failing" // it never passed
	Passing Verdict = "passing" // it never failed, which says as much as the upper bound
	NoRuns  Verdict = "no runs" // skipped, unfinished or cached only

	TooFlaky  Verdict = "too flaky" // the lower bound is above the target
	Certified Verdict = "certified" // the upper bound is at most the target
	Undecided Verdict = "undecided" // too few runs to tell
)

// Bounds are one-sided bounds on a rate, unrounded and as displayed: the upper one
// rounded up, the lower one down.
type Bounds struct {
	Lower      float64 `json:"lower"`
	Upper      float64 `json:"upper"`
	LowerShown string  `json:"lower_shown"`
	UpperShown string  `json:"upper_shown"`
}

// Reading is one way to read the counts.
type Reading struct {
	Runs     int    `json:"runs"`
	Failures int    `json:"failures"`
	Fixed    Bounds `json:"fixed_n"` // Clopper-Pearson: if n was fixed beforehand
	Anytime  Bounds `json:"anytime"` // confidence sequence: at every n at once
}

// Test is what the runs say of one test.
type Test struct {
	Identity
	Whole   bool    `json:"whole,omitempty"` // no test but a suite or a command
	Display string  `json:"display"`         // the identity as shown, and as "fixed" takes it
	Verdict Verdict `json:"verdict"`
	OnRate  Verdict `json:"on_target,omitempty"` // too flaky, certified or undecided; empty if it never ran

	Runs     int     `json:"runs"`     // first attempts that ended in pass or fail
	Failures int     `json:"failures"` // of them
	Rate     float64 `json:"rate"`     // failures / runs, 0 without runs
	Bounds           // those shown: fixed n if planned, else anytime; the worse reading

	Planned     bool `json:"planned"` // n was fixed beforehand and is reached
	PlannedRuns int  `json:"planned_runs,omitempty"`

	// Readings are two where a report cannot tell repeats from retries: all attempts
	// as runs, and as one run with its retries.
	Readings []Reading `json:"readings"`

	Skips         int `json:"skips,omitempty"`
	Unfinished    int `json:"unfinished,omitempty"` // failed in the upper bound, passed in the lower
	Cached        int `json:"cached,omitempty"`
	Retries       int `json:"retries,omitempty"`
	RetryFailures int `json:"retry_failures,omitempty"`
	ChildFailures int `json:"child_failures,omitempty"` // failures with a failing subtest

	Dependence Dependence `json:"dependence"`
	Collateral Collateral `json:"collateral"`
	Repeats    *Repeats   `json:"repeats,omitempty"`        // within a process, if there are any
	Order      *Order     `json:"order,omitempty"`          // if it depends on that
	Together   *Together  `json:"fails_together,omitempty"` // if it does
	Messages   []Message  `json:"messages,omitempty"`
	FixedSince string     `json:"fixed_since,omitempty"` // revision from which the count starts
	Before     *Before    `json:"before,omitempty"`      // the fix, if the test ran then

	id    int64  // in the store
	cells []cell // by run of the report
}

// Dependence says whether runs of a test depend on one another.
type Dependence struct {
	Tested   bool    `json:"tested"`
	Why      string  `json:"why,omitempty"` // it was not
	Streaks  int     `json:"streaks,omitempty"`
	P        float64 `json:"p,omitempty"`          // runs test, exact, two-sided
	Adjusted float64 `json:"p_adjusted,omitempty"` // by Holm, over all tests of the report
	Warning  string  `json:"warning,omitempty"`    // clusters or alternates
}

// DependenceWarnings say in what way the runs of the test are not independent, and what
// that does to the bounds.
func (t *Test) DependenceWarnings() []string {
	var list []string
	if t.Repeats != nil && t.Repeats.Warning != "" {
		list = append(list, t.Repeats.Warning)
	}
	if t.Order != nil {
		list = append(list, t.Order.Warning)
	}
	if t.Together != nil {
		list = append(list, t.Together.Warning)
	}
	if t.Dependence.Warning != "" {
		list = append(list, dependent(t.Dependence))
	}
	return list
}

// Collateral says what else failed in the runs in which the test did. A parent that
// failed because of a subtest counts for nobody.
type Collateral struct {
	Runs  int     `json:"runs"`  // in which it failed
	Alone int     `json:"alone"` // of them, in which nothing else did
	Mean  float64 `json:"mean_others"`
	Most  int     `json:"most_others"`
}

// Before compares the runs before a fix with those since.
type Before struct {
	Runs     int `json:"runs"`
	Failures int `json:"failures"`
	// P is the chance to see so large a fall of the rate, or a larger one, if nothing
	// changed: one-sided, by Boschloo's test or, where there are many runs, by Fisher's.
	P    float64 `json:"p"`
	Test string  `json:"test"`
}

// Message is a masked failure message.
type Message struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// SuiteFailure counts failures of a suite that no failing test explains.
type SuiteFailure struct {
	Suite  string `json:"suite"`
	Reason string `json:"reason"`
	Runs   int    `json:"runs"`
}

// WarningCount counts the reports that raised a warning.
type WarningCount struct {
	Kind    string `json:"kind"`
	Reports int    `json:"reports"`
}

// Suite is the chance that a run of all tests with the same labels fails.
type Suite struct {
	Labels   string  `json:"labels,omitempty"`
	Runs     int     `json:"runs"`
	Failed   int     `json:"failed"` // with a failing first attempt or a failed suite
	Observed Bounds  `json:"observed"`
	Tests    int     `json:"tests"` // that ran
	Chance   float64 `json:"chance"`

	// Retries says what r retries of each failing test would leave. Everything here but
	// Observed assumes that tests fail independently and that a retry fails as often as
	// a first attempt.
	Retries       []Hidden `json:"retries"`
	RetriesSeen   int      `json:"retries_seen"` // how retries really ended
	RetryFailures int      `json:"retry_failures"`
}

// Hidden is what r retries would hide.
type Hidden struct {
	Retries int     `json:"retries"`
	Chance  float64 `json:"chance"` // that the suite still fails
	Hidden  float64 `json:"hidden"` // that it would have failed without retries
}

// Report computes what the runs chosen by the configuration say.
func (s *Store) Report(ctx context.Context, c Config) (*Report, error) {
	if c.Confidence == 0 {
		c.Confidence = 0.95
	}
	if c.Retries == 0 {
		c.Retries = 3
	}
	if !(c.Confidence > 0 && c.Confidence < 1) || !(c.Target >= 0 && c.Target < 1) {
		return nil, fmt.Errorf("flake: confidence %v, target %v: numbers between 0 and 1 were expected", c.Confidence, c.Target)
	}
	a := newAnalysis(c, s.priorRate)
	if err := a.load(ctx, s); err != nil {
		return nil, fmt.Errorf("flake: reading %s: %w", s.path, plain(err))
	}
	return a.report(), nil
}

// bounds writes both ends.
func bounds(lower, upper float64) Bounds {
	return Bounds{lower, upper, stats.PercentDown(lower), stats.PercentUp(upper)}
}

func stamp(micros int64) string { return time.UnixMicro(micros).UTC().Format(time.RFC3339) }
