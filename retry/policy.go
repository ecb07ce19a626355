package retry

import (
	"context"
	"time"

	"exactlyone/clock"
)

// Policy says how often, for how long and after which waits a call is tried.
// The zero value tries once, without a limit of time.
type Policy struct {
	// Clock is for all waits and limits; nil means clock.Real{}.
	Clock clock.Clock
	// Attempts is how many there are at most, the first included; 0 or less
	// means 1.
	Attempts int
	// Backoff is the wait before each retry; the zero value waits for nothing.
	Backoff Backoff
	// Uniform draws from [0, 1) for jitter; nil means a source that is seeded
	// anew in each call. Calls at once may share one only if it allows that.
	Uniform func() float64
	// AttemptTimeout ends the context of each attempt; 0 or less means never.
	// An attempt that ends so is a time-out, whatever error it returns.
	AttemptTimeout time.Duration
	// Deadline is how long all attempts and waits may take together; 0 or less
	// means for ever. No attempt begins after it, no wait begins that would not
	// end before it, and the context of an attempt ends with it.
	Deadline time.Duration
	// MaxRetryAfter bounds the wait that a server asks for; 0 means one minute,
	// less than 0 that such fields are ignored. The longer of this wait and of
	// that of Backoff counts.
	MaxRetryAfter time.Duration
	// Budget is shared by all calls that may not retry too much together; nil
	// means that there is none.
	Budget *Budget
	// Classify tells what a result means; nil means [Classify].
	Classify func(Call, Result) Class
}

// defaultMaxRetryAfter is for Policy.MaxRetryAfter of 0.
const defaultMaxRetryAfter = time.Minute

// filled is the policy with its defaults in place, but for Uniform.
func (p Policy) filled() Policy {
	if p.Clock == nil {
		p.Clock = clock.Real{}
	}
	if p.Classify == nil {
		p.Classify = Classify
	}
	p.Attempts = max(1, p.Attempts)
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = defaultMaxRetryAfter
	}
	return p
}

// Attempt is one of the attempts of a call.
type Attempt struct {
	N   int    // counts from 1
	Key string // the idempotency key to send, the same each time; "" if there is none

	kept *context.CancelFunc // see keep
}

// keep hands the context of the attempt over to the caller, who ends it.
func (a Attempt) keep() context.CancelFunc {
	cancel := *a.kept
	*a.kept = nil
	return cancel
}
