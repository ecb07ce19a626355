package choice

import "math/rand/v2"

// Random draws every answer uniformly. Equal seeds give equal answers.
type Random struct{ rng *rand.Rand }

// NewRandom is a source seeded with seed.
func NewRandom(seed uint64) *Random {
	return &Random{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// Choose draws from 0 to n-1.
func (r *Random) Choose(n int, _ string) int { return r.rng.IntN(n) }
