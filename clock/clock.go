// Package clock answers one question: how does code that must wait or look at
// the time run unchanged in production and under a scheduler that owns time?
//
// Code takes a [Clock] as an argument. Production passes [Real]; a unit test
// passes a [Virtual] and moves it by hand; the explorer passes one whose every
// reading is a step and whose every movement is a choice.
package clock

import (
	"context"
	"time"
)

// Clock tells the time and waits. Implementations are safe for concurrent use.
type Clock interface {
	// Now is the current time, in UTC where the clock is virtual.
	Now() time.Time
	// Sleep waits for d and returns nil, or returns the context's error as
	// soon as ctx is done. A d of zero or less returns at once.
	Sleep(ctx context.Context, d time.Duration) error
}

// WithTimeout is a context that also ends once d has passed on c, with
// [context.DeadlineExceeded] as its [context.Cause]; its Err may say that it was
// cancelled. A d of zero or less has passed already. Call cancel when the context
// is no longer needed.
//
// A clock may do it in a method of that name; for one that does not, a goroutine
// sleeps on it. A clock that wraps another should pass the method on.
func WithTimeout(ctx context.Context, c Clock, d time.Duration) (limited context.Context, cancel context.CancelFunc) {
	if own, ok := c.(interface {
		WithTimeout(context.Context, time.Duration) (context.Context, context.CancelFunc)
	}); ok {
		return own.WithTimeout(ctx, d)
	}
	limited, cause := context.WithCancelCause(ctx)
	if d <= 0 {
		cause(context.DeadlineExceeded)
	}
	go func() {
		if c.Sleep(limited, d) == nil {
			cause(context.DeadlineExceeded)
		}
	}()
	return limited, func() { cause(context.Canceled) }
}

// Epoch is where virtual time starts, so that printed times are the same in
// every run.
var Epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// Since formats a virtual time as its distance from [Epoch], e.g. "+30s".
func Since(t time.Time) string {
	d := t.Sub(Epoch)
	if d < 0 {
		return d.String()
	}
	return "+" + d.String()
}
