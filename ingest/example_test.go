package ingest_test

import (
	"fmt"
	"strings"

	"exactlyone/ingest"
)

// A test that failed and passed when it was run again is one run, which failed, and a retry.
func ExampleRead() {
	const report = `<testsuite name="depot" tests="2">
  <testcase classname="depot.Gate" name="opens" time="0.25"/>
  <testcase classname="depot.Gate" name="closes"><flakyFailure message="jammed"/></testcase>
</testsuite>`
	sum, err := ingest.Read(strings.NewReader(report), "gate.xml", func(r ingest.Record) error {
		fmt.Printf("%s, attempt %d: %s %q\n", r.Test.Name, r.Attempt, r.Outcome, r.Message)
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, w := range sum.Warnings {
		fmt.Println("warning:", w.Kind)
	}
	// Output:
	// opens, attempt 0: pass ""
	// closes, attempt 0: fail "jammed"
	// closes, attempt 1: pass ""
	// warning: retries_present
}

func ExampleCount() {
	c, err := ingest.Count(strings.NewReader("1..2\nok 1 - opens\nnot ok 2 - closes\n"), "gate.tap")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %d runs, %d failures\n", c.Format, c.Totals.Runs, c.Totals.Failures)
	// Output: tap: 2 runs, 1 failures
}
