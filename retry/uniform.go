package retry

import (
	"crypto/rand"
	"encoding/binary"
	"sync/atomic"
)

// NewUniform is a source of numbers in [0, 1), the same for the same seed. It
// may be called from several goroutines; which of them gets which number then
// depends on their order. The generator is SplitMix64 (Steele, Lea and Flood,
// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014): good enough to
// spread waits, and not for secrets.
func NewUniform(seed uint64) func() float64 {
	var state atomic.Uint64
	state.Store(seed)
	return func() float64 {
		z := state.Add(0x9e3779b97f4a7c15)
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
		return float64(z>>11) / (1 << 53)
	}
}

// unseeded is a source that differs in every process and every call.
func unseeded() func() float64 {
	var seed [8]byte
	_, _ = rand.Read(seed[:]) // never fails, see crypto/rand
	return NewUniform(binary.LittleEndian.Uint64(seed[:]))
}
