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
	woken chan struct{}
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
	v.mu.Lock()
	w := &waiter{until: v.elapsed + d, woken: make(chan struct{})}
	v.waiting = append(v.waiting, w)
	v.mu.Unlock()
	select {
	case <-w.woken:
		return nil
	case <-ctx.Done():
		v.mu.Lock()
		v.waiting = slices.DeleteFunc(v.waiting, func(x *waiter) bool { return x == w })
		v.mu.Unlock()
		return ctx.Err()
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
		close(v.waiting[0].woken)
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
