package ingest

import (
	"cmp"
	"io"
	"slices"
)

// Counts is what a report holds, counted by the rules of this package. It marshals to the JSON
// of flakestat ingest --dry-run; a field left out is zero.
type Counts struct {
	File          string         `json:"file"`
	Format        Format         `json:"format"`
	Outcome       string         `json:"outcome"` // ok or error
	Error         ErrorKind      `json:"error"`
	Warnings      []WarningKind  `json:"warnings"` // sorted
	Sessions      *int           `json:"sessions,omitempty"`
	IgnoredLines  *int64         `json:"ignored_lines,omitempty"`
	SuiteFailures []SuiteFailure `json:"suite_failures"`
	Tests         []TestCounts   `json:"tests"` // grouped by suite; suites and tests in order of their first record
	Totals        Totals         `json:"totals"`
}

// CountsList is a list of counts with the version of its JSON.
type CountsList struct {
	Schema int      `json:"schema"` // 1
	Cases  []Counts `json:"cases"`
}

// TestCounts is what a report says about one test.
type TestCounts struct {
	Suite         string `json:"suite"`
	Class         string `json:"class,omitempty"`
	Name          string `json:"name"`
	Runs          int64  `json:"runs"`     // first attempts that ended in pass or fail
	Failures      int64  `json:"failures"` // those that failed
	Skips         int64  `json:"skips"`
	Unfinished    int64  `json:"unfinished,omitempty"`
	Cached        int64  `json:"cached,omitempty"`         // results from go's cache, never runs
	ChildFailures int64  `json:"child_failures,omitempty"` // failures with a failing child in the same run
	Retries       int64  `json:"retries,omitempty"`        // later attempts at the same run
	RetryFailures int64  `json:"retry_failures,omitempty"` // those that failed

	// Seconds is the duration of the last element of the test that states one.
	Seconds float64 `json:"seconds,omitempty"`
}

// Totals sums TestCounts over a report.
type Totals struct {
	Tests         int64 `json:"tests"`
	Runs          int64 `json:"runs"`
	Failures      int64 `json:"failures"`
	Skips         int64 `json:"skips"`
	Unfinished    int64 `json:"unfinished"`
	Cached        int64 `json:"cached"`
	ChildFailures int64 `json:"child_failures"`
	Retries       int64 `json:"retries"`
	RetryFailures int64 `json:"retry_failures"`
}

// Count reads a report and counts what it holds. The error is that of Read; the Counts of a
// report that could not be read say so and count nothing.
func Count(r io.Reader, name string) (Counts, error) {
	t := tally{index: map[sessionTest]int{}}
	sum, err := Read(r, name, t.add)
	return t.counts(&sum), err
}

// tally counts records by test and session, since a session may turn out to be cached.
type tally struct {
	index map[sessionTest]int
	tests []sessionCounts
}

type sessionTest struct {
	session int
	test    Test
}

type sessionCounts struct {
	session int
	TestCounts
}

// add is a sink for Read.
func (t *tally) add(r Record) error {
	key := sessionTest{r.Session, r.Test}
	i, known := t.index[key]
	if !known {
		i = len(t.tests)
		t.index[key] = i
		t.tests = append(t.tests, sessionCounts{r.Session, TestCounts{Suite: r.Test.Suite, Class: r.Test.Class, Name: r.Test.Name}})
	}
	t.tests[i].add(r)
	return nil
}

func (c *TestCounts) add(r Record) {
	switch {
	case r.Outcome == Skip:
		c.Skips++
	case r.Outcome == Unfinished:
		c.Unfinished++
	case r.Attempt > 0:
		c.Retries++
		if r.Outcome == Fail {
			c.RetryFailures++
		}
	default:
		c.Runs++
		if r.Outcome == Fail {
			c.Failures++
		}
	}
	if r.ChildFailed {
		c.ChildFailures++
	}
	if r.Duration != NoDuration {
		c.Seconds = r.Duration.Seconds()
	}
}

// counts puts the sessions of each test together.
func (t *tally) counts(sum *Summary) Counts {
	c := Counts{
		File: sum.Name, Format: sum.Format, Outcome: "ok",
		Warnings: []WarningKind{}, SuiteFailures: []SuiteFailure{}, Tests: []TestCounts{},
	}
	if sum.Failed != nil {
		c.Outcome, c.Error = "error", sum.Failed.Kind
		return c
	}
	for _, w := range sum.Warnings {
		c.Warnings = append(c.Warnings, w.Kind)
	}
	c.SuiteFailures = append(c.SuiteFailures, sum.SuiteFailures...)
	suites := map[string]int{}
	if sum.Format == GoTest {
		sessions := len(sum.Sessions)
		c.Sessions, c.IgnoredLines = &sessions, &sum.IgnoredLines
		for _, s := range sum.Sessions {
			rank(suites, s.Suite)
		}
	}
	index := map[Test]int{}
	for _, part := range t.tests {
		test := Test{part.Suite, part.Class, part.Name}
		rank(suites, test.Suite)
		i, known := index[test]
		if !known {
			i = len(c.Tests)
			index[test] = i
			c.Tests = append(c.Tests, TestCounts{Suite: test.Suite, Class: test.Class, Name: test.Name})
		}
		if sum.Sessions[part.session].Cached {
			part.TestCounts = TestCounts{Cached: part.Runs + part.Skips, Seconds: part.Seconds}
		}
		c.Tests[i].merge(&part.TestCounts)
		c.Totals.add(&part.TestCounts)
	}
	c.Totals.Tests = int64(len(c.Tests))
	slices.SortStableFunc(c.Tests, func(a, b TestCounts) int { return cmp.Compare(suites[a.Suite], suites[b.Suite]) })
	return c
}

// rank numbers suites in the order in which they are first met.
func rank(suites map[string]int, suite string) {
	if _, known := suites[suite]; !known {
		suites[suite] = len(suites)
	}
}

// merge adds the counts of a later session.
func (c *TestCounts) merge(o *TestCounts) {
	c.Runs += o.Runs
	c.Failures += o.Failures
	c.Skips += o.Skips
	c.Unfinished += o.Unfinished
	c.Cached += o.Cached
	c.ChildFailures += o.ChildFailures
	c.Retries += o.Retries
	c.RetryFailures += o.RetryFailures
	if o.Seconds != 0 {
		c.Seconds = o.Seconds
	}
}

func (t *Totals) add(c *TestCounts) {
	t.Runs += c.Runs
	t.Failures += c.Failures
	t.Skips += c.Skips
	t.Unfinished += c.Unfinished
	t.Cached += c.Cached
	t.ChildFailures += c.ChildFailures
	t.Retries += c.Retries
	t.RetryFailures += c.RetryFailures
}
