package stats

import (
	"fmt"
	"math"
	"sort"
)

// maxBoschloo is the largest number of runs in both samples for which Boschloo
// is computed.
const maxBoschloo = 20000

// Boschloo is the unconditional exact test of R. D. Boschloo, "Raised Conditional
// Level of Significance for the 2 × 2-table when Testing the Equality of Two
// Probabilities", Statistica Neerlandica 24, 1970: it orders all pairs of samples
// by their one-sided Fisher p and maximises the chance of an outcome at least as
// extreme over the common rate. It is never less powerful than Fisher. TwoSided is
// twice the smaller one, at most 1. Above 20,000 runs in both samples together it
// is an error: use Fisher, which then hardly differs.
func Boschloo(k1, n1, k2, n2 int) (Comparison, error) {
	checkCounts("Boschloo", k1, n1)
	checkCounts("Boschloo", k2, n2)
	if n1+n2 > maxBoschloo {
		return Comparison{}, fmt.Errorf("stats: Boschloo's test takes %d runs at most, not %d", maxBoschloo, n1+n2)
	}
	greater := boschloo(k1, n1, k2, n2)
	less := boschloo(k2, n2, k1, n1)
	return Comparison{greater, less, math.Min(1, 2*math.Min(greater, less))}, nil
}

// boschloo is the p value against the alternative that the first rate is higher.
//
// Given the number s of failures in both samples, an outcome is as extreme as the
// one seen with chance b(s) <= p, the largest attainable Fisher p that is no larger
// than the Fisher p of what was seen. So the chance at a common rate π is the
// Bernstein polynomial E b(S), S binomial in n1+n2 runs.
func boschloo(k1, n1, k2, n2 int) float64 {
	n := n1 + n2
	seen, _ := hypergeometric{n1, n2, k1 + k2}.tails(k1)
	if seen*(1+same) >= 1 {
		return 1
	}
	b := make([]float64, n+1)
	for s := range b {
		b[s] = hypergeometric{n1, n2, s}.largestTail(seen * (1 + same))
	}
	return maximum(b)
}

// largestTail is the largest P(X >= x) that is at most limit, or 0.
func (h hypergeometric) largestTail(limit float64) float64 {
	lo, hi := h.least()-1, h.most()+1 // lo is too probable
	for hi-lo > 1 {
		mid := lo + (hi-lo)/2
		if tail, _ := h.tails(mid); tail <= limit {
			hi = mid
		} else {
			lo = mid
		}
	}
	if hi > h.most() {
		return 0
	}
	tail, _ := h.tails(hi)
	return tail
}

// maximum is the largest value of the Bernstein polynomial with coefficients b.
// On the scale of θ, π = sin² θ, the binomial has the same width everywhere, some
// 1/(2√n): a grid of a sixteenth of that meets every hump, and each hump that could
// be the highest is then climbed by golden section.
func maximum(b []float64) float64 {
	n := len(b) - 1
	value := func(theta float64) float64 {
		sin, cos := math.Sincos(theta)
		return mean(b, rate{sin * sin, cos * cos})
	}
	count := 200 + int(50*math.Sqrt(float64(n)))
	step := math.Pi / 2 / float64(count)
	values := make([]float64, count+1)
	best := 0.0
	for i := range values {
		switch i {
		case 0:
			values[i] = b[0]
		case count:
			values[i] = b[n]
		default:
			values[i] = value(step * float64(i))
		}
		best = math.Max(best, values[i])
	}
	var humps []int
	for i := 1; i < count; i++ {
		if values[i] >= values[i-1] && values[i] >= values[i+1] && values[i] > best*0.98 {
			humps = append(humps, i)
		}
	}
	sort.Slice(humps, func(i, j int) bool { return values[humps[i]] > values[humps[j]] })
	for _, i := range humps[:min(len(humps), 12)] {
		best = math.Max(best, climb(step*float64(i-1), step*float64(i+1), value))
	}
	return math.Min(1, best)
}

// climb finds the maximum of f between a and b, where it has one hump. J. Kiefer,
// "Sequential Minimax Search for a Maximum", 1953.
func climb(a, b float64, f func(float64) float64) float64 {
	golden := (math.Sqrt(5) - 1) / 2
	c, d := b-golden*(b-a), a+golden*(b-a)
	fc, fd := f(c), f(d)
	for range 45 { // to 1e-9 of the width; the value is then far closer
		if fc > fd {
			b, d, fd = d, c, fc
			c = b - golden*(b-a)
			fc = f(c)
		} else {
			a, c, fc = c, d, fd
			d = a + golden*(b-a)
			fd = f(d)
		}
	}
	return math.Max(fc, fd)
}

// mean is E b(S) for S binomial in len(b)-1 runs. It goes outwards from the
// middle until the probabilities vanish.
func mean(b []float64, r rate) float64 {
	n := len(b) - 1
	mode := min(int(float64(n+1)*r.p), n)
	odds := r.p / r.q
	start := math.Exp(mass(mode, n, r))
	sum := start * b[mode]
	p := start
	for k := mode; k < n && p > 1e-30; k++ {
		p *= float64(n-k) / float64(k+1) * odds
		sum += p * b[k+1]
	}
	p = start
	for k := mode; k > 0 && p > 1e-30; k-- {
		p *= float64(k) / float64(n-k+1) / odds
		sum += p * b[k-1]
	}
	return sum
}
