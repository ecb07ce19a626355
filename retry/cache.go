package retry

import (
	"container/list"
	"sync"
	"time"

	"exactlyone/clock"
)

// CacheConfig says how much a [Cache] keeps. Zero fields mean the defaults.
type CacheConfig struct {
	Entries int           // at most so many results; 0 or less means 128
	Age     time.Duration // a result is used for so long; 0 or less means for ever
	Clock   clock.Clock   // for Age; nil means clock.Real{}
}

// Cache keeps results of read-only calls within one session, so that the same
// question is not asked twice. It is no shared cache: what others change is not
// noticed before Age has passed. The result used least recently goes first.
//
// A call that is not declared read-only is always made, and when it ends, what
// was kept before or read meanwhile is forgotten: it may have changed what the
// others read.
// Errors are never kept. Calls for one key at the same time are each made. A
// Cache is safe for concurrent use, as far as the values are.
type Cache[V any] struct {
	cfg CacheConfig

	mu      sync.Mutex
	byKey   map[string]*list.Element
	recent  *list.List // of *entry[V], the most recently used first
	changes int        // calls that were not read-only and have ended
}

type entry[V any] struct {
	key   string
	value V
	asked mark
}

// NewCache is an empty cache.
func NewCache[V any](cfg CacheConfig) *Cache[V] {
	if cfg.Entries <= 0 {
		cfg.Entries = 128
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.Real{}
	}
	return &Cache[V]{cfg: cfg, byKey: map[string]*list.Element{}, recent: list.New()}
}

// Do is the kept result of a read-only call with that key, e.g. one of
// [Business.Key], or else what call returns. Hit says which.
func (c *Cache[V]) Do(key string, readOnly bool, call func() (V, error)) (value V, hit bool, err error) {
	if !readOnly {
		defer c.forget()
		value, err = call()
		return value, false, err
	}
	asked := c.mark()
	if value, hit = c.get(key, asked); hit {
		return value, true, nil
	}
	if value, err = call(); err == nil {
		c.put(key, value, asked)
	}
	return value, false, err
}

// mark is a moment in the life of a cache.
type mark struct {
	changes int
	at      time.Time // zero where results do not age
}

func (c *Cache[V]) mark() (m mark) {
	if c.cfg.Age > 0 {
		m.at = c.cfg.Clock.Now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m.changes = c.changes
	return m
}

// Len is how many results are kept, at most the Entries of its config.
func (c *Cache[V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent.Len()
}

func (c *Cache[V]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byKey)
	c.recent.Init()
	c.changes++
}

func (c *Cache[V]) get(key string, now mark) (value V, hit bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	e := at.Value.(*entry[V])
	if c.cfg.Age > 0 && now.at.Sub(e.asked.at) >= c.cfg.Age {
		c.remove(at)
		return value, false
	}
	c.recent.MoveToFront(at)
	return e.value, true
}

// put keeps a result, unless something may have changed since it was asked for.
func (c *Cache[V]) put(key string, value V, asked mark) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if asked.changes != c.changes {
		return
	}
	if at, ok := c.byKey[key]; ok {
		c.remove(at)
	}
	c.byKey[key] = c.recent.PushFront(&entry[V]{key, value, asked})
	if c.recent.Len() > c.cfg.Entries {
		c.remove(c.recent.Back())
	}
}

func (c *Cache[V]) remove(at *list.Element) {
	delete(c.byKey, at.Value.(*entry[V]).key)
	c.recent.Remove(at)
}
