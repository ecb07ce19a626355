package retry_test

import (
	"math"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"exactlyone/retry"
)

// TestBudgetDefaults: the numbers of the AWS SDKs' standard retry mode.
func TestBudgetDefaults(t *testing.T) {
	b := retry.NewBudget(retry.BudgetConfig{})
	step := func(what string, want int) {
		t.Helper()
		if got := b.Tokens(); got != want {
			t.Errorf("%s: %d tokens, want %d", what, got, want)
		}
	}
	step("full", 500)
	cost, _ := b.Withdraw(retry.KindUpstream)
	step("after a retry", 495)
	b.Deposit(cost)
	step("after its success", 500)
	_, _ = b.Withdraw(retry.KindTimeout)
	step("after a time-out", 490)
	b.Deposit(0)
	step("after a success without a retry", 491)
	for range 49 {
		if _, ok := b.Withdraw(retry.KindTimeout); !ok {
			t.Fatal("refused with tokens left")
		}
	}
	step("after 49 more", 1)
	if cost, ok := b.Withdraw(retry.KindRateLimit); ok || cost != 0 {
		t.Errorf("5 of 1 token were taken: %d, %v", cost, ok)
	}
	step("after a refusal", 1)
}

// TestBudgetNeverExceeds: whatever happens, there are between 0 and all tokens,
// a retry takes its cost or nothing, and retries are at most what tokens and
// successes allow.
func TestBudgetNeverExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.IntRange(1, 30), rapid.Just(math.MaxInt))
		small := rapid.IntRange(1, 7)
		cfg := retry.BudgetConfig{
			Tokens: size.Draw(t, "tokens"), RetryCost: small.Draw(t, "retry"),
			TimeoutCost: small.Draw(t, "timeout"), Gain: rapid.OneOf(small, rapid.Just(math.MaxInt)).Draw(t, "gain"),
		}
		b := retry.NewBudget(cfg)
		for _, k := range rapid.SliceOf(rapid.SampledFrom([]retry.Kind{retry.KindOK, retry.KindTimeout, retry.KindUpstream})).Draw(t, "ends") {
			before := b.Tokens()
			if k == retry.KindOK {
				cost := rapid.IntRange(0, 7).Draw(t, "cost")
				b.Deposit(cost)
				gain := cost
				if cost == 0 {
					gain = cfg.Gain
				}
				if want := before + min(gain, cfg.Tokens-before); b.Tokens() != want {
					t.Fatalf("deposit of %d makes %d of %d, want %d", cost, b.Tokens(), before, want)
				}
				continue
			}
			want := cfg.RetryCost
			if k == retry.KindTimeout {
				want = cfg.TimeoutCost
			}
			cost, ok := b.Withdraw(k)
			if ok != (before >= want) || ok && cost != want || !ok && cost != 0 || b.Tokens() != before-cost {
				t.Fatalf("%s takes %d, %v of %d: %d are left", k, cost, ok, before, b.Tokens())
			}
		}
		if n := b.Tokens(); n < 0 || n > cfg.Tokens {
			t.Fatalf("%d tokens of %d", n, cfg.Tokens)
		}
	})
}

// TestBudgetRaces: goroutines that share a budget take exactly what there is.
func TestBudgetRaces(t *testing.T) {
	b := retry.NewBudget(retry.BudgetConfig{Tokens: 1000, RetryCost: 3})
	var taken [8]int
	var wg sync.WaitGroup
	for i := range taken {
		wg.Go(func() {
			for range 1000 {
				if _, ok := b.Withdraw(retry.KindUpstream); ok {
					taken[i]++
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range taken {
		sum += n
	}
	if sum != 333 || b.Tokens() != 1 {
		t.Errorf("%d retries and %d tokens left, want 333 and 1", sum, b.Tokens())
	}
	for range 8 {
		wg.Go(func() {
			for range 100 {
				b.Deposit(3)
			}
		})
	}
	wg.Wait()
	if b.Tokens() != 1000 {
		t.Errorf("%d tokens after too many successes, want 1000", b.Tokens())
	}
}
