package stats

import (
	"fmt"
	"math"
)

// Power is the chance that Fisher's one-sided test at level alpha finds the
// difference between a first sample of n1 runs that fail with chance high and a
// second of n2 that fail with chance low. It is exact: the sum over all pairs of
// samples.
func Power(high float64, n1 int, low float64, n2 int, alpha float64) float64 {
	checkRate("Power", high)
	checkRate("Power", low)
	checkTail("Power", alpha)
	checkCounts("Power", 0, n1)
	checkCounts("Power", 0, n2)
	first, second := masses(high, n1), masses(low, n2)
	above := make([]float64, len(first.p)+1) // chance of first.from+i failures or more
	for i := len(first.p) - 1; i >= 0; i-- {
		above[i] = above[i+1] + first.p[i]
	}
	var power float64
	need := 0 // failures of the first sample, less first.from, that the test asks for
	for j, p := range second.p {
		k2 := second.from + j
		for need < len(first.p) && fisherGreater(first.from+need, n1, k2, n2) > alpha*(1+same) {
			need++ // it never gets less as k2 grows
		}
		power += p * above[need]
	}
	return math.Min(1, power)
}

func fisherGreater(k1, n1, k2, n2 int) float64 {
	p, _ := hypergeometric{n1, n2, k1 + k2}.tails(k1)
	return p
}

// distribution is P(X = from+i), without what is below 1e-20.
type distribution struct {
	from int
	p    []float64
}

func masses(p float64, n int) distribution {
	if p == 0 || n == 0 {
		return distribution{0, []float64{1}}
	}
	if p == 1 {
		return distribution{n, []float64{1}}
	}
	r := rate{p, 1 - p}
	odds := r.p / r.q
	mode := min(int(float64(n+1)*p), n)
	start := math.Exp(logMass(mode, n, r))
	from := mode
	for x := start; from > 0 && x > 1e-20; from-- {
		x *= float64(from) / float64(n-from+1) / odds
	}
	d := distribution{from: from}
	x := math.Exp(logMass(from, n, r))
	for k := from; k <= n && (k <= mode || x > 1e-20); k++ {
		d.p = append(d.p, x)
		x *= float64(n-k) / float64(k+1) * odds
	}
	return d
}

// maxPerSide bounds the search of RunsPerSide.
const maxPerSide = 1_000_000

// RunsPerSide is the smallest number of runs for each of two samples with which
// Fisher's one-sided test at level alpha tells a rate of high from one of low with
// the power asked for, 0 < power < 1. The power goes up in a saw-tooth, so a few
// runs more can have slightly less. It is an error if more than a million are
// needed.
func RunsPerSide(high, low, alpha, power float64) (int, error) {
	checkTail("RunsPerSide", power)
	if !(high > low) {
		panic(fmt.Sprintf("stats: RunsPerSide: the rates %v and %v, the first must be higher", high, low))
	}
	enough := func(n int) bool { return Power(high, n, low, n, alpha) >= power }
	lo, hi := 0, 1
	for !enough(hi) {
		if hi == maxPerSide {
			return 0, fmt.Errorf("stats: more than %d runs per side are needed to tell %v from %v", maxPerSide, high, low)
		}
		lo, hi = hi, min(2*hi, maxPerSide)
	}
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; enough(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	// The teeth are some 1/high runs long, one for each failure more. One below may reach
	// as high; look until none of three teeth does.
	tooth := 20 + int(3/high)
	for n := hi - 1; n >= max(1, hi-tooth); n-- {
		if enough(n) {
			hi = n
		}
	}
	return hi, nil
}
