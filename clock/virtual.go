package clock

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Virtual is a clock that stands still until somebody calls [Virtual.Advance].
// Its zero value shows [Epoch] and is ready to use.
type Virtual struct {
	mu      sync.Mutex
	elapsed time.Duration
	waiting []*waiter // in creation order
}

type waiter struct {
	until time.Duration
	wake  func()
}

// Now is Epoch plus everything the clock was advanced by.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return Epoch.Add(v.elapsed)
}

// Sleep blocks until the clock was advanced by d, or ctx is done.
func (v *Virtual) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	woken := make(chan struct{})
	forget := v.wait(d, func() { close(woken) })
	select {
	case <-woken:
		return nil
	case <-ctx.Done():
		forget()
		return ctx.Err()
	}
}

// WithTimeout is a context that ends once the clock was advanced by d, see
// [WithTimeout].
func (v *Virtual) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if d <= 0 {
		cancel(context.DeadlineExceeded)
		return ctx, func() {}
	}
	forget := v.wait(d, func() { cancel(context.DeadlineExceeded) })
	return ctx, func() { forget(); cancel(context.Canceled) }
}

// wait calls wake once the clock was advanced by d, unless forget comes first.
func (v *Virtual) wait(d time.Duration, wake func()) (forget func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w := &waiter{until: v.elapsed + d, wake: wake}
	v.waiting = append(v.waiting, w)
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.waiting = slices.DeleteFunc(v.waiting, func(x *waiter) bool { return x == w })
	}
}

// Advance moves the clock forward by d and wakes every sleeper that is due:
// earlier deadlines first, and those due at one instant in the order in which
// they began to sleep. It panics if d is negative: time does not run backwards.
func (v *Virtual) Advance(d time.Duration) {
	if d < 0 {
		panic("clock: Advance by a negative duration")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.elapsed += d
	slices.SortStableFunc(v.waiting, func(a, b *waiter) int {
		return int(min(1, max(-1, a.until-b.until)))
	})
	for len(v.waiting) > 0 && v.waiting[0].until <= v.elapsed {
		v.waiting[0].wake()
		v.waiting = v.waiting[1:]
	}
}

// Next is how long until the earliest sleeper is due; ok is false if nobody
// sleeps.
func (v *Virtual) Next() (d time.Duration, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range v.waiting {
		if !ok || w.until-v.elapsed < d {
			d, ok = w.until-v.elapsed, true
		}
	}
	return d, ok
}
