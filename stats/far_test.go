package stats

import "testing"

// TestSequenceFar: where nearly all runs fail and the prior is narrow, the upper
// bound is 1 to the last bit, and at no n is it below the rate seen.
func TestSequenceFar(t *testing.T) {
	for _, rate := range []float64{0.01, 0.005, 0.001, 1e-4, 1e-6} {
		a, b := Prior(rate)
		for n := 2; n < 1_000_000; n += 1 + n/3 {
			for _, k := range []int{1, n / 2, n - 2, n - 1} {
				if k < 0 {
					continue
				}
				lower, upper := Sequence(a, b, k, n, 0.05)
				seen := float64(k) / float64(n)
				if !(lower >= 0 && lower <= seen && upper >= seen && upper <= 1) {
					t.Fatalf("prior %v, %d of %d: %v to %v", rate, k, n, lower, upper)
				}
				// The other way round: the prior's mirror image, passes for failures.
				low, _ := Sequence(b, a, n-k, n, 0.05)
				if d := low - (1 - upper); d > 1e-9 || d < -1e-9 {
					t.Fatalf("prior %v, %d of %d: mirrored %v, want %v", rate, k, n, low, 1-upper)
				}
			}
		}
	}
}

// TestTinyConfidence: no confidence between 0 and 1 makes a tail that is not.
func TestTinyConfidence(t *testing.T) {
	for _, c := range []float64{5e-324, 1e-300, 1e-17, 0.5, 0.9999999999999999} {
		if tail := TailOf(c); !(tail > 0 && tail < 1) {
			t.Errorf("TailOf(%v) = %v", c, tail)
		}
	}
}
