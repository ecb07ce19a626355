package retry

import "sync"

// BudgetConfig says how a [Budget] is spent and filled. Zero fields mean the
// defaults, which are those of the AWS SDKs.
type BudgetConfig struct {
	Tokens      int // it starts with so many and never holds more; 0 or less means 500
	RetryCost   int // of a retry; 0 or less means 5
	TimeoutCost int // of a retry after a time-out; 0 or less means 10
	Gain        int // for a success without a retry; 0 or less means 1
}

// Budget is a token bucket that many calls share, so that retries stay a small
// part of all requests when everything fails. A retry takes its cost or is not
// made; a success gives back what its last retry cost, or Gain if it took none.
// First attempts are free. Time does not fill it.
//
// That is the retry quota of the AWS SDKs (standard retry mode: 500 tokens, 5 a
// retry, 10 after a time-out). gRPC's retry throttling (proposal A6) is the
// same idea with failures taking 1, successes giving a fraction, and retries
// allowed above half of the bucket. A Budget is safe for concurrent use.
type Budget struct {
	cfg BudgetConfig

	mu     sync.Mutex
	tokens int
}

// NewBudget is a full bucket.
func NewBudget(cfg BudgetConfig) *Budget {
	for _, f := range []struct {
		n   *int
		def int
	}{{&cfg.Tokens, 500}, {&cfg.RetryCost, 5}, {&cfg.TimeoutCost, 10}, {&cfg.Gain, 1}} {
		if *f.n <= 0 {
			*f.n = f.def
		}
	}
	return &Budget{cfg: cfg, tokens: cfg.Tokens}
}

// Tokens is how many are left, from 0 to the Tokens of its config.
func (b *Budget) Tokens() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tokens
}

// Withdraw takes the cost of a retry after an attempt that ended as k. Ok is
// false, and nothing is taken, if there are not so many tokens.
func (b *Budget) Withdraw(k Kind) (cost int, ok bool) {
	cost = b.cfg.RetryCost
	if k == KindTimeout {
		cost = b.cfg.TimeoutCost
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < cost {
		return 0, false
	}
	b.tokens -= cost
	return cost, true
}

// Deposit tells of a success, or of a retry that was not made after all. Cost is
// what the last retry took, 0 if there was none.
func (b *Budget) Deposit(cost int) {
	if cost <= 0 {
		cost = b.cfg.Gain
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens += min(cost, b.cfg.Tokens-b.tokens)
}
