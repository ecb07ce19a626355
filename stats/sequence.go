package stats

import "math"

// Sequence is the confidence sequence of the beta-binomial mixture: the rates p
// for which B(a+k, b+n-k) / B(a, b) < p^k (1-p)^(n-k) / alpha. With chance 1-alpha
// at least, the true rate lies within it at every n at once, so somebody may look
// after each run and stop when pleased (H. Robbins, "Statistical Methods Related
// to the Law of the Iterated Logarithm", Annals of Mathematical Statistics 41,
// 1970; S. R. Howard et al., "Time-uniform, Nonparametric, Nonasymptotic
// Confidence Sequences", Annals of Statistics 49, 2021). The price is a bound that
// is wider than Upper and Lower.
//
// The prior Beta(a, b), both above 0, must be fixed before the first run. It
// decides where the sequence is narrow, never whether it holds. See Prior.
func Sequence(a, b float64, k, n int, alpha float64) (lower, upper float64) {
	checkCounts("Sequence", k, n)
	checkTail("Sequence", alpha)
	checkPrior("Sequence", a, b)
	lower, upper = 0, 1
	if n == 0 {
		return lower, upper
	}
	m := newMixture(a, b, k, n)
	limit := -math.Log(alpha)
	// f is how far the rate with the log odds t or -t lies outside, from the best rate
	// towards the end sought.
	f := func(t, sign float64) (float64, float64) {
		r := at(sign * t)
		return m.logE(r) - limit, -sign * r.excess(float64(k), float64(n))
	}
	best := math.Log((float64(k) + 0.5) / (float64(n-k) + 0.5))
	width := 4 / math.Sqrt(math.Min(float64(k), float64(n-k))+1)
	if k < n {
		upper = at(solveBeyond(best, width, func(t float64) (float64, float64) { return f(t, 1) })).p
	}
	if k > 0 {
		lower = at(-solveBeyond(-best, width, func(t float64) (float64, float64) { return f(t, -1) })).p
	}
	return lower, upper
}

// mixture is the evidence of k failures in n runs against single rates.
type mixture struct{ a, b, x, y, s, rest float64 }

func newMixture(a, b float64, k, n int) mixture {
	x, y := a+float64(k), b+float64(n-k)
	s := x + y
	return mixture{a, b, x, y, s, 0.5*math.Log(2*math.Pi*s/x/y) + stirling(x) + stirling(y) - stirling(s) - logBeta(a, b)}
}

// logE is ln B(x, y)/B(a, b) - k ln p - (n-k) ln q, in a form without large terms. If p is
// the true rate, its exponential is a martingale with the mean 1.
func (m mixture) logE(r rate) float64 {
	d := r.excess(m.x, m.s)
	return deviance(m.x, m.s*r.p, d) + deviance(m.y, m.s*r.q, -d) + m.rest + m.a*r.logP() + m.b*r.other().logP()
}

// farthest is the log odds beyond which a rate is 0 or 1 to the last bit.
const farthest = 700

// solveBeyond finds the zero above start of the convex function f, which is below
// zero at start; infinity stands for one beyond what numbers can tell. Newton's
// method does not overshoot from beyond the zero.
func solveBeyond(start, step float64, f func(t float64) (value, slope float64)) float64 {
	if v, _ := f(farthest); v < 0 {
		return math.Inf(1)
	}
	t := start + step
	for v, _ := f(t); v < 0; v, _ = f(t) {
		step *= 2
		t = min(t+step, farthest)
	}
	return solve(t, f)
}

// Prior is the prior Beta(1, 1/R) for Sequence of somebody who wants to certify the
// rate R, above 0 and at most 1.
func Prior(rate float64) (a, b float64) {
	if !(rate > 0 && rate <= 1) {
		panic("stats: Prior: a rate above 0 and at most 1 was expected")
	}
	return 1, 1 / rate
}

func checkPrior(name string, a, b float64) {
	if !(a > 0 && b > 0) || math.IsInf(a+b, 0) {
		panic("stats: " + name + ": a prior with a and b above 0 was expected")
	}
}

func logBeta(a, b float64) float64 {
	x, _ := math.Lgamma(a)
	y, _ := math.Lgamma(b)
	z, _ := math.Lgamma(a + b)
	if a == 1 {
		return -math.Log(b) // exact where Lgamma is not, for a large b
	}
	return x + y - z
}
