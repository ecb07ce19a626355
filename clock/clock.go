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
