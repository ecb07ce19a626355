package stats

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// exactAtMost is P(X <= k) with 300 bits.
func exactAtMost(k, n int, p float64) *big.Float {
	float := func(x float64) *big.Float { return new(big.Float).SetPrec(300).SetFloat64(x) }
	success := float(p)
	failure := float(1)
	failure.Sub(failure, success)
	term, square := float(1), new(big.Float).Set(failure)
	for m := n; m > 0; m >>= 1 {
		if m&1 == 1 {
			term.Mul(term, square)
		}
		square.Mul(square, square)
	}
	odds := new(big.Float).Quo(success, failure)
	sum := float(0)
	for i := range k + 1 {
		if i > 0 {
			term.Mul(term, odds)
			term.Mul(term, new(big.Float).Quo(float(float64(n-i+1)), float(float64(i))))
		}
		sum.Add(sum, term)
	}
	return sum
}

// TestBoundsMeetTheirTail puts the bounds back into the sum that defines them.
func TestBoundsMeetTheirTail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		k := rapid.IntRange(0, n-1).Draw(t, "k")
		alpha := rapid.SampledFrom([]float64{1e-30, 1e-6, 0.01, 0.05, 0.3, 0.5, 0.9, 0.999, 0.999999}).Draw(t, "alpha")
		upper := Upper(k, n, alpha)
		if upper > 0.999999 {
			return // 1-upper has lost the digits it takes
		}
		tail, _ := exactAtMost(k, n, upper).Float64()
		// The rounding of the bound alone moves the tail by its slope times 1e-16.
		slope := float64(n-k) * upper * math.Exp(logMass(k, n, rate{upper, 1 - upper})-math.Log(alpha)) / (1 - upper)
		if math.Abs(tail-alpha) > alpha*(1e-12+4e-16*slope) {
			t.Fatalf("Upper(%d, %d, %g) = %v has the tail %v", k, n, alpha, upper, tail)
		}
		if mirrored := 1 - Lower(n-k, n, alpha); math.Abs(mirrored-upper) > 1e-13 {
			t.Fatalf("Upper(%d, %d, %g) = %v, mirrored %v", k, n, alpha, upper, mirrored)
		}
		if lower := Lower(k, n, min(alpha, 0.5)); lower > float64(k)/float64(n) {
			t.Fatalf("the lower bound %v is above %d/%d", lower, k, n)
		}
	})
}

// TestBoundsOfABillionRuns puts them back, too. The slope of the tail is that of a
// Poisson variable, some z times the root of k, so it hides no error.
func TestBoundsOfABillionRuns(t *testing.T) {
	const n = 1_000_000_000
	for _, k := range []int{1, 7, 100, 5000} {
		for _, alpha := range []float64{1e-12, 0.05, 0.5, 0.999} {
			upper, _ := exactAtMost(k, n, Upper(k, n, alpha)).Float64()
			near(t, fmt.Sprint("upper ", k, alpha), upper, alpha, 1e-12)
			lower, _ := exactAtMost(k-1, n, Lower(k, n, alpha)).Float64()
			near(t, fmt.Sprint("lower ", k, alpha), lower, 1-alpha, 1e-12)
		}
	}
}

// TestMassAtLargeN checks what no table reaches: that the probabilities of all
// outcomes add up to 1. At k = 500 million a relative error of 2e-11 in a tail is one
// of 1e-15 in the bound, by the slope of the tail.
func TestMassAtLargeN(t *testing.T) {
	for _, n := range []int{1e6, 1e9} {
		for _, k := range []int{1, 7, 1000, 123456, n / 3, n / 2, n - 1000, n - 1} {
			for _, alpha := range []float64{1e-9, 0.05, 0.5, 0.95} {
				r := upperRate(k, n, alpha)
				one := math.Exp(logMass(k, n, r)) * (below(k, n, r) + below(n-k, n, r.other()) - 1)
				near(t, fmt.Sprint("sum at ", k, n, alpha), one, 1, 2e-11)
				near(t, fmt.Sprint("tail at ", k, n, alpha), math.Exp(logAtMost(k, n, r)), alpha, 2e-11)
			}
		}
	}
}

func TestTailOf(t *testing.T) {
	for _, tt := range [][2]float64{{0.95, 0.05}, {0.999999, 1e-6}, {0.9, 0.1}, {0.5, 0.5}, {1e-9, 0.999999999}} {
		if got := TailOf(tt[0]); got != tt[1] {
			t.Errorf("TailOf(%v) = %v, want %v", tt[0], got, tt[1])
		}
	}
}

// TestTies: of 2k+1 runs of a fair coin, k or fewer fail with chance 1/2 exactly.
func TestTies(t *testing.T) {
	for _, k := range []int{0, 1, 2, 10, 100, 2000, 2499, 2500, 20000} {
		if n, err := RunsNeeded(0.5, 0.5, k); n != 2*k+1 || err != nil {
			t.Errorf("RunsNeeded(0.5, 0.5, %d) = %d, %v, want %d", k, n, err, 2*k+1)
		}
	}
}

// TestRunsNeededIsSmallest compares with the bound.
func TestRunsNeededIsSmallest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := float64(rapid.IntRange(1, 999).Draw(t, "permille")) / 1000
		confidence := float64(rapid.IntRange(1, 999).Draw(t, "confidence")) / 1000
		k := rapid.IntRange(0, 20).Draw(t, "k")
		n, err := RunsNeeded(target, confidence, k)
		if err != nil {
			t.Fatal(err)
		}
		alpha := TailOf(confidence)
		if bound := Upper(k, n, alpha); bound > target*(1+1e-12) {
			t.Fatalf("%d runs bound by %v, not %v", n, bound, target)
		}
		if n > k {
			if bound := Upper(k, n-1, alpha); bound < target*(1-1e-12) {
				t.Fatalf("%d runs are enough: %v", n-1, bound)
			}
		}
	})
}

func TestRunsNeededTooMany(t *testing.T) {
	if _, err := RunsNeeded(1e-16, 0.95, 0); err == nil {
		t.Error("no error")
	}
	if n, err := RunsNeeded(1e-9, 0.95, 0); n != 2995732273 || err != nil { // ln 0.05 / ln(1 - 1e-9) = 2995732272.06
		t.Errorf("%d, %v", n, err)
	}
}

// TestPeeking: who looks after every run with Upper errs far more often than with
// chance alpha. It also checks AtMost and RunsNeeded against one another.
func TestPeeking(t *testing.T) {
	for _, r := range reference(t, "peeking.csv", 12) {
		target, limit := r.float(t, "target"), r.int(t, "max_runs")
		var looks []int
		for k := 0; ; k++ {
			n, err := RunsNeeded(target, r.float(t, "confidence"), k)
			if err != nil {
				t.Fatal(err)
			}
			if n > limit {
				break
			}
			looks = append(looks, n)
		}
		if len(looks) != r.int(t, "looks") {
			t.Errorf("%v: %d looks", r, len(looks))
		}
		if limit > 10000 {
			continue // takes long, tells nothing new
		}
		chance := []float64{1} // by failures, of those not yet certified
		var certified float64
		before := 0
		for k, n := range looks {
			chance = convolve(chance, masses(target, n-before), 400)
			before = n
			for i := range min(k+1, len(chance)) {
				certified += chance[i]
				chance[i] = 0
			}
		}
		near(t, r, certified, r.float(t, "actual_error"), 1e-8)
	}
}

func convolve(a []float64, d distribution, limit int) []float64 {
	sum := make([]float64, min(limit, len(a)+d.from+len(d.p)))
	for i, x := range a {
		for j, y := range d.p {
			if k := i + d.from + j; k < len(sum) {
				sum[k] += x * y
			}
		}
	}
	return sum
}

// TestSequenceHolds: the chance that the sequence ever leaves out the true rate,
// in any of 400 runs, is at most alpha. Exact: all numbers of failures in turn.
func TestSequenceHolds(t *testing.T) {
	const runs, alpha = 400, 0.05
	a, b := Prior(0.02)
	for _, p := range []float64{0.005, 0.02, 0.1, 0.5} {
		chance, missed := []float64{1}, 0.0
		for n := 1; n <= runs; n++ {
			next := make([]float64, n+1)
			for k, x := range chance {
				next[k] += x * (1 - p)
				next[k+1] += x * p
			}
			for k, x := range next {
				if x < 1e-15 {
					continue
				}
				if lower, upper := Sequence(a, b, k, n, alpha); p < lower || p > upper {
					missed += x
					next[k] = 0
				}
			}
			chance = next
		}
		if missed > alpha || missed == 0 {
			t.Errorf("rate %v is missed with chance %v", p, missed)
		}
	}
}

func TestSequenceWiderThanFixed(t *testing.T) {
	for _, n := range []int{1, 6, 100, 1e4, 1e9} {
		for _, k := range []int{0, 1, n / 2, n} {
			a, b := Prior(0.01)
			lower, upper := Sequence(a, b, k, n, 0.05)
			fixedLower, fixedUpper := Lower(k, n, 0.05), Upper(k, n, 0.05)
			if !(lower <= fixedLower && upper >= fixedUpper && lower <= upper) {
				t.Errorf("%d of %d: %v to %v, fixed %v to %v", k, n, lower, upper, fixedLower, fixedUpper)
			}
		}
	}
}

// TestBoschlooMaximum compares with a fine grid, over all tables of two small sizes.
func TestBoschlooMaximum(t *testing.T) {
	const n1, n2, grid = 7, 11, 4000
	var fisher [n1 + 1][n2 + 1]float64
	for a := range n1 + 1 {
		for b := range n2 + 1 {
			fisher[a][b] = Fisher(a, n1, b, n2).Greater
		}
	}
	var first, second [grid + 1][]float64
	for i := range grid + 1 {
		for a := range n1 + 1 {
			first[i] = append(first[i], pmf(a, n1, float64(i)/grid))
		}
		for b := range n2 + 1 {
			second[i] = append(second[i], pmf(b, n2, float64(i)/grid))
		}
	}
	for k1 := range n1 + 1 {
		for k2 := range n2 + 1 {
			got, err := Boschloo(k1, n1, k2, n2)
			if err != nil {
				t.Fatal(err)
			}
			seen, best := fisher[k1][k2], 0.0
			for i := range grid + 1 {
				var sum float64
				for a := range n1 + 1 {
					for b := range n2 + 1 {
						if fisher[a][b] <= seen*(1+1e-9) {
							sum += first[i][a] * second[i][b]
						}
					}
				}
				best = max(best, sum)
			}
			if got.Greater < best-1e-12 || got.Greater > best+1e-5 {
				t.Errorf("%d/%d, %d/%d: %v, on the grid %v", k1, n1, k2, n2, got.Greater, best)
			}
			if got.Greater > seen+1e-12 {
				t.Errorf("%d/%d, %d/%d: %v is above Fisher's %v", k1, n1, k2, n2, got.Greater, seen)
			}
		}
	}
}

func pmf(k, n int, p float64) float64 { return AtMost(k, n, p) - AtMost(k-1, n, p) }

func TestBoschlooTooLarge(t *testing.T) {
	if _, err := Boschloo(0, 15000, 0, 15000); err == nil {
		t.Error("no error")
	}
}

// TestPowerIsTheSum over all pairs of samples.
func TestPowerIsTheSum(t *testing.T) {
	for _, tt := range []struct {
		high, low float64
		n1, n2    int
	}{{0.5, 0.1, 10, 14}, {0.9, 0, 6, 6}, {1, 0, 5, 5}, {0.3, 0.3, 20, 20}} {
		var want float64
		for a := range tt.n1 + 1 {
			for b := range tt.n2 + 1 {
				if Fisher(a, tt.n1, b, tt.n2).Greater <= 0.05 {
					want += pmf(a, tt.n1, tt.high) * pmf(b, tt.n2, tt.low)
				}
			}
		}
		near(t, tt, Power(tt.high, tt.n1, tt.low, tt.n2, 0.05), want, 1e-11)
	}
}

func TestRunsPerSideIsSmallest(t *testing.T) {
	for _, tt := range [][2]float64{{0.5, 0.1}, {0.9, 0.1}, {0.2, 0.01}, {0.05, 0.005}, {0.3, 0.2}, {0.03, 0}, {0.02, 0.002}, {0.6, 0.5}, {1, 0}} {
		got, err := RunsPerSide(tt[0], tt[1], 0.05, 0.8)
		if err != nil {
			t.Fatal(err)
		}
		want := 1
		for Power(tt[0], want, tt[1], want, 0.05) < 0.8 {
			want++
		}
		if got != want {
			t.Errorf("%v: got %d, want %d", tt, got, want)
		}
	}
	if _, err := RunsPerSide(1e-7, 1e-8, 0.05, 0.8); err == nil {
		t.Error("no error")
	}
}

func TestAdjust(t *testing.T) {
	// p.adjust of R 4.2.2.
	p := []float64{0.04, 0.01, 0.05, 0.02, 0.03}
	if got, want := Holm(p), []float64{0.09, 0.05, 0.09, 0.08, 0.09}; !close(got, want) {
		t.Errorf("Holm: %v, want %v", got, want)
	}
	if got, want := BenjaminiHochberg(p), []float64{0.05, 0.05, 0.05, 0.05, 0.05}; !close(got, want) {
		t.Errorf("Benjamini-Hochberg: %v, want %v", got, want)
	}
	if got, want := BenjaminiHochberg([]float64{0.001, 0.9, 0.02, 0.8}), []float64{0.004, 0.9, 0.04, 0.9}; !close(got, want) {
		t.Errorf("Benjamini-Hochberg: %v, want %v", got, want)
	}
	if len(Holm(nil))+len(BenjaminiHochberg(nil)) != 0 {
		t.Error("no p value was given")
	}
}

func close(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) < 1e-12 })
}

func TestPercent(t *testing.T) {
	for _, tt := range []struct {
		rate              float64
		up, down, nearest string
	}{
		{0, "0.00 %", "0.00 %", "0.00 %"},
		{1, "100.00 %", "100.00 %", "100.00 %"},
		{0.5, "50.00 %", "50.00 %", "50.00 %"},
		{0.95, "95.00 %", "95.00 %", "95.00 %"},
		{0.9500000000000001, "95.00 %", "95.00 %", "95.00 %"},
		{0.95000000001, "95.01 %", "95.00 %", "95.00 %"},
		{0.393037, "39.31 %", "39.30 %", "39.30 %"},
		{0.3931, "39.31 %", "39.31 %", "39.31 %"},
		{0.01, "1.00 %", "1.00 %", "1.00 %"},
		{0.0099999, "1.000 %", "0.999 %", "1.000 %"},
		{0.003, "0.300 %", "0.300 %", "0.300 %"},
		{0.00012345, "0.0124 %", "0.0123 %", "0.0123 %"},
		{0.999999, "100.00 %", "99.99 %", "100.00 %"},
		{1.2345e-9, "0.000000124 %", "0.000000123 %", "0.000000123 %"},
		{1.2345e-11, "1.24e-09 %", "1.23e-09 %", "1.23e-09 %"},
		{9.999e-11, "1.00e-08 %", "9.99e-09 %", "1.00e-08 %"},
	} {
		if got := [3]string{PercentUp(tt.rate), PercentDown(tt.rate), Percent(tt.rate)}; got != [3]string{tt.up, tt.down, tt.nearest} {
			t.Errorf("%v: got %q, want %q, %q, %q", tt.rate, got, tt.up, tt.down, tt.nearest)
		}
	}
}

// TestMistakes: arguments out of range panic with the name of the package.
func TestMistakes(t *testing.T) {
	for name, f := range map[string]func(){
		"k above n":     func() { Upper(2, 1, 0.05) },
		"negative k":    func() { Lower(-1, 1, 0.05) },
		"alpha 0":       func() { Upper(0, 1, 0) },
		"alpha NaN":     func() { Upper(0, 1, math.NaN()) },
		"confidence":    func() { TailOf(1) },
		"prior":         func() { Sequence(0, 1, 0, 1, 0.05) },
		"prior rate":    func() { Prior(0) },
		"impossible":    func() { RunsTest(1, 5, 4) },
		"no run":        func() { RunsTest(1, 5, 0) },
		"rate":          func() { AtMost(0, 1, 1.5) },
		"allowed":       func() { RunsNeeded(0.1, 0.9, -1) },
		"rates swapped": func() { _, _ = RunsPerSide(0.1, 0.2, 0.05, 0.8) },
		"p value":       func() { Holm([]float64{2}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text := fmt.Sprint(recover()); !strings.HasPrefix(text, "stats: ") {
					t.Errorf("panic %q", text)
				}
			}()
			f()
		})
	}
}

func BenchmarkUpper(b *testing.B) {
	for _, n := range []int{100, 1e6, 1e9} {
		b.Run(fmt.Sprint("n=", n), func(b *testing.B) {
			for b.Loop() {
				Upper(n/3, n, 0.05)
			}
		})
	}
}

func BenchmarkSequence(b *testing.B) {
	for b.Loop() {
		Sequence(1, 100, 3, 1000, 0.05)
	}
}
