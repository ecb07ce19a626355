package ingest

import (
	"fmt"
	"time"
)

// Format names a report format.
type Format string

// The formats, as they are written in JSON.
const (
	GoTest Format = "gotest" // the event stream of go test -json
	JUnit  Format = "junit"  // JUnit XML in any dialect
	TAP    Format = "tap"    // Test Anything Protocol 13 or 14
	CTRF   Format = "ctrf"   // Common Test Report Format, JSON
)

// Outcome is how one attempt at a test ended.
type Outcome uint8

// The outcomes. Only Pass and Fail are runs.
const (
	Pass Outcome = iota
	Fail
	// Skip is a test that was skipped, disabled or not run, and every TAP point marked TODO.
	Skip
	// Unfinished is a test that started and has no result: its process died, or the stream
	// stopped. It is neither a run nor a failure; what a bound does with it is for the reader
	// to decide.
	Unfinished
)

func (o Outcome) String() string {
	switch o {
	case Pass:
		return "pass"
	case Fail:
		return "fail"
	case Skip:
		return "skip"
	case Unfinished:
		return "unfinished"
	}
	return fmt.Sprintf("Outcome(%d)", uint8(o))
}

// Test identifies a test. Two records with equal Test are about the same test, whatever
// report they come from.
type Test struct {
	Suite string // Go: the package. JUnit: the non-empty names of the enclosing suites, joined by " > ".
	Class string // JUnit: classname. CTRF: filePath. Otherwise empty.
	Name  string
}

// NoDuration is the duration of a record whose report does not state one.
const NoDuration time.Duration = -1

// Record is one attempt at one test.
type Record struct {
	Test    Test
	Outcome Outcome

	// Attempt is 0 for a first attempt and n for the n-th retry of the same run. Retries
	// happen only after a failure, so they must not be mixed with first attempts. The
	// attempts of one run follow each other.
	Attempt int

	// Session indexes Summary.Sessions: the process the attempt ran in, as far as the
	// format tells. A session may turn out to be cached at its end.
	Session int

	// Ordered says that the records of one test in this report come in the order in which
	// the attempts ended. Without it no test for dependence between runs may be made.
	Ordered bool

	// ChildFailed marks the Fail of a parent that had a failing subtest in the same run.
	ChildFailed bool

	// Waiting marks an Unfinished test that waited for its turn (t.Parallel) when the
	// stream stopped, so that it cannot be what kept it from going on.
	Waiting bool

	Duration time.Duration // NoDuration where the report does not say
	Time     time.Time     // when the attempt began (JUnit, CTRF) or ended (Go); zero where the report does not say
	Host     string        // machine, where JUnit has it
	Message  string        // of a failure or an unfinished test; at most MaxMessage bytes of UTF-8
}

// MaxMessage bounds Record.Message, in bytes. What is longer loses its middle (Go) or its
// end (all others).
const MaxMessage = 4096

// Session is one test process of a Go stream. Every other format has one session.
type Session struct {
	Suite string // the Go package

	// Cached says that go took the results from its cache: nothing ran, so the records of
	// this session must not be counted as runs. It is known only when the session has
	// ended, after its records.
	Cached bool

	// MayBeRetry says that the package had failed in an earlier session of the same stream.
	// This session may be the retry of what failed (gotestsum --rerun-fails) or another run
	// (logs written one after the other); the stream does not say which.
	MayBeRetry bool

	// Seed is the seed printed by go test -shuffle, and 0 where tests were not shuffled.
	Seed int64
}

// Reason says why a suite failed without a failing test to explain it.
type Reason string

// The reasons.
const (
	ReasonBuild   Reason = "build"    // the package did not compile
	ReasonSetup   Reason = "setup"    // the package was not found, or its files are inconsistent
	ReasonPanic   Reason = "panic"    // the process panicked or crashed
	ReasonTimeout Reason = "timeout"  // the process ran too long and was ended
	ReasonExit    Reason = "exit"     // the process ended with an error, or before its tests had ended
	ReasonNoEnd   Reason = "no_end"   // the stream stops before the suite has ended
	ReasonBailOut Reason = "bail_out" // a TAP program gave up
)

// SuiteFailure is a suite that failed without a failing test to explain it, or that ended
// while tests were unfinished.
type SuiteFailure struct {
	Suite  string `json:"suite"`
	Reason Reason `json:"reason"`
}

// WarningKind names something a reader of the counts should know.
type WarningKind string

// The kinds of warnings.
const (
	WarnNonEventLines     WarningKind = "non_event_lines"    // lines of a Go stream that are no event
	WarnTruncatedLine     WarningKind = "truncated_line"     // the last line of a Go stream is cut
	WarnUnfinishedTests   WarningKind = "unfinished_tests"   // tests that started and have no result
	WarnCachedResults     WarningKind = "cached_results"     // results that go took from its cache
	WarnBenchmarksIgnored WarningKind = "benchmarks_ignored" // benchmarks are not recorded
	WarnDuplicateTestcase WarningKind = "duplicate_testcase" // one identity twice in one document
	WarnCountMismatch     WarningKind = "count_mismatch"     // a suite's totals disagree with its elements
	WarnMissingClassname  WarningKind = "missing_classname"  // a JUnit testcase without classname
	WarnRetriesPresent    WarningKind = "retries_present"    // tests were run again after a failure
	WarnInvalidCharacters WarningKind = "invalid_characters" // characters XML forbids, or bytes that are not UTF-8
	WarnMultipleRoots     WarningKind = "multiple_roots"     // several documents in one file
	WarnPlanMismatch      WarningKind = "plan_mismatch"      // a TAP plan disagrees with its points
	WarnBailOut           WarningKind = "bail_out"           // a TAP program gave up
)

// Warning is one kind of warning raised by a report.
type Warning struct {
	Kind  WarningKind
	Count int64 // how often; for kinds found only at the end, 1
	Line  int64 // of the first; 0 where it has none
}

// Summary is what a report says as a whole.
type Summary struct {
	Name   string // as given to Read
	Format Format // empty where the content is no report

	// Failed is nil if the report was read to its end. Otherwise nothing of it counts,
	// including the records already handed to the sink.
	Failed *Error

	Sessions      []Session // in order of their start
	SuiteFailures []SuiteFailure
	Warnings      []Warning // sorted by kind; each kind once

	// RepeatsUnclear says that tests occur more than once in the report and that it cannot
	// tell repeats from retries, or from other tests of the same name (gotestsum, jest). The
	// records of such a test are then either all runs, or one run and its retries.
	RepeatsUnclear bool

	Records      int64 // handed to the sink
	IgnoredLines int64 // non-empty lines of a Go stream that are no event, but for a cut last line
}

// Warned reports whether the report raised a warning of this kind.
func (s *Summary) Warned(kind WarningKind) bool {
	for _, w := range s.Warnings {
		if w.Kind == kind {
			return true
		}
	}
	return false
}

// ErrorKind says why a report could not be read.
type ErrorKind string

// The kinds of errors.
const (
	KindDoctype    ErrorKind = "doctype"      // a document type with entities
	KindTruncated  ErrorKind = "truncated"    // the document ends early
	KindNotAReport ErrorKind = "not_a_report" // none of the formats, or not well-formed
	KindEmpty      ErrorKind = "empty"        // no content
	KindEncoding   ErrorKind = "encoding"     // a character encoding this package does not know
)

// Error is a report that could not be read. Nothing of it counts.
type Error struct {
	Name string // of the report
	Line int64  // 1 is the first; 0 where the error is about the whole
	Kind ErrorKind
	Text string // what is wrong, and what was expected
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("ingest: %s: %s", e.Name, e.Text)
	}
	return fmt.Sprintf("ingest: %s:%d: %s", e.Name, e.Line, e.Text)
}
