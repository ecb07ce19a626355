package retry_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"exactlyone/retry"
)

// TestWaits: the waits by the formulas of the strategies, at the lowest, middle
// and highest draw, for a base of 100 ms and a cap of 1 s.
func TestWaits(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		strategy retry.Strategy
		n        int
		previous time.Duration
		want     [3]time.Duration // u = 0, 1/2, 1 - 2⁻²⁰
	}{
		{"", 3, 0, [3]time.Duration{}},
		{retry.None, 3, 0, [3]time.Duration{}},
		{retry.Exponential, 1, 0, [3]time.Duration{100 * ms, 100 * ms, 100 * ms}},
		{retry.Exponential, 3, 0, [3]time.Duration{400 * ms, 400 * ms, 400 * ms}},
		{retry.Exponential, 5, 0, [3]time.Duration{1000 * ms, 1000 * ms, 1000 * ms}},
		{retry.Jitter10, 2, 0, [3]time.Duration{180 * ms, 200 * ms, 220 * ms}},
		{retry.Jitter10, 9, 0, [3]time.Duration{900 * ms, 1000 * ms, 1100 * ms}},
		{retry.Jitter25, 2, 0, [3]time.Duration{200 * ms, 175 * ms, 150 * ms}},
		{retry.Equal, 3, 0, [3]time.Duration{200 * ms, 300 * ms, 400 * ms}},
		{retry.Full, 3, 0, [3]time.Duration{0, 200 * ms, 400 * ms}},
		{retry.Decorrelated, 1, 0, [3]time.Duration{100 * ms, 200 * ms, 300 * ms}},
		{retry.Decorrelated, 2, 300 * ms, [3]time.Duration{100 * ms, 500 * ms, 900 * ms}},
		{retry.Decorrelated, 3, 900 * ms, [3]time.Duration{100 * ms, 1000 * ms, 1000 * ms}},
	} {
		b := retry.Backoff{Strategy: tt.strategy, Base: 100 * ms, Cap: 1000 * ms}
		var got [3]time.Duration
		for i, u := range []float64{0, 0.5, 1 - 1.0/(1<<20)} {
			// Rounded, so that the highest draw stands for its limit.
			got[i] = b.Wait(tt.n, tt.previous, func() float64 { return u }).Round(ms)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%q, retry %d after %v (-want +got):\n%s", tt.strategy, tt.n, tt.previous, diff)
		}
	}
}

// bounds are the least and the greatest wait of a strategy, if d is the wait
// before jitter and limit the cap.
func bounds(s retry.Strategy, base, d, limit float64) (least, most float64) {
	switch s {
	case retry.Exponential:
		return d, d
	case retry.Jitter10:
		return 0.9 * d, 1.1 * d
	case retry.Jitter25:
		return 0.75 * d, d
	case retry.Equal:
		return d / 2, d
	case retry.Full:
		return 0, d
	case retry.Decorrelated:
		return min(base, limit), limit
	}
	return 0, 0
}

// TestWaitBounds: at any attempt and with any cap, every wait is within the
// bounds of its strategy, and none is negative.
func TestWaitBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		anyLength := func(name string) time.Duration {
			return time.Duration(rapid.OneOf(
				rapid.Int64Range(0, int64(time.Minute)), rapid.Int64Range(math.MaxInt64/8, math.MaxInt64), rapid.Just[int64](math.MaxInt64),
			).Draw(t, name))
		}
		b := retry.Backoff{
			Strategy: rapid.SampledFrom(retry.Strategies).Draw(t, "strategy"),
			Base:     anyLength("base"), Cap: anyLength("cap"),
		}
		n := rapid.OneOf(rapid.IntRange(1, 100), rapid.IntRange(1, math.MaxInt), rapid.Just(math.MaxInt)).Draw(t, "n")
		seed := rapid.Uint64().Draw(t, "seed")
		got := b.Wait(n, anyLength("previous"), retry.NewUniform(seed))

		const ceiling = math.MaxInt64 / 4 // the 73 years that are documented
		limit := float64(ceiling)
		if b.Cap > 0 {
			limit = min(limit, float64(b.Cap))
		}
		d := min(limit, float64(b.Base)*math.Pow(2, float64(n-1)))
		if b.Base == 0 {
			d, limit = 0, 0
		}
		least, most := bounds(b.Strategy, float64(b.Base), d, limit)
		const rounding = 1e-9
		if f := float64(got); got < 0 || f < least*(1-rounding)-1 || f > most*(1+rounding) {
			t.Errorf("%+v: retry %d waits %d, want between %.0f and %.0f", b, n, got, least, most)
		}
	})
}

// TestUniform: in [0, 1), the same for the same seed, evenly spread.
func TestUniform(t *testing.T) {
	a, b, other := retry.NewUniform(7), retry.NewUniform(7), retry.NewUniform(8)
	const draws, buckets = 100_000, 10
	var count [buckets]int
	same := true
	for range draws {
		u := a()
		if u < 0 || u >= 1 || b() != u {
			t.Fatalf("drew %v", u)
		}
		same = same && other() == u
		count[int(u*buckets)]++
	}
	if same {
		t.Error("two seeds gave the same numbers")
	}
	for i, n := range count {
		if n < draws/buckets*95/100 || n > draws/buckets*105/100 { // five standard deviations
			t.Errorf("tenth %d was drawn %d times of %d", i, n, draws)
		}
	}
}

func TestParseStrategy(t *testing.T) {
	for _, s := range retry.Strategies {
		if got, err := retry.ParseStrategy(string(s)); got != s || err != nil {
			t.Errorf("%s: %q, %v", s, got, err)
		}
	}
	if _, err := retry.ParseStrategy("often"); err == nil {
		t.Error("an unknown strategy was accepted")
	}
}
