// Package ingest asks: which tests ran in this report, and how did each attempt end?
//
// It reads the output of go test -json, JUnit XML in the dialects of Surefire, gotestsum, jest,
// PHPUnit, nextest, pytest, CTest and Google Test, TAP 13 and 14, and CTRF. [Read] tells the
// format by the content and hands out one [Record] for each attempt while it reads, in bounded
// memory; [Find] and [Open] get at the files. [Count] counts the records of one report.
//
// # What identifies a test
//
// Suite, class and name, see [Test]. In Go the suite is the package. In JUnit it is the chain
// of the enclosing testsuite names that are not empty, joined by " > "; the class is classname,
// or the attribute class where that is missing. A suffix @stress-N of a suite or a class is a
// repetition index of nextest and no part of the identity; the name is never changed. In TAP
// the name is the chain of subtest descriptions, joined by " > ", without number, leading dash
// and directive; a point without description is named "#" and its number. In CTRF the suite is
// the chain of suites and the class is filePath, as the report has them.
//
// # What is counted
//
//   - A run is a first attempt that passed or failed. Several failure or error elements in one
//     JUnit testcase are one failure.
//   - A retry is a later attempt at the same run. Retries happen only after a failure, so they
//     are kept apart ([Record].Attempt). With m flakyFailure or flakyError elements there were m
//     retries, of which the last passed, also where a failure of the type "flaky failure" stands
//     beside them; with any other failure beside them, the last failed as well. rerunFailure
//     and rerunError are failed attempts after the first. CTRF numbers attempts; one that it
//     does not list has failed.
//   - gotestsum and jest mark no retries. Their repeated testcases are runs, and
//     [Summary].RepeatsUnclear says that they may be retries instead. Where the order of
//     repetitions is not known, as in all JUnit files but those of nextest stress runs,
//     [Record].Ordered is false.
//   - Skipped, disabled and not run are skips, and so is every TAP point marked TODO, whether it
//     passed or failed.
//   - A test that began and has no result is unfinished: neither a run nor a failure. So is a
//     CTRF test with the status "other".
//   - Results that go took from its cache are no runs ([Session].Cached).
//   - The failure of a Go or TAP parent with a failing child in the same run is marked
//     ([Record].ChildFailed), since it says nothing about the parent itself.
//   - Benchmarks are no tests.
//   - A suite that failed without a failing test to explain it, or that ended while tests were
//     unfinished, is a [SuiteFailure].
//
// # What is refused
//
// A report that is damaged or no report gives an [Error], and nothing of it counts. A stream of
// Go events or of TAP may stop anywhere: what it holds counts, and its end is told by a suite
// failure with the reason no_end. XML that declares entities is refused; nothing is ever
// expanded or opened. Characters that XML forbids become U+FFFD and raise a warning. Text is
// UTF-8, UTF-16, or what an XML declaration names of ISO-8859-1, ISO-8859-15 and Windows-1252.
//
// A line of a Go stream is read as far as its first 256 KiB, which is enough for its result; a
// failure message is kept as far as [MaxMessage].
package ingest
