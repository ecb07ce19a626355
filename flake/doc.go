// Package flake answers: which tests of this suite are flaky, and how sure is that?
//
// A Store keeps what the reports of test runs counted, in one SQLite file that
// several processes may use at once. Store.Ingest adds a report, once however often
// it is given; Store.Merge unites stores; Store.Fix starts the count of a test anew.
// Store.Report ranks the tests by the lower bound on their failure rate.
//
// What a bound assumes is said with it. A store grows while people look at it, so
// the number of runs is in general not fixed beforehand: unless it was planned,
// the bound shown is one that holds at every number of runs at once.
package flake
