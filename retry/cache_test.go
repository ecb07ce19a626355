package retry_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"exactlyone/clock"
	"exactlyone/retry"
)

func TestCache(t *testing.T) {
	clk := new(clock.Virtual)
	c := retry.NewCache[string](retry.CacheConfig{Entries: 2, Age: time.Minute, Clock: clk})
	calls := 0
	do := func(key string, readOnly bool, fails error) (string, bool) {
		v, hit, err := c.Do(key, readOnly, func() (string, error) {
			calls++
			return fmt.Sprint(key, calls), fails
		})
		if err != nil && !errors.Is(err, fails) {
			t.Errorf("%s: error %v, want %v", key, err, fails)
		}
		return v, hit
	}
	expect := func(what, key string, readOnly bool, fails error, want string, wantHit bool) {
		t.Helper()
		if got, hit := do(key, readOnly, fails); got != want || hit != wantHit {
			t.Errorf("%s: %s, hit %v; want %s, %v", what, got, hit, want, wantHit)
		}
	}
	down := errors.New("down")
	expect("first", "a", true, nil, "a1", false)
	expect("again", "a", true, nil, "a1", true)
	expect("an error", "b", true, down, "b2", false)
	expect("an error is not kept", "b", true, nil, "b3", false)
	expect("a is used", "a", true, nil, "a1", true)
	expect("a third", "c", true, nil, "c4", false)
	expect("a was used after b", "a", true, nil, "a1", true)
	expect("b had to go", "b", true, nil, "b5", false)
	clk.Advance(time.Minute - 1)
	expect("just young enough", "b", true, nil, "b5", true)
	clk.Advance(1)
	expect("too old", "b", true, nil, "b6", false)
	expect("a write", "b", false, nil, "b7", false)
	expect("a write again", "b", false, nil, "b8", false)
	if c.Len() != 0 {
		t.Errorf("%d results outlived a write", c.Len())
	}
	expect("after a write", "b", true, nil, "b9", false)
	expect("a failed write", "x", false, down, "x10", false)
	expect("may have written", "b", true, nil, "b11", false)
}

// TestCacheReadDuringWrite: what was read while something was being changed is
// not kept, whichever began first.
func TestCacheReadDuringWrite(t *testing.T) {
	c := retry.NewCache[int](retry.CacheConfig{})
	read := func(v int) func() (int, error) { return func() (int, error) { return v, nil } }
	_, _, _ = c.Do("r", true, func() (int, error) { // a read
		_, _, _ = c.Do("w", false, read(0)) // during which something is written
		return 1, nil
	})
	if v, hit, _ := c.Do("r", true, read(2)); hit || v != 2 {
		t.Errorf("the read from before the write was kept: %d", v)
	}
	_, _, _ = c.Do("w", false, func() (int, error) { // a write
		_, _, _ = c.Do("r", true, read(3)) // during which something is read
		return 0, nil
	})
	if v, hit, _ := c.Do("r", true, read(4)); hit || v != 4 {
		t.Errorf("the read during the write was kept: %d", v)
	}
}

// TestCacheBound: never more entries than allowed, and every hit is the last
// result of that key since the last write.
func TestCacheBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		entries := rapid.IntRange(1, 4).Draw(t, "entries")
		c := retry.NewCache[int](retry.CacheConfig{Entries: entries})
		last := map[string]int{}
		for i := range rapid.IntRange(0, 40).Draw(t, "calls") {
			key := rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "key")
			readOnly := rapid.IntRange(0, 9).Draw(t, "write") > 0
			v, hit, _ := c.Do(key, readOnly, func() (int, error) { return i, nil })
			switch {
			case hit && (v != last[key] || !readOnly):
				t.Fatalf("%s: %d, want %d", key, v, last[key])
			case !readOnly:
				clear(last)
			case !hit:
				last[key] = v
			}
			if c.Len() > entries {
				t.Fatalf("%d entries, want at most %d", c.Len(), entries)
			}
		}
	})
}

func TestCacheRaces(t *testing.T) {
	c := retry.NewCache[int](retry.CacheConfig{Entries: 3})
	var calls atomic.Int64
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				key := i % 5
				v, _, err := c.Do(fmt.Sprint(key), i%97 != g, func() (int, error) { calls.Add(1); return key, nil })
				if v != key || err != nil {
					t.Errorf("%d: %d, %v", key, v, err)
				}
			}
		})
	}
	wg.Wait()
	if c.Len() > 3 || calls.Load() > 8*500 {
		t.Errorf("%d entries after %d calls", c.Len(), calls.Load())
	}
}
