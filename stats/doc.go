// Package stats answers: this test passed n times, how often can it still fail?
//
// Its functions are exact in the statistical sense (no normal approximation) and
// are tested against values computed with 60 digits. Upper and Lower bound the
// rate of a test from k failures in n runs, n fixed beforehand; Sequence does so
// for somebody who looks after every run and stops when pleased. RunsNeeded plans.
// Fisher and Boschloo compare two samples, RunsTest looks for runs that depend on
// one another, Holm and BenjaminiHochberg correct for many tests at once.
//
// A bound is asked for by its tail probability alpha, the chance that the bound
// is wrong; alpha is 0.05 for a confidence of 95 %. TailOf makes the one from the
// other without the rounding error of 1 - 0.999999.
//
// Rates and probabilities run from 0 to 1. Arguments outside their range are
// mistakes of the caller and panic.
//
// The quantiles are our own: mathext.InvRegIncBeta of gonum v0.17.0 misses the
// tolerance of 1e-12 in 71 of the 336 rows of testdata/clopper_pearson.csv, and
// is wrong by a factor of 130 in one of them (7 failures in 100,000 runs at
// 99.9999 %).
package stats

import "fmt"

// maxRuns is the largest number of runs that the functions take.
const maxRuns = 1e15

// same is the relative difference below which two probabilities of discrete
// outcomes count as equal. Rounding errors are a thousand times smaller.
const same = 1e-10

func checkCounts(name string, k, n int) {
	if k < 0 || n < k || n > maxRuns {
		panic(fmt.Sprintf("stats: %s: %d failures in %d runs", name, k, n))
	}
}

func checkTail(name string, alpha float64) {
	if !(alpha > 0 && alpha < 1) {
		panic(fmt.Sprintf("stats: %s: tail probability %v, between 0 and 1 was expected", name, alpha))
	}
}

func checkRate(name string, p float64) {
	if !(p >= 0 && p <= 1) {
		panic(fmt.Sprintf("stats: %s: rate %v, 0 to 1 was expected", name, p))
	}
}
