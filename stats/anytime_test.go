package stats

import (
	"math"
	"testing"
)

// TestSequenceAboveFollowsSequences: the evidence is half that of each prior at least, and
// not above that of the better one.
func TestSequenceAboveFollowsSequences(t *testing.T) {
	checked := 0
	for _, alpha := range []float64{0.2, 0.05, 1e-4} {
		for _, r := range []float64{0.001, 0.01, 0.3, 0.9} {
			a, b := Prior(r)
			for n := 1; n <= 400; n += 7 {
				for k := 0; k <= n; k += 1 + n/9 {
					low, _ := Sequence(a, b, k, n, alpha)
					uniform, _ := Sequence(1, 1, k, n, alpha)
					best := math.Max(low, uniform)
					low, _ = Sequence(a, b, k, n, alpha/2)
					uniform, _ = Sequence(1, 1, k, n, alpha/2)
					half := math.Max(low, uniform)
					p := SequenceAbove(a, b, k, n, r)
					if p <= alpha && best < r*(1-1e-9) || p > alpha && half > r*(1+1e-9) {
						t.Errorf("%d of %d, rate %v, alpha %v: p %v, lower ends %v, %v", k, n, r, alpha, p, best, half)
					}
					checked++
				}
			}
		}
	}
	if checked < 3000 {
		t.Errorf("%d cases", checked)
	}
	if p := SequenceAbove(1, 100, 0, 0, 0.01); p != 1 {
		t.Errorf("without runs p = %v", p)
	}
	// 1/10 against 0.1^9 under the uniform prior, nothing under the other.
	if p := SequenceAbove(1, 1000, 9, 9, 0.1); math.Abs(p-2e-8) > 1e-13 {
		t.Errorf("9 failures of 9: %v", p)
	}
}

// TestSequenceRuns: one run less is too few. Without failures the number solves
// (1-R)^n (n+b)/b = alpha: for 1 % at 95 % it is 472.
func TestSequenceRuns(t *testing.T) {
	for _, tt := range []struct {
		k    int
		rate float64
	}{{0, 0.01}, {3, 0.01}, {0, 0.5}, {40, 0.001}, {1000, 0.2}} {
		a, b := Prior(0.01)
		n, err := SequenceRuns(a, b, tt.k, tt.rate, 0.05)
		if err != nil {
			t.Fatal(err)
		}
		_, at := Sequence(a, b, tt.k, n, 0.05)
		_, before := Sequence(a, b, tt.k, n-1, 0.05)
		if !(at <= tt.rate && before > tt.rate) {
			t.Errorf("%d failures, rate %v: %d runs give %v, one less %v", tt.k, tt.rate, n, at, before)
		}
	}
	closed := 1
	for float64(closed)*math.Log1p(-0.01)+math.Log1p(float64(closed)/100) > math.Log(0.05) {
		closed++
	}
	if n, err := SequenceRuns(1, 100, 0, 0.01, 0.05); err != nil || n != closed || n != 472 {
		t.Errorf("%d runs, %v, want %d", n, err, closed)
	}
	if n, err := SequenceRuns(1, 100, 0, 1e-16, 0.05); err == nil {
		t.Errorf("%d runs certify 1e-16", n)
	}
}

// TestSequenceCompareIsTheLeastEvidence compares with the least evidence over a grid of
// pairs of rates that keep the claim.
func TestSequenceCompareIsTheLeastEvidence(t *testing.T) {
	const a, b, steps = 1, 20, 200
	for _, tt := range [][4]int{{5, 10, 1, 30}, {30, 40, 2, 9}, {1, 1, 0, 50}, {7, 100, 3, 100}, {9, 9, 0, 9}} {
		least := math.Inf(1)
		for i := 1; i < steps; i++ {
			for j := i; j < steps; j++ { // the second fails at least as often
				least = math.Min(least, evidence(a, b, tt[0], tt[1], rateOf(float64(i)/steps))+evidence(a, b, tt[2], tt[3], rateOf(float64(j)/steps)))
			}
		}
		c := SequenceCompare(a, b, tt[0], tt[1], tt[2], tt[3])
		if c.Less != 1 || c.Greater < math.Min(1, math.Exp(-least))*(1-1e-9) || c.Greater > math.Exp(-least)*1.01 {
			t.Errorf("%v: %+v, the grid has %v", tt, c, math.Exp(-least))
		}
		if back := SequenceCompare(a, b, tt[2], tt[3], tt[0], tt[1]); back.Less != c.Greater || back.Greater != 1 {
			t.Errorf("%v the other way round: %+v", tt, back)
		}
	}
	for _, tt := range [][4]int{{0, 0, 5, 5}, {0, 9, 0, 4}, {3, 9, 1, 3}, {9, 9, 2, 2}} {
		if c := SequenceCompare(a, b, tt[0], tt[1], tt[2], tt[3]); c != (Comparison{1, 1, 1}) {
			t.Errorf("%v: %+v", tt, c)
		}
	}
}
