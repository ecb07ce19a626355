package stats_test

import (
	"fmt"

	"exactlyone/stats"
)

// A test that passed six times may still fail in up to 39.31 % of its runs.
func ExampleUpper() {
	fmt.Println(stats.PercentUp(stats.Upper(0, 6, stats.TailOf(0.95))))
	// Output: 39.31 %
}

// What it takes to certify a rate of 1 %.
func ExampleRunsNeeded() {
	for failures := range 3 {
		n, err := stats.RunsNeeded(0.01, 0.95, failures)
		fmt.Println(failures, n, err)
	}
	// Output:
	// 0 299 <nil>
	// 1 473 <nil>
	// 2 628 <nil>
}

// Somebody who looks after every run pays for it.
func ExampleSequence() {
	a, b := stats.Prior(0.01)
	_, upper := stats.Sequence(a, b, 0, 299, 0.05)
	fmt.Println(stats.PercentUp(stats.Upper(0, 299, 0.05)), stats.PercentUp(upper))
	// Output: 0.997 % 1.46 %
}

// Five failures in a row of 20 runs are no coincidence.
func ExampleRunsTest() {
	fmt.Printf("%.5f\n", stats.RunsTest(5, 15, 2).Few)
	// Output: 0.00013
}
