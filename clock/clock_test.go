package clock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"exactlyone/clock"
)

// contract is what every Clock promises. It runs inside a synctest bubble;
// pass moves time on once everybody waits.
func contract(t *testing.T, c clock.Clock, pass func()) {
	start := c.Now()
	ctx := context.Background()
	if err := c.Sleep(ctx, 0); err != nil || !c.Now().Equal(start) {
		t.Fatalf("Sleep(0) = %v at %v, want nil at once", err, c.Now().Sub(start))
	}

	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	sleeper := func(name string, d time.Duration) {
		wg.Go(func() {
			if err := c.Sleep(ctx, d); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if woke := c.Now().Sub(start); woke < d {
				t.Errorf("%s woke after %v, want at least %v", name, woke, d)
			}
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		})
		synctest.Wait()
	}
	sleeper("late", 3*time.Second)
	sleeper("early", time.Second)
	sleeper("middle", 2*time.Second)
	for range 3 {
		pass()
		synctest.Wait()
	}
	wg.Wait()
	if want := []string{"early", "middle", "late"}; !equal(order, want) {
		t.Errorf("woke in order %v, want %v", order, want)
	}

	cancelled, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- c.Sleep(cancelled, time.Hour) }()
	synctest.Wait()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled Sleep = %v, want %v", err, context.Canceled)
	}
	if err := c.Sleep(cancelled, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("Sleep with a done context = %v, want %v", err, context.Canceled)
	}
}

// timeouts is what WithTimeout promises on every Clock.
func timeouts(t *testing.T, c clock.Clock, pass func()) {
	start := c.Now()
	limited, cancel := clock.WithTimeout(context.Background(), c, 2*time.Second)
	defer cancel()
	child, cancelChild := context.WithCancel(limited)
	defer cancelChild()
	synctest.Wait()
	if limited.Err() != nil {
		t.Errorf("ended at once: %v", limited.Err())
	}
	pass()
	<-child.Done()
	if cause := context.Cause(limited); cause != context.DeadlineExceeded || c.Now().Sub(start) != 2*time.Second {
		t.Errorf("ended after %v with cause %v, want 2s and %v", c.Now().Sub(start), cause, context.DeadlineExceeded)
	}
	for _, d := range []time.Duration{0, -1} {
		passed, cancel := clock.WithTimeout(context.Background(), c, d)
		defer cancel()
		if cause := context.Cause(passed); cause != context.DeadlineExceeded {
			t.Errorf("after %v: cause %v, want %v", d, cause, context.DeadlineExceeded)
		}
	}
	unused, cancel := clock.WithTimeout(context.Background(), c, time.Hour)
	cancel()
	synctest.Wait()
	if unused.Err() != context.Canceled {
		t.Errorf("cancelled: %v, want %v", unused.Err(), context.Canceled)
	}
	parent, cancel := context.WithCancel(context.Background())
	child, cancelChild = clock.WithTimeout(parent, c, time.Hour)
	defer cancelChild()
	cancel()
	synctest.Wait()
	if child.Err() != context.Canceled {
		t.Errorf("parent cancelled: %v, want %v", child.Err(), context.Canceled)
	}
}

// plain is a clock that has no WithTimeout of its own.
type plain struct{ clock.Clock }

func TestWithTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeouts(t, clock.Real{}, func() {})
		timeouts(t, plain{clock.Real{}}, func() {})
	})
	synctest.Test(t, func(t *testing.T) {
		v := new(clock.Virtual)
		for _, c := range []clock.Clock{v, plain{v}} {
			timeouts(t, c, func() { v.Advance(2 * time.Second) })
			synctest.Wait()
		}
		if _, ok := v.Next(); ok {
			t.Error("somebody still waits")
		}
	})
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestContract(t *testing.T) {
	t.Run("real", func(t *testing.T) {
		// In a bubble the real clock moves by itself when everybody waits.
		synctest.Test(t, func(t *testing.T) { contract(t, clock.Real{}, func() {}) })
	})
	t.Run("virtual", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			v := new(clock.Virtual)
			contract(t, v, func() {
				if d, ok := v.Next(); ok {
					v.Advance(d)
				}
			})
			if _, ok := v.Next(); ok {
				t.Error("a cancelled sleeper is still waiting")
			}
		})
	})
}

func TestVirtualStandsStill(t *testing.T) {
	v := new(clock.Virtual)
	if !v.Now().Equal(clock.Epoch) {
		t.Errorf("starts at %v, want %v", v.Now(), clock.Epoch)
	}
	v.Advance(90 * time.Second)
	if got := clock.Since(v.Now()); got != "+1m30s" {
		t.Errorf("after 90 s: %s, want +1m30s", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("Advance(-1) did not panic")
		}
	}()
	v.Advance(-1)
}
