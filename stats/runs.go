package stats

import (
	"fmt"
	"math"
)

// Dependence is the outcome of a runs test, as p values if outcomes are
// exchangeable: Exact is P(R = runs), Few P(R <= runs), small if failures come in
// clusters, Many P(R >= runs), small if outcomes alternate. Doubled is twice the
// smaller tail, at most 1; Point adds up all outcomes no more probable than the
// one seen.
type Dependence struct{ Exact, Few, Many, Doubled, Point float64 }

// RunsTest is the exact test of A. Wald and J. Wolfowitz, "On a Test Whether Two
// Samples are from the Same Population", 1940. The runs are the unbroken
// stretches of equal outcomes in a sequence with so many failures and passes. If
// all outcomes are equal there is one, and every p is 1.
//
// The probabilities are built up by ratios from the most probable number and
// divided by their sum, so that no large term appears.
func RunsTest(failures, passes, runs int) Dependence {
	least, most := 2, 2*min(failures, passes)
	if failures != passes {
		most++
	}
	if failures < 0 || passes < 0 {
		panic("stats: RunsTest: a negative count")
	}
	if failures == 0 || passes == 0 {
		least, most = min(1, failures+passes), min(1, failures+passes)
	}
	if runs < least || runs > most {
		panic(fmt.Sprintf("stats: RunsTest: %d runs of %d failures and %d passes, %d to %d were expected", runs, failures, passes, least, most))
	}
	if least == most {
		return Dependence{1, 1, 1, 1, 1}
	}
	weights := runsWeights(failures, passes, most)
	var d Dependence
	var total float64
	seen := weights[runs]
	for r := least; r <= most; r++ {
		w := weights[r]
		total += w
		if r <= runs {
			d.Few += w
		}
		if r >= runs {
			d.Many += w
		}
		if w <= seen*(1+same) {
			d.Point += w
		}
	}
	d.Exact = seen / total
	d.Few = math.Min(1, d.Few/total)
	d.Many = math.Min(1, d.Many/total)
	d.Point = math.Min(1, d.Point/total)
	d.Doubled = math.Min(1, 2*math.Min(d.Few, d.Many))
	return d
}

// runsWeights is proportional to P(R = r), with 1 for an even r near the middle:
// for r = 2h it is 2 C(f-1,h-1) C(p-1,h-1), for r = 2h+1 it is
// C(f-1,h) C(p-1,h-1) + C(f-1,h-1) C(p-1,h).
func runsWeights(failures, passes, most int) []float64 {
	f, p := float64(failures), float64(passes)
	w := make([]float64, most+2)
	h := max(1, min(int(f*p/(f+p)), min(failures, passes)))
	w[2*h] = 1
	for i := h; i < min(failures, passes); i++ {
		x := float64(i)
		w[2*i+2] = w[2*i] * ((f - x) / x) * ((p - x) / x)
	}
	for i := h; i > 1; i-- {
		x := float64(i - 1)
		w[2*i-2] = w[2*i] / ((f - x) / x) / ((p - x) / x)
	}
	for i := 1; 2*i+1 <= most; i++ {
		x := float64(i)
		w[2*i+1] = w[2*i] / 2 * ((f-x)/x + (p-x)/x)
	}
	return w
}
