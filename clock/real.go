package clock

import (
	"context"
	"time"
)

// Real is the machine's clock. Its zero value is ready to use.
type Real struct{}

// Now is [time.Now].
func (Real) Now() time.Time { return time.Now() }

// Sleep waits for d or until ctx is done, whichever comes first.
func (Real) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// WithTimeout is [context.WithTimeout].
func (Real) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}
