package interleave

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Interner gives equal values equal numbers. Numbers start at 1; 0 stands for
// no value. It is safe for concurrent use, and reading back takes no lock.
type Interner struct {
	mu    sync.Mutex
	ids   map[string]uint32
	items chunks[interned]
}

type interned struct {
	key   string
	value any
}

// NewInterner is an empty table.
func NewInterner() *Interner {
	in := &Interner{ids: map[string]uint32{}}
	in.items.add(interned{})
	return in
}

// ID is the number of a value. Values of one type are equal if their keys are,
// or, where they have no Key method, their strings.
func (in *Interner) ID(v fmt.Stringer) uint32 {
	if k, ok := v.(interface{ Key() string }); ok {
		return in.Keyed(fmt.Sprintf("%T|%s", v, k.Key()), v)
	}
	return in.Keyed(fmt.Sprintf("%T|%s", v, v), v)
}

// Keyed is the number of the value with that key. A nil value numbers the key
// alone; the first other value given for a key is the one kept.
func (in *Interner) Keyed(key string, v any) uint32 {
	in.mu.Lock()
	defer in.mu.Unlock()
	if id, ok := in.ids[key]; ok {
		if item := in.items.at(id); item.value == nil {
			item.value = v
		}
		return id
	}
	id := in.items.add(interned{key, v})
	in.ids[key] = id
	return id
}

// Value is the value behind a number, nil for 0.
func (in *Interner) Value(id uint32) any { return in.items.at(id).value }

// Key is the key behind a number, "" for 0.
func (in *Interner) Key(id uint32) string { return in.items.at(id).key }

// Len is how many numbers there are, 0 included.
func (in *Interner) Len() int { return int(in.items.n.Load()) }

// chunks is a growing array whose elements never move, so that readers need no
// lock: a directory of fixed blocks.
//
//	dir ─▶ [0 … 4095] [4096 … 8191] …
type chunks[T any] struct {
	dir [1 << 14]atomic.Pointer[[chunkLen]T]
	n   atomic.Uint32
}

const chunkLen = 1 << 12

// add appends v; callers hold a lock of their own.
func (c *chunks[T]) add(v T) uint32 {
	i := c.n.Load()
	if int(i/chunkLen) >= len(c.dir) {
		panic(ErrTooMany)
	}
	if i%chunkLen == 0 {
		c.dir[i/chunkLen].Store(new([chunkLen]T))
	}
	c.dir[i/chunkLen].Load()[i%chunkLen] = v
	c.n.Store(i + 1)
	return i
}

func (c *chunks[T]) at(i uint32) *T { return &c.dir[i/chunkLen].Load()[i%chunkLen] }
