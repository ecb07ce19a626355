package exactlyone

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	"exactlyone/interleave"
)

// stableKeys remembers what numbers stand for.
type stableKeys struct{ values, histories stableTable }

// Stable tells the same states apart as [world.Key], but it is made of what the
// numbers in a state stand for, so that it is the same in every process: the
// numbers depend on who met a value first.
func (w *world) Stable(v []uint32) interleave.Key {
	u := w.masked(v)
	parts := make([]interleave.Key, w.clients)
	if !w.symmetry || w.named(u) && w.clients > maxRenamed {
		return w.stableAs(u, nil, parts, false)
	}
	if !w.named(u) {
		return w.stableAs(u, nil, parts, true)
	}
	if w.perms == nil {
		w.perms = permutations(w.clients)
	}
	best := w.stableAs(u, w.perms[0], parts, false)
	for _, perm := range w.perms[1:] {
		if k := w.stableAs(u, perm, parts, false); less(k, best) {
			best = k
		}
	}
	return best
}

// Part tells states apart by what executions seldom have in common later: the
// contents of the stores, the time, and the faults that are left.
func (w *world) Part(v []uint32) uint64 {
	k := interleave.HashKey(interleave.Key{}, v[:atBoundaries])
	k = interleave.HashKey(k, v[atBudgets:atStores])
	for s := range w.stores {
		k = k.Mix(w.stableValue(v[atStores+s], nil))
	}
	return k[0]
}

// stableAs is the key with clients exchanged, or with their parts in order.
func (w *world) stableAs(u []uint32, perm []int, parts []interleave.Key, inOrder bool) interleave.Key {
	k := interleave.HashKey(interleave.Key{}, u[:atBoundaries])
	k = interleave.HashKey(k, u[atFacts:atStores])
	k = k.Mix(w.stableValue(u[atBoundaries], nil)).Mix(w.stableValue(u[atProps], perm))
	for s := range w.stores {
		k = k.Mix(w.stableValue(u[atStores+s], perm))
	}
	for i := range w.lates {
		at := w.late(i)
		k = interleave.HashKey(k, u[at:at+1]).Mix(w.stableValue(u[at+1], perm))
	}
	for n := range w.nodes {
		k = interleave.HashKey(k, u[w.node(n)+1:w.node(n)+2]).Mix(w.stableHistory(u[w.node(n)], perm))
	}
	for c := range w.clients {
		to := c
		if perm != nil {
			to = perm[c]
		}
		parts[to] = w.stableClient(u, c, perm)
	}
	if inOrder {
		slices.SortFunc(parts, compareKeys)
	}
	for _, p := range parts {
		k = k.Mix(p)
	}
	return k
}

func compareKeys(a, b interleave.Key) int {
	switch {
	case less(a, b):
		return -1
	case less(b, a):
		return 1
	}
	return 0
}

// stableClient is the part of the key that client c has.
func (w *world) stableClient(u []uint32, c int, perm []int) interleave.Key {
	from := w.clientAt(c)
	k := interleave.HashKey(w.stableHistory(u[from], perm), u[from+clientFlags:from+clientFlags+1])
	for s := range w.layout.slots {
		at := w.slot(c, s)
		k = interleave.HashKey(k, u[at:at+1])
		if word(u[at]).phase() == phaseRunning && w.sys.Stateless {
			k = k.Mix(w.stableHistory(u[at+slotHistory], perm))
		} else {
			k = k.Mix(w.stableValue(u[at+slotHistory], nil)) // a deadline
		}
		k = k.Mix(w.stableValue(u[at+slotMessage], perm))
		for st := range w.stores {
			k = k.Mix(w.stableValue(u[at+slotSession+st], perm))
		}
	}
	return k
}

// stableValue is the key of a value with the clients exchanged.
func (w *world) stableValue(id uint32, perm []int) interleave.Key {
	if id == 0 {
		return interleave.Key{}
	}
	return w.stable.values.get(id, perm, func() interleave.Key {
		return stableText(rename(w.values.Key(id), perm))
	})
}

// stableHistory is the key of a history with the clients exchanged in every
// event. Where a history begins needs no name: its place in the state says whose
// it is.
func (w *world) stableHistory(id uint32, perm []int) interleave.Key {
	if id == 0 {
		return interleave.Key{}
	}
	return w.stable.histories.get(id, perm, func() interleave.Key {
		if state := w.tree.State(id); state != "" {
			_, state, _ = strings.Cut(state, " ") // without the number of the root
			return stableText(rename(state, perm))
		}
		parent, event := w.tree.Last(id)
		if parent == 0 {
			return interleave.Key{1, 1}
		}
		k := interleave.HashKey(w.stableHistory(parent, perm), []uint32{uint32(interleave.EventTask(event))})
		return k.Mix(w.stableValue(interleave.EventValue(event), perm))
	})
}

func stableText(text string) interleave.Key {
	sum := sha256.Sum256([]byte(text))
	return interleave.Key{binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]) | 1}
}

// stableTable remembers keys by number and permutation.
type stableTable struct {
	plain   []interleave.Key
	renamed map[[2]uint64]interleave.Key
}

func (t *stableTable) get(id uint32, perm []int, make func() interleave.Key) interleave.Key {
	if perm == nil {
		for int(id) >= len(t.plain) {
			t.plain = append(t.plain, interleave.Key{})
		}
		if t.plain[id] == (interleave.Key{}) {
			k := make() // may move the table
			t.plain[id] = k
		}
		return t.plain[id]
	}
	at := [2]uint64{uint64(id), permNumber(perm)}
	k, ok := t.renamed[at]
	if !ok {
		k = make()
		if t.renamed == nil {
			t.renamed = map[[2]uint64]interleave.Key{}
		}
		t.renamed[at] = k
	}
	return k
}
