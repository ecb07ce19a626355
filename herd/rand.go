package herd

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// stream draws the random numbers of one repetition.
type stream struct{ rng *rand.Rand }

// newStream is the stream of one repetition: the seed chooses the experiment,
// name and the two numbers what is repeated and which time.
func newStream(seed uint64, name string, size, repetition int) stream {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return stream{rand.New(rand.NewPCG(seed, mix(h.Sum64()^mix(uint64(size)^mix(uint64(repetition))))))}
}

// mix spreads a number over 64 bits (the finalizer of SplitMix64, Steele et
// al., OOPSLA 2014), so that neighbours do not start neighbouring streams.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// uniform draws from [0, 1).
func (s stream) uniform() float64 { return s.rng.Float64() }

// delay draws |N(mean, sd)|, in nanoseconds: one way through the network.
func (s stream) delay(mean, sd time.Duration) int64 {
	return int64(math.Abs(float64(mean) + float64(sd)*s.rng.NormFloat64()))
}
