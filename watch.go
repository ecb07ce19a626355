package exactlyone

import (
	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// claimKey is a key that a request has claimed.
type claimKey string

func (k claimKey) String() string { return string(k) }

// fact notes what a property asked for.
func (w *world) fact(v []uint32, f props.Fact) { v[atFacts] |= uint32(f) }

// could notes that a fact could have been: the premise of its property held.
func (w *world) could(f props.Fact) {
	for i, p := range w.props {
		if p.Fact&f != 0 {
			w.held |= 1 << (i % 64)
		}
	}
}

// watchChange looks at a change that a request has made to a store: whether it
// left an effect, took a claim, or came too late.
func (w *world) watchChange(v []uint32, c, s, store int, before uint32) {
	at := w.slot(c, s)
	after := v[atStores+store]
	was := func(f func()) { v[atStores+store] = before; f(); v[atStores+store] = after }
	if w.watch&props.FactLeft != 0 {
		var had int
		was(func() { had = w.effectCount(v) })
		switch n := w.effectCount(v); {
		case n > had:
			v[at] |= uint32(wordLeft)
		case n < had:
			v[at] &^= uint32(wordLeft)
		}
	}
	if w.watch&props.FactOvertaken == 0 {
		return
	}
	if word(v[at])&wordOvertaken != 0 {
		w.fact(v, props.FactOvertaken)
	}
	var had []Claim
	was(func() { had = w.claimsIn(w.shared(v)) })
	for _, claim := range w.claimsIn(w.shared(v)) {
		if owner := ownerOf(had, claim.Key); owner != claim.Owner {
			w.take(v, c, s, w.values.ID(claimKey(claim.Key)))
		}
	}
}

func ownerOf(claims []Claim, key string) string {
	for _, c := range claims {
		if c.Key == key {
			return c.Owner
		}
	}
	return ""
}

// take notes that a request has taken a claim, maybe from another one that
// still runs.
func (w *world) take(v []uint32, c, s int, key uint32) {
	mine := w.slot(c, s)
	for oc := range w.clients {
		for os := range w.layout.slots {
			at := w.slot(oc, os)
			if at != mine && word(v[at]).phase() == phaseRunning && v[at+slotMessage] == key {
				v[at] |= uint32(wordOvertaken)
				w.could(props.FactOvertaken)
			}
		}
	}
	v[mine] &^= uint32(wordOvertaken)
	v[mine+slotMessage] = key
}

// watchAnswer looks at an answer that is delivered: whether a request that left
// an effect was refused.
func (w *world) watchAnswer(v []uint32, c, s int) {
	if w.watch&props.FactLeft == 0 || !w.refuses(v[w.slot(c, s)+slotMessage]) {
		return
	}
	w.could(props.FactLeft)
	if w.word(v, c, s)&wordLeft != 0 {
		w.fact(v, props.FactLeft)
	}
}

// refuses says whether an answer is final and no success.
func (w *world) refuses(answer uint32) bool {
	key := uint64(answer)<<8 | cacheRefuses
	if known, ok := w.cache.small.get(key); ok {
		return known == 1
	}
	refuses := uint64(0)
	if _, panicked := w.values.Value(answer).(interleave.Panicked); !panicked {
		if a := w.values.Value(answer).(model.Answer); !w.success(a) && !model.Retried(a.Status) {
			refuses = 1
		}
	}
	w.cache.small.put(key, refuses)
	return refuses == 1
}

// effectCount is the number of effects in the stores.
func (w *world) effectCount(v []uint32) int {
	if w.stores > 1 {
		return w.countEffects(w.shared(v))
	}
	key := uint64(v[atStores])<<8 | cacheEffects
	if n, ok := w.cache.small.get(key); ok {
		return int(n)
	}
	n := w.countEffects(w.shared(v))
	w.cache.small.put(key, uint64(n))
	return n
}
