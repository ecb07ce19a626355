package bisect

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawn is a search after some runs, and what was seen.
func drawn(seed uint64, commits, runs int, skip ...int) *Search {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := New(commits)
	for _, c := range skip {
		s.Skip(c)
	}
	change, before, after := 1+rng.IntN(commits-1), rng.Float64(), rng.Float64()
	for range runs {
		c := rng.IntN(commits)
		rate := before
		if c >= change {
			rate = after
		}
		s.Observe(c, rng.Float64() < rate)
	}
	return s
}

// integrated is the mean of p^k (1-p)^(n-k) over the prior Beta(1/2, 1/2), by the midpoint
// rule on the scale on which that is uniform.
func integrated(k, n int) float64 {
	const steps = 20_000
	sum := 0.0
	for i := range steps {
		sin, cos := math.Sincos(math.Pi / 2 * (float64(i) + 0.5) / steps)
		sum += math.Pow(sin*sin, float64(k)) * math.Pow(cos*cos, float64(n-k))
	}
	return sum / steps
}

// TestPosteriorIsBayes computes it from the definition.
func TestPosteriorIsBayes(t *testing.T) {
	for seed := range uint64(20) {
		s := drawn(seed, 5, 12)
		want := make([]float64, 5)
		for i := range want {
			var k, n [2]int
			for c := range 5 {
				side := 0
				if i > 0 && c >= i {
					side = 1
				}
				failures, runs := s.Counts(c)
				k[side], n[side] = k[side]+failures, n[side]+runs
			}
			want[i] = integrated(k[0], n[0]) * integrated(k[1], n[1]) / 8
			if i == 0 {
				want[i] *= 4
			}
		}
		sum := 0.0
		for _, w := range want {
			sum += w
		}
		for i, got := range s.Posterior() {
			if math.Abs(got-want[i]/sum) > 1e-7 {
				t.Errorf("seed %d, commit %d: %v, want %v", seed, i, got, want[i]/sum)
			}
		}
	}
}

// copied is the same search once more.
func (s *Search) copied() *Search {
	c := New(len(s.runs))
	copy(c.skipped, s.skipped)
	for i, n := range s.runs {
		for j := range n {
			c.Observe(i, j < s.fails[i])
		}
	}
	return c
}

func entropyOf(weights []float64) float64 {
	sum := 0.0
	for _, w := range weights {
		if w > 0 {
			sum -= w * math.Log(w)
		}
	}
	return sum
}

// TestNextTellsMost: no other run lets the entropy of the posterior fall further on the
// average over its outcomes, each taken with the chance that the posterior gives it.
func TestNextTellsMost(t *testing.T) {
	for seed := range uint64(30) {
		s := drawn(seed, 7, int(seed), 3, 4)
		tells := make([]float64, 7)
		best := math.Inf(-1)
		for c := range tells {
			if s.Skipped(c) {
				tells[c] = math.Inf(-1)
				continue
			}
			fail := s.chanceOf(c)
			tells[c] = entropyOf(s.Posterior())
			for _, outcome := range []bool{true, false} {
				after := s.copied()
				after.Observe(c, outcome)
				p := fail
				if !outcome {
					p = 1 - fail
				}
				tells[c] -= p * entropyOf(after.Posterior())
			}
			best = math.Max(best, tells[c])
		}
		if got := s.Next(); tells[got] < best-1e-9 {
			t.Errorf("seed %d: commit %d tells %v, the best %v", seed, got, tells[got], best)
		}
	}
}

// chanceOf is the chance that the next run of a commit fails.
func (s *Search) chanceOf(c int) float64 {
	sum := 0.0
	for i, w := range s.Posterior() {
		k, n := 0, 0
		for j := range s.runs {
			if i == 0 || (j >= i) == (c >= i) {
				k, n = k+s.fails[j], n+s.runs[j]
			}
		}
		sum += w * (float64(k) + 0.5) / (float64(n) + 1)
	}
	return sum
}

// TestPlainBisection: a test that always fails after the change and never before is found
// in little more than the logarithm of the number of commits, wherever it is.
func TestPlainBisection(t *testing.T) {
	for change := 1; change < 256; change++ {
		s := New(256)
		for !s.Found(0.95) {
			c := s.Next()
			s.Observe(c, c >= change)
			if s.Runs() > 30 {
				t.Fatalf("change %d: not found", change)
			}
		}
		if first, last, _ := s.Suspects(); first != change || last != change {
			t.Errorf("found %d to %d, want %d", first, last, change)
		}
	}
}

// TestSkippedAreOne: commits that nothing can tell apart are suspects together.
func TestSkippedAreOne(t *testing.T) {
	for change, want := range map[int][2]int{4: {4, 4}, 5: {5, 8}, 7: {5, 8}, 8: {5, 8}, 9: {9, 9}} {
		s := New(12)
		for c := 5; c < 8; c++ {
			s.Skip(c)
		}
		for !s.Found(0.99) {
			c := s.Next()
			if s.Skipped(c) {
				t.Fatalf("run %d of a commit that cannot run, %d", s.Runs(), c)
			}
			s.Observe(c, c >= change)
		}
		if first, last, _ := s.Suspects(); first != want[0] || last != want[1] {
			t.Errorf("change %d: %d to %d, want %v", change, first, last, want)
		}
	}
	s := New(4) // all between the ends
	s.Skip(1)
	s.Skip(2)
	s.Observe(0, false)
	s.Observe(3, true)
	if first, last, chance := s.Suspects(); first != 1 || last != 3 || math.Abs(chance+s.Posterior()[0]-1) > 1e-12 {
		t.Errorf("%d to %d, %v", first, last, chance)
	}
}
