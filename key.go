package exactlyone

import (
	"fmt"
	"slices"
	"strings"

	"exactlyone/interleave"
)

// newToken is the n-th fresh id drawn by or for client c. Its form is fixed in
// length where it names the client, so that exchanging clients is exchanging
// one digit of it, which counts from 1.
func newToken(c int, n uint32) token { return token(fmt.Sprintf("~c%d.%d~", c+1, n)) }

// rename exchanges clients in a text: client c of every token becomes perm[c].
func rename(text string, perm []int) string {
	const mark = "~c"
	if !strings.Contains(text, mark) {
		return text
	}
	b := []byte(text)
	for i := strings.Index(text, mark); i >= 0; {
		d := i + len(mark)
		if d < len(b) && b[d] >= '1' && int(b[d]-'1') < len(perm) && d+1 < len(b) && b[d+1] == '.' {
			b[d] = '1' + byte(perm[b[d]-'1'])
		}
		j := strings.Index(text[d:], mark)
		if j < 0 {
			break
		}
		i = d + j
	}
	return string(b)
}

// Key tells states apart. Where clients are interchangeable, states that
// differ only in who is who have one key: the least vector among those that
// exchanging clients makes of it, exchanging their names in everything stored,
// sent and remembered alike. Where nothing names a client, the order of the
// clients' parts is left out of the key instead.
func (w *world) Key(v []uint32) interleave.Key {
	u := w.masked(v)
	if !w.symmetry {
		return interleave.HashKey(interleave.Key{}, u)
	}
	if !w.named(u) {
		return w.sortedKey(u)
	}
	if w.clients > maxRenamed {
		return interleave.HashKey(interleave.Key{}, u) // too many ways to exchange them
	}
	if w.perms == nil {
		w.perms = permutations(w.clients)
	}
	best, other := w.scratch[1], w.scratch[2]
	w.renameVector(u, w.perms[0], best) // exchanges nobody
	for _, perm := range w.perms[1:] {
		if w.renameVector(u, perm, other); slices.Compare(other, best) < 0 {
			best, other = other, best
		}
	}
	return interleave.HashKey(interleave.Key{}, best)
}

// masked is a state without what keys leave out. It is only lent.
func (w *world) masked(v []uint32) []uint32 {
	if w.scratch == nil {
		for range 3 {
			w.scratch = append(w.scratch, make([]uint32, w.width))
		}
	}
	u := w.scratch[0]
	copy(u, v)
	for n := range w.nodes {
		u[w.node(n)+1] &^= nodeCrashable
	}
	for c := range w.clients {
		for s := range w.layout.slots {
			u[w.slot(c, s)] &^= w.noKey
		}
	}
	return u
}

// sortedKey is the key of a vector in whatever order its clients' parts are:
// each part is hashed by itself, and the hashes are taken in ascending order.
func (w *world) sortedKey(u []uint32) interleave.Key {
	parts := w.parts[:0]
	for c := range w.clients {
		from := w.clientAt(c)
		parts = append(parts, interleave.HashKey(interleave.Key{}, u[from:from+w.clientLen]))
		for i := c; i > 0 && less(parts[i], parts[i-1]); i-- {
			parts[i], parts[i-1] = parts[i-1], parts[i]
		}
	}
	w.parts = parts
	key := interleave.HashKey(interleave.Key{}, u[:w.client0])
	for _, p := range parts {
		key = key.Mix(p)
	}
	return key
}

func less(a, b interleave.Key) bool { return a[0] < b[0] || a[0] == b[0] && a[1] < b[1] }

// maxRenamed is the number of clients up to which states that name clients are
// compared under every exchange of them.
const maxRenamed = 5

// named says whether anything in the state names a client.
func (w *world) named(u []uint32) bool {
	for c := range w.clients {
		if u[w.clientAt(c)+clientFlags] != 0 {
			return true
		}
	}
	return false
}

// renameVector writes u with the clients exchanged to out: what client c was
// is then client perm[c].
func (w *world) renameVector(u []uint32, perm []int, out []uint32) {
	copy(out, u)
	p := permNumber(perm)
	value := func(id uint32) uint32 { return w.renameValue(id, perm, p) }
	history := func(id uint32) uint32 { return w.renameHistory(id, perm, p) }
	out[atProps] = value(u[atProps])
	for s := range w.stores {
		out[atStores+s] = value(u[atStores+s])
	}
	for i := range w.lates {
		out[w.late(i)+1] = value(u[w.late(i)+1])
	}
	for n := range w.nodes {
		out[w.node(n)] = history(u[w.node(n)])
	}
	for c := range w.clients {
		from, to := w.clientAt(c), w.clientAt(perm[c])
		copy(out[to:to+w.clientLen], u[from:from+w.clientLen])
		out[to] = history(u[from])
		for s := range w.layout.slots {
			at := w.slot(perm[c], s)
			switch word(out[at]).phase() {
			case phaseRunning:
				if w.sys.Stateless {
					out[at+slotHistory] = history(out[at+slotHistory])
				}
			}
			out[at+slotMessage] = value(out[at+slotMessage])
			for st := range w.stores {
				out[at+slotSession+st] = value(out[at+slotSession+st])
			}
		}
	}
}

// renameValue is the number of a value with the clients exchanged. Only its
// key is made: the value itself is never used.
func (w *world) renameValue(id uint32, perm []int, p uint64) uint32 {
	if id == 0 {
		return 0
	}
	return w.renameCached(uint64(id)<<32|p<<1, func() uint32 {
		key := w.values.Key(id)
		if other := rename(key, perm); other != key {
			return w.values.Keyed(other, nil)
		}
		return id
	})
}

// renameHistory is a number for a history with the clients exchanged in every
// event. It numbers what happened and not the node of a tree, so that the
// history need not have occurred; no code is run for it.
func (w *world) renameHistory(id uint32, perm []int, p uint64) uint32 {
	if id == 0 {
		return 0
	}
	return w.renameCached(uint64(id)<<32|p<<1|1, func() uint32 {
		if state := w.tree.State(id); state != "" {
			return w.values.Keyed("remembers "+rename(state, perm), nil)
		}
		parent, event := w.tree.Last(id)
		if parent == 0 {
			return w.values.Keyed(fmt.Sprint("root ", id), nil)
		}
		value := w.renameValue(interleave.EventValue(event), perm, p)
		return w.values.Keyed(fmt.Sprint("history ", w.renameHistory(parent, perm, p), " ", interleave.EventTask(event), " ", value), nil)
	})
}

func (w *world) renameCached(key uint64, make func() uint32) uint32 {
	if id, ok := w.cache.renamed.get(key); ok {
		return uint32(id)
	}
	id := make()
	w.cache.renamed.put(key, uint64(id))
	return id
}

// permNumber tells permutations of up to 8 clients apart, in 24 bits.
func permNumber(perm []int) uint64 {
	var n uint64
	for _, p := range perm {
		n = n*uint64(len(perm)) + uint64(p)
	}
	return n
}

// permutations of 0 … n-1, in lexicographic order.
func permutations(n int) [][]int {
	var all [][]int
	var extend func(prefix []int)
	extend = func(prefix []int) {
		if len(prefix) == n {
			all = append(all, slices.Clone(prefix))
			return
		}
		for i := range n {
			if !slices.Contains(prefix, i) {
				extend(append(prefix, i))
			}
		}
	}
	extend(nil)
	return all
}
