package stats

import "math"

// rate is a probability p together with q = 1-p, each with its full precision.
type rate struct{ p, q float64 }

// at is the rate with the log odds t.
func at(t float64) rate {
	if t > 0 {
		e := math.Exp(-t)
		return rate{1 / (1 + e), e / (1 + e)}
	}
	e := math.Exp(t)
	return rate{e / (1 + e), 1 / (1 + e)}
}

// excess is k - n p.
func (r rate) excess(k, n float64) float64 {
	if r.p <= r.q {
		return k - n*r.p
	}
	return n*r.q - (n - k)
}

func (r rate) logP() float64 {
	if r.p <= 0.5 {
		return math.Log(r.p)
	}
	return math.Log1p(-r.q)
}

func (r rate) other() rate { return rate{r.q, r.p} }

// AtMost is P(X <= k) for the number X of failures in n runs that each fail with
// chance p.
func AtMost(k, n int, p float64) float64 {
	checkCounts("AtMost", min(max(k, 0), n), n)
	checkRate("AtMost", p)
	switch {
	case k < 0:
		return 0
	case k >= n || p == 0:
		return 1
	case p == 1:
		return 0
	}
	return math.Exp(logAtMost(k, n, rate{p, 1 - p}))
}

// logAtMost is ln P(X <= k), 0 <= k < n, for a rate strictly between 0 and 1. It
// sums the probabilities from the end where they only get smaller, which takes
// about nine standard deviations of terms.
func logAtMost(k, n int, r rate) float64 {
	if r.excess(float64(k), float64(n)) <= 0 {
		return logMass(k, n, r) + math.Log(below(k, n, r))
	}
	above := logMass(k+1, n, r) + math.Log(below(n-k-1, n, r.other()))
	return math.Log1p(-math.Exp(above))
}

// logAtLeast is ln P(X >= k), 0 < k <= n.
func logAtLeast(k, n int, r rate) float64 { return logAtMost(n-k, n, r.other()) }

// below is P(X <= k) / P(X = k).
func below(k, n int, r rate) float64 {
	odds := r.q / r.p
	sum, term := 1.0, 1.0
	for i := k; i > 0; i-- {
		term *= float64(i) / float64(n-i+1) * odds
		sum += term
		if term < sum*1e-18 {
			break
		}
	}
	return sum
}

// logMass is ln P(X = k), by C. Loader, "Fast and Accurate Computation of Binomial
// Probabilities", 2000: a saddle-point expansion whose error does not grow with n.
func logMass(k, n int, r rate) float64 {
	x, m := float64(k), float64(n)
	switch k {
	case 0:
		return m * r.other().logP()
	case n:
		return m * r.logP()
	}
	d := r.excess(x, m)
	return 0.5*math.Log(m/(2*math.Pi*x*(m-x))) +
		stirling(m) - stirling(x) - stirling(m-x) -
		deviance(x, m*r.p, d) - deviance(m-x, m*r.q, -d)
}

// stirling is the error of Stirling's formula: ln Γ(z) - ((z-1/2) ln z - z + ln(2π)/2), z > 0.
func stirling(z float64) float64 {
	if z < 15 {
		g, _ := math.Lgamma(z)
		return g - ((z-0.5)*math.Log(z) - z + 0.5*math.Log(2*math.Pi))
	}
	w := 1 / (z * z)
	return (1./12 - w*(1./360-w*(1./1260-w*(1./1680-w*(1./1188-w*691./360360))))) / z
}

// deviance is x ln(x/m) + m - x, where d is x - m, known better than the
// difference would tell.
func deviance(x, m, d float64) float64 {
	if math.Abs(d) > 0.1*(x+m) {
		return x*math.Log(x/m) - d
	}
	v := d / (x + m)
	sum, term := d*v, 2*x*v
	for j := 3.0; j < 40; j += 2 { // v² is 0.01 at most
		term *= v * v
		sum += term / j
	}
	return sum
}

// solve finds the t at which the increasing function f, which returns its value and
// slope, is zero: Newton's method from start, kept within what is known to lie
// on both sides of it.
func solve(start float64, f func(t float64) (value, slope float64)) float64 {
	lo, hi := math.Inf(-1), math.Inf(1)
	t, last := start, math.Inf(1)
	for range 300 {
		v, slope := f(t)
		step := -v / slope
		size := math.Abs(step)
		if size <= 1e-15*math.Abs(t) || size < 1e-11 && size >= last/2 {
			return t + step // smaller steps would follow rounding errors
		}
		if v > 0 {
			hi = t
		} else {
			lo = t
		}
		next := t + step
		if !(next > lo && next < hi) { // also if step is no number
			switch {
			case math.IsInf(lo, 0):
				next = hi - 2*(1+math.Abs(hi))
			case math.IsInf(hi, 0):
				next = lo + 2*(1+math.Abs(lo))
			default:
				next = lo + (hi-lo)/2
			}
		}
		last, t = math.Abs(next-t), next
	}
	return t
}
