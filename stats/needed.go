package stats

import (
	"fmt"
	"math"
	"math/big"
)

// RunsNeeded is the smallest n for which at most the given number of failures in n
// runs certify that the rate is at most rate: Upper(failures, n) <= rate at this
// confidence. Rate and confidence, both strictly between 0 and 1, are taken as the
// decimals they are written as, and a tie is a tie: 2 runs certify 0.1 at 0.19,
// since 0.9² = 1 - 0.19. It is an error if more than 10^15 runs are needed.
func RunsNeeded(rate, confidence float64, failures int) (int, error) {
	checkTail("RunsNeeded", rate)
	checkTail("RunsNeeded", confidence)
	if failures < 0 {
		panic("stats: RunsNeeded: a negative number of failures")
	}
	c := newCertificate(rate, confidence, failures)
	low, high := failures, failures+1 // low runs are too few
	for !c.enough(high) {
		if low, high = high, 2*high; high > maxRuns {
			return 0, fmt.Errorf("stats: more than %.0e runs are needed", float64(maxRuns))
		}
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; c.enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high, nil
}

// certificate is P(X <= k | n, rate) <= alpha, the rate and alpha also as exact
// decimals.
type certificate struct {
	k              int
	rate           rate
	logAlpha       float64
	p, q, tail     *big.Rat
	exactP, exactQ *big.Int // over their common denominator
	denominator    *big.Int
}

// Up to exactRuns runs a close decision is made with integers, above with
// closeBits bits.
const (
	exactRuns = 5000
	closeBits = 320
)

func newCertificate(p, confidence float64, k int) *certificate {
	c := &certificate{k: k, p: decimal(p)}
	one := big.NewRat(1, 1)
	c.q = new(big.Rat).Sub(one, c.p)
	c.tail = new(big.Rat).Sub(one, decimal(confidence))
	c.rate.p, _ = c.p.Float64()
	c.rate.q, _ = c.q.Float64()
	c.logAlpha = math.Log(TailOf(confidence))
	c.exactP, c.exactQ, c.denominator = c.p.Num(), c.q.Num(), c.p.Denom()
	return c
}

func (c *certificate) enough(n int) bool {
	d := logAtMost(c.k, n, c.rate) - c.logAlpha
	switch {
	case math.Abs(d) > 1e-9*(1-c.logAlpha):
		return d < 0
	case n <= exactRuns:
		return c.exactly(n)
	}
	return c.closely(n)
}

// exactly sums in integers: C(n,i) p^i q^(n-i) for i up to k, against
// alpha times the denominator to the power of n.
func (c *certificate) exactly(n int) bool {
	power := func(x *big.Int, n int) *big.Int { return new(big.Int).Exp(x, big.NewInt(int64(n)), nil) }
	sum, binomial := new(big.Int), big.NewInt(1) // the sum without q^(n-k)
	p := big.NewInt(1)
	for i := 0; i <= c.k; i++ {
		if i > 0 {
			binomial.Mul(binomial, big.NewInt(int64(n-i+1)))
			binomial.Quo(binomial, big.NewInt(int64(i)))
			p.Mul(p, c.exactP)
		}
		sum.Mul(sum, c.exactQ)
		sum.Add(sum, new(big.Int).Mul(binomial, p))
	}
	sum.Mul(sum, power(c.exactQ, n-c.k))
	sum.Mul(sum, c.tail.Denom())
	limit := power(c.denominator, n)
	limit.Mul(limit, c.tail.Num())
	return sum.Cmp(limit) <= 0
}

// closely sums with many digits, and takes what agrees in 70 of them as equal.
func (c *certificate) closely(n int) bool {
	float := func() *big.Float { return new(big.Float).SetPrec(closeBits) }
	p, q := float().SetRat(c.p), float().SetRat(c.q)
	mass := float().SetInt64(1) // C(n,k) p^k q^(n-k)
	for i := 1; i <= c.k; i++ {
		mass.Mul(mass, float().Mul(p, float().Quo(float().SetInt64(int64(n-c.k+i)), float().SetInt64(int64(i)))))
	}
	for m, square := n-c.k, float().Set(q); m > 0; m >>= 1 {
		if m&1 == 1 {
			mass.Mul(mass, square)
		}
		square.Mul(square, square)
	}
	odds := float().Quo(q, p)
	sum, term := float().Set(mass), mass
	for i := c.k; i > 0; i-- {
		term.Mul(term, odds)
		term.Mul(term, float().Quo(float().SetInt64(int64(i)), float().SetInt64(int64(n-i+1))))
		sum.Add(sum, term)
		if term.Sign() == 0 || term.MantExp(nil) < sum.MantExp(nil)-closeBits {
			break
		}
	}
	tail := float().SetRat(c.tail)
	d := sum.Sub(sum, tail)
	return d.Sign() <= 0 || d.MantExp(nil) < tail.MantExp(nil)-233
}
