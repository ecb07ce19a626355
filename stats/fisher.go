package stats

import "math"

// Comparison is the outcome of an exact test of two samples, as p values: the
// chance of a difference at least as large if both fail equally often. Greater is
// against the alternative that the first fails more often, Less that it fails
// less often.
type Comparison struct{ Greater, Less, TwoSided float64 }

// Fisher is the exact test of R. A. Fisher ("The Logic of Inductive Inference",
// 1935) for k1 failures in n1 runs and k2 in n2. TwoSided adds up all tables that
// are no more probable than the one seen, the convention of R and SciPy; tables
// whose probabilities agree within 1e-10 count as equally probable.
func Fisher(k1, n1, k2, n2 int) Comparison {
	checkCounts("Fisher", k1, n1)
	checkCounts("Fisher", k2, n2)
	h := hypergeometric{n1, n2, k1 + k2}
	greater, less := h.tails(k1)
	return Comparison{greater, less, h.twoSided(k1)}
}

// hypergeometric is the number of failures in the first of two samples of n1 and
// n2 runs, given that there are k in both.
type hypergeometric struct{ n1, n2, k int }

func (h hypergeometric) least() int { return max(0, h.k-h.n2) }
func (h hypergeometric) most() int  { return min(h.n1, h.k) }

// logMass is ln P(X = x), written with binomial probabilities (Loader, 2000).
func (h hypergeometric) logMass(x int) float64 {
	n := h.n1 + h.n2
	if h.k == 0 || h.k == n {
		return 0
	}
	r := rate{float64(h.k) / float64(n), float64(n-h.k) / float64(n)}
	return mass(x, h.n1, r) + mass(h.k-x, h.n2, r) - mass(h.k, n, r)
}

// mass is logMass, also without a run.
func mass(k, n int, r rate) float64 {
	if n == 0 {
		return 0
	}
	return logMass(k, n, r)
}

// step is P(X = x+1) / P(X = x).
func (h hypergeometric) step(x int) float64 {
	return float64(h.n1-x) / float64(x+1) * (float64(h.k-x) / float64(h.n2-h.k+x+1))
}

// up is P(X >= x) / P(X = x), to be asked above the mode; down the other way.
func (h hypergeometric) up(x int) float64 {
	sum, term := 1.0, 1.0
	for ; x < h.most() && term > sum*1e-18; x++ {
		term *= h.step(x)
		sum += term
	}
	return sum
}

func (h hypergeometric) down(x int) float64 {
	sum, term := 1.0, 1.0
	for ; x > h.least() && term > sum*1e-18; x-- {
		term /= h.step(x - 1)
		sum += term
	}
	return sum
}

// tails are P(X >= x) and P(X <= x). The one that holds the mode is made from the
// other.
func (h hypergeometric) tails(x int) (atLeast, atMost float64) {
	switch {
	case x <= h.least():
		return 1, math.Exp(h.logMass(x))
	case x >= h.most():
		return math.Exp(h.logMass(x)), 1
	}
	mass := math.Exp(h.logMass(x))
	if h.step(x-1) < 1 {
		atLeast = math.Min(1, mass*h.up(x))
		return atLeast, math.Min(1, 1-atLeast+mass)
	}
	atMost = math.Min(1, mass*h.down(x))
	return math.Min(1, 1-atMost+mass), atMost
}

// twoSided is the chance of all outcomes no more probable than x.
func (h hypergeometric) twoSided(x int) float64 {
	mode := h.mode()
	if x < mode {
		return hypergeometric{h.n2, h.n1, h.k}.twoSided(h.k - x) // the same, mirrored
	}
	limit := h.logMass(x) + same
	if h.logMass(mode) <= limit {
		return 1
	}
	lo, hi := h.least()-1, mode // lo: the last outcome below the mode that counts
	for hi-lo > 1 {
		if mid := lo + (hi-lo)/2; h.logMass(mid) <= limit {
			lo = mid
		} else {
			hi = mid
		}
	}
	above, _ := h.tails(x)
	if lo < h.least() {
		return above
	}
	return math.Min(1, above+math.Exp(h.logMass(lo))*h.down(lo))
}

// mode is a most probable outcome.
func (h hypergeometric) mode() int {
	m := int(float64(h.k+1) / float64(h.n1+h.n2+2) * float64(h.n1+1))
	m = min(max(m, h.least()), h.most())
	for m < h.most() && h.step(m) > 1 {
		m++
	}
	for m > h.least() && h.step(m-1) < 1 {
		m--
	}
	return m
}
