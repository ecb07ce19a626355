package interleave

// Action is one choice of the scheduler in one state. Numbers are given by the
// [Model]; FaultBit marks those that break something.
type Action uint32

// FaultBit is set in every action that uses up a fault budget.
const FaultBit Action = 1 << 31

// Fault says whether the action uses up a fault budget.
func (a Action) Fault() bool { return a&FaultBit != 0 }

// ends says whether an execution may end where only these actions are
// possible: a fault need not strike.
func ends(acts []Action) bool { return len(acts) == 0 || acts[0].Fault() }

// Model is what a search moves through. A state is a vector of numbers of a
// fixed width. Implementations keep scratch space and counters, so each worker
// has its own, made by Fork; tables of what was learned are shared.
type Model interface {
	// Width is the length of a state.
	Width() int
	// Start writes the initial state to v.
	Start(v []uint32)
	// Enabled appends the actions possible in v to buf, always in the same
	// order, steps before faults. An execution ends where there is no step:
	// nothing is left to do, or all wait for one another. Faults may be
	// possible there, and then executions both end and go on.
	Enabled(v []uint32, buf []Action) []Action
	// Apply writes the state after action a in v to next, and returns the
	// number of the property that is broken there, 0 if none is.
	Apply(v []uint32, a Action, next []uint32) (broken uint32)
	// End returns the number of the property that is broken if the execution
	// ends in v, 0 if none is.
	End(v []uint32) (broken uint32)
	// Key is equal for two states if and only if the search may take them for
	// one another. Its 128 bits may be a hash.
	Key(v []uint32) Key
	// Switch says whether action a in v is a step of another task than the
	// step before. Only a model made by Fork(true) can tell.
	Switch(v []uint32, a Action) bool
	// Fork is another model over the same tables. With last, states and their
	// keys include which task made the last step.
	Fork(last bool) Model
}

// Key identifies a state.
type Key [2]uint64

// HashKey is the key of a vector that follows what k is the key of: two
// independent multiply-and-fold hashes of 64 bits each (after wyhash). Two
// given states collide with probability about 2^-128, so a search of a billion
// states meets a collision with probability below 2^-68.
func HashKey(k Key, v []uint32) Key {
	a, b := fold(k[0]+uint64(len(v)), k0), fold(k[1]+uint64(len(v)), k1)
	i := 0
	for ; i+2 <= len(v); i += 2 {
		w := uint64(v[i]) | uint64(v[i+1])<<32
		a = fold(a^w, k2)
		b = fold(b^w, k3)
	}
	if i < len(v) {
		a = fold(a^uint64(v[i]), k2)
		b = fold(b^uint64(v[i]), k3)
	}
	return Key{fold(a, k1), fold(b, k0)}
}

// Mix is the key of what k is the key of, followed by what other is.
func (k Key) Mix(other Key) Key {
	return Key{fold(k[0]^other[0], k2) + other[1], fold(k[1]^other[1], k3) + other[0]}
}
