package model

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"exactlyone/clock"
)

// Sweeper deletes keys that need be kept no longer: finished ones after their
// retention. With Claims it also deletes claims whose lease ran out. That is
// flawed: the next claim of such a key has the first fence again, and the owner
// that was only slow passes it.
type Sweeper struct {
	Store  Store
	Clock  clock.Clock
	Claims bool
}

// Sweep is one round.
func (w Sweeper) Sweep(ctx context.Context) {
	old := Delete("keys", Where("lease", "<", w.Clock.Now()))
	if !w.Claims {
		old.Where = append(old.Where, Eq("status", done))
	}
	_, _ = w.Store.Do(ctx, old)
}

// Claims are what one process holds, by key: the fence of each. They are safe
// for concurrent use.
type Claims struct {
	mu     sync.Mutex
	fences map[string]int64
}

// NewClaims holds nothing.
func NewClaims() *Claims { return &Claims{fences: map[string]int64{}} }

func (c *Claims) add(key string, fence int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fences[key] = fence
}

// all is a copy of what is held.
func (c *Claims) all() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.fences)
}

func (c *Claims) remove(key string, fence int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fences[key] == fence {
		delete(c.fences, key)
	}
}

// Renewer makes leases last as long as the work for which they were taken, while
// the process lives. With All it renews every claim that it finds in the store.
// That is flawed: a claim whose owner died is renewed for ever.
type Renewer struct {
	Store Store
	Clock clock.Clock
	Lease time.Duration
	Held  *Claims
	All   bool
}

// Renew is one round.
func (w Renewer) Renew(ctx context.Context) {
	until := w.Clock.Now().Add(w.Lease)
	if w.All {
		_, _ = w.Store.Do(ctx, Update("keys", Set("lease", until)).If(Eq("status", InProgress)))
		return
	}
	held := w.Held.all()
	for _, key := range slices.Sorted(maps.Keys(held)) {
		mine := []Cond{Eq("key", key), Eq("status", InProgress), Eq("fence", held[key])}
		_, _ = w.Store.Do(ctx, Update("keys", Set("lease", until)).If(mine...))
	}
}
