package stats

import (
	"math"
	"math/big"
	"strconv"
)

// TailOf is 1 - confidence, the chance that a bound of this confidence is wrong.
// The confidence is taken as the decimal it is written as, so that TailOf(0.999999)
// is 1e-6 and not 3e-11 beside it. It must lie strictly between 0 and 1,
// and the chance is kept there: a confidence as small as 1e-17 has none beside 1.
func TailOf(confidence float64) float64 {
	checkTail("TailOf", confidence)
	r := decimal(confidence)
	tail, _ := r.Sub(big.NewRat(1, 1), r).Float64()
	return min(tail, math.Nextafter(1, 0))
}

// decimal is the shortest decimal that stands for x.
func decimal(x float64) *big.Rat {
	r, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64))
	if !ok {
		panic("stats: a finite number was expected")
	}
	return r
}

// Upper is the one-sided upper bound of C. J. Clopper and E. S. Pearson, "The Use
// of Confidence or Fiducial Limits Illustrated in the Case of the Binomial",
// Biometrika 26, 1934: the rate p at which k or fewer failures in n runs have the
// chance alpha. It assumes that n was fixed beforehand and that the runs are
// independent and alike; then it lies below the true rate with chance alpha at
// most. It is 1 if k = n, in particular without runs.
func Upper(k, n int, alpha float64) float64 {
	checkCounts("Upper", k, n)
	checkTail("Upper", alpha)
	switch {
	case k == n:
		return 1
	case k == 0 && n == 1:
		return 1 - alpha
	case k == 0:
		return -math.Expm1(math.Log(alpha) / float64(n))
	}
	return upperRate(k, n, alpha).p
}

// Lower is the one-sided lower bound, the counterpart of Upper: the rate at which
// k or more failures in n runs have the chance alpha. It is 0 if k = 0.
func Lower(k, n int, alpha float64) float64 {
	checkCounts("Lower", k, n)
	checkTail("Lower", alpha)
	switch {
	case k == 0:
		return 0
	case n == 1:
		return alpha
	case k == n:
		return math.Exp(math.Log(alpha) / float64(n))
	}
	return upperRate(n-k, n, alpha).q
}

// Interval is the two-sided interval: both one-sided bounds at alpha/2.
func Interval(k, n int, alpha float64) (lower, upper float64) {
	return Lower(k, n, alpha/2), Upper(k, n, alpha/2)
}

// upperRate solves P(X <= k) = alpha, 0 <= k < n, on the log odds, in which the
// logarithm of a tail is concave. It asks for the smaller of the two tails, where
// a small change of the rate shows.
func upperRate(k, n int, alpha float64) rate {
	x, m := float64(k)+1, float64(n)+1
	start := math.Log(x/(m-x)) + quantile(alpha)*math.Sqrt(m/x/(m-x))
	if alpha <= 0.5 {
		want := math.Log(alpha)
		return at(solve(start, func(t float64) (float64, float64) {
			r := at(t)
			tail := logAtMost(k, n, r)
			return want - tail, float64(n-k) * r.p * math.Exp(logMass(k, n, r)-tail)
		}))
	}
	want := math.Log(1 - alpha)
	return at(solve(start, func(t float64) (float64, float64) {
		r := at(t)
		tail := logAtLeast(k+1, n, r)
		return tail - want, float64(k+1) * r.q * math.Exp(logMass(k+1, n, r)-tail)
	}))
}

// quantile is about the z that a standard normal variable exceeds with chance
// alpha (M. Abramowitz and I. Stegun, 26.2.23; within 0.00045).
func quantile(alpha float64) float64 {
	if alpha > 0.5 {
		return -quantile(1 - alpha)
	}
	s := math.Sqrt(-2 * math.Log(alpha))
	return s - (2.515517+s*(0.802853+s*0.010328))/(1+s*(1.432788+s*(0.189269+s*0.001308)))
}
