package stats

import (
	"fmt"
	"math"
)

// SequenceAbove is the p value, valid at every n at once, against the claim that the rate
// is at most rate, which lies strictly between 0 and 1. With chance 1-alpha at least it
// never falls to alpha or below while the claim is true, so somebody may look after each
// run and stop when pleased.
//
// It is the reciprocal of a nonnegative martingale with the mean 1, to which J. Ville,
// "Étude critique de la notion de collectif", 1939, gives a chance of 1/x at most of ever
// reaching x. Among the rates of the claim the largest has the least evidence against it.
// The martingale is the mean of two that Sequence makes, with the prior Beta(a, b) and with
// the uniform one: a prior for low rates alone hardly believes a test that always fails.
func SequenceAbove(a, b float64, k, n int, rate float64) float64 {
	checkCounts("SequenceAbove", k, n)
	checkPrior("SequenceAbove", a, b)
	checkTail("SequenceAbove", rate)
	r := rateOf(rate)
	if r.excess(float64(k), float64(n)) <= 0 {
		return 1
	}
	return math.Min(1, math.Exp(-evidence(a, b, k, n, r)))
}

// evidence is the logarithm of the mean of both martingales.
func evidence(a, b float64, k, n int, r rate) float64 {
	x, y := newMixture(a, b, k, n).logE(r), newMixture(1, 1, k, n).logE(r)
	return math.Max(x, y) + math.Log1p(math.Exp(-math.Abs(x-y))) - math.Ln2
}

// SequenceRuns is the smallest number of runs, k of them failed, whose upper end of
// Sequence is at most rate, which lies strictly between 0 and 1. It is an error if more
// than 10^15 runs are needed.
func SequenceRuns(a, b float64, k int, rate, alpha float64) (int, error) {
	checkCounts("SequenceRuns", k, k)
	checkPrior("SequenceRuns", a, b)
	checkTail("SequenceRuns", rate)
	checkTail("SequenceRuns", alpha)
	enough := func(n int) bool {
		_, upper := Sequence(a, b, k, n, alpha)
		return upper <= rate*(1+1e-12)
	}
	low, high := k, k+1 // low runs are too few
	for !enough(high) {
		if low, high = high, 2*high; high > maxRuns {
			return 0, fmt.Errorf("stats: more than %.0e runs are needed", float64(maxRuns))
		}
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

// SequenceCompare compares two samples, k1 failures in n1 runs and k2 in n2, with p values
// that hold at all n1 and n2 at once, in whatever order the runs are made. It is the
// universal inference of L. Wasserman, A. Ramdas and S. Balakrishnan, PNAS 117, 2020: the
// probability of the data under a prior for each rate, the mean of Beta(a, b) and the
// uniform one, against the largest one under the claim to be refuted. That has both rates at (k1+k2)/(n1+n2). It is less
// powerful than Boschloo, which holds at numbers of runs fixed beforehand only.
func SequenceCompare(a, b float64, k1, n1, k2, n2 int) Comparison {
	checkCounts("SequenceCompare", k1, n1)
	checkCounts("SequenceCompare", k2, n2)
	checkPrior("SequenceCompare", a, b)
	c := Comparison{1, 1, 1}
	// k1/n1 against k2/n2 without a rounding error
	first, second := float64(k1)*float64(n2), float64(k2)*float64(n1)
	if n1 == 0 || n2 == 0 || first == second {
		return c
	}
	pooled := rate{float64(k1+k2) / float64(n1+n2), float64(n1+n2-k1-k2) / float64(n1+n2)}
	p := math.Min(1, math.Exp(-evidence(a, b, k1, n1, pooled)-evidence(a, b, k2, n2, pooled)))
	if first > second {
		c.Greater = p
	} else {
		c.Less = p
	}
	c.TwoSided = math.Min(1, 2*p)
	return c
}

// rateOf is a rate given as one number.
func rateOf(p float64) rate { return rate{p, 1 - p} }
