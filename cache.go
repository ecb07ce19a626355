package exactlyone

import (
	"exactlyone/interleave"
	"exactlyone/model"
)

// caches are a worker's own copies of what the shared tables know, so that it
// rarely takes their lock. They may forget; the tables do not.
type caches struct {
	next     *lossy // history and event → history
	verdicts *lossy // property state and content → broken
	small    *lossy // number of an op or answer, tagged → number
	renamed  *lossy // number and permutation → number; see key.go
	replies  []storeEntry
	told     map[tripleKey]uint32

	rollback, commit                              [maxStores]uint32 // the numbers of what is often needed
	ok, connection, timeout, expired, commitError uint32
}

// Tags in keys of caches.small.
const (
	cacheRequest  = 1
	cacheReceived = 2
	cacheRefuses  = 3
	cacheEffects  = 4
)

type tripleKey [4]uint32

type storeEntry struct {
	key storeKey
	val storeVal
}

// storeBits is the binary logarithm of the length of caches.replies.
const storeBits = 14

func newCaches() caches {
	return caches{
		next: newLossy(15), verdicts: newLossy(12), small: newLossy(10), renamed: newLossy(16),
		replies: make([]storeEntry, 1<<storeBits), told: map[tripleKey]uint32{},
	}
}

// liveCaches are small: they serve one execution.
func liveCaches() caches {
	return caches{
		verdicts: newLossy(4), small: newLossy(4), renamed: newLossy(4), told: map[tripleKey]uint32{},
	}
}

// fill numbers what is often needed.
func (c *caches) fill(values *interleave.Interner, stores int) {
	c.ok = values.ID(ok{})
	c.connection = values.ID(received{err: model.ErrConnection})
	c.timeout = values.ID(received{err: model.ErrTimeout})
	c.expired = values.ID(received{err: errExpired})
	c.commitError = values.ID(Reply{Err: model.ErrCommit})
	for s := range stores {
		c.rollback[s], c.commit[s] = values.ID(storeOp{s, RollbackOp{}}), values.ID(storeOp{s, CommitOp{}})
	}
}

// lossy is a map of a fixed size in which a new key may push out another.
type lossy struct {
	entries []struct{ key, val uint64 } // key + 1; 0 is free
	shift   uint
}

func newLossy(bits uint) *lossy {
	return &lossy{entries: make([]struct{ key, val uint64 }, 1<<bits), shift: 64 - bits}
}

func (l *lossy) get(key uint64) (uint64, bool) {
	e := &l.entries[(key*0x9e3779b97f4a7c15)>>l.shift]
	return e.val, e.key == key+1
}

func (l *lossy) put(key, val uint64) {
	l.entries[(key*0x9e3779b97f4a7c15)>>l.shift] = struct{ key, val uint64 }{key + 1, val}
}

// next is the history with one more event; in a live run, the code does it.
func (w *world) next(history, event uint32) uint32 {
	if w.live != nil {
		return w.live.next(history, event)
	}
	key := uint64(history)<<32 | uint64(event)
	if id, ok := w.cache.next.get(key); ok {
		return uint32(id)
	}
	id := w.tree.Next(history, event)
	w.cache.next.put(key, uint64(id))
	return id
}

// spawn is the history of a stateless server process on node n that is given
// its only request.
func (w *world) spawn(history uint32, n int, event uint32) uint32 {
	if w.live != nil {
		return w.live.spawn(n, event)
	}
	return w.next(history, event)
}

// stands is where the tasks of a process stand after a history.
func (w *world) stands(history uint32) []interleave.Parked {
	if w.live != nil {
		return w.live.procs[history].parked
	}
	return w.tree.Parked(history)
}

func (w *world) bootServer(n int) uint32 {
	if w.live != nil {
		return w.live.bootServer(n)
	}
	return w.server
}

// resume is client c, or a background actor, at the begin of the closing phase.
func (w *world) resume(c int) uint32 {
	if w.live != nil {
		return w.live.bootClient(c, true)
	}
	return w.tables.begin(c, true, true)
}

func (w *world) bootClient(c int) uint32 {
	if w.live != nil {
		return w.live.bootClient(c, false)
	}
	if w.reduce.clients {
		return w.forget[c]
	}
	return w.client[c]
}

// doStore carries out an op on a store.
func (w *world) doStore(k storeKey, v []uint32) storeVal {
	op := w.values.Value(k.op).(storeOp)
	if t, ok := op.op.(Timed); ok && t.Timed() {
		k.now = now(v)
	}
	if w.live != nil {
		return w.tables.perform(k, moved(v))
	}
	h := (uint64(k.shared)<<32|uint64(k.op))*0x9e3779b97f4a7c15 ^ (uint64(k.session)<<8|uint64(k.store))*0xe7037ed1a0b428db ^ uint64(k.now)
	e := &w.cache.replies[h>>(64-storeBits)]
	if e.key == k && e.val.reply != 0 {
		return e.val
	}
	val := w.do(k, moved(v))
	*e = storeEntry{k, val}
	return val
}
