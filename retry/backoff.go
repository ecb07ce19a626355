// Package retry answers: when may a call that failed be made again, after
// which wait, and when is it better to give up?
package retry

import (
	"fmt"
	"math"
	"time"
)

// Strategy says how the wait before a retry grows and how it is spread.
type Strategy string

// The strategies. With d = min(cap, base·2^(n-1)) before retry n ≥ 1 and u
// uniform in [0, 1), they wait:
const (
	None         Strategy = "none"         // 0
	Exponential  Strategy = "exponential"  // d
	Jitter10     Strategy = "jitter10"     // d·[0.9, 1.1), also above the cap
	Jitter25     Strategy = "jitter25"     // d·(0.75, 1]
	Equal        Strategy = "equal"        // d/2 + u·d/2
	Full         Strategy = "full"         // u·d
	Decorrelated Strategy = "decorrelated" // min(cap, base + u·(3·previous - base)), previous being base at first
)

// Strategies lists them all.
var Strategies = []Strategy{None, Exponential, Jitter10, Jitter25, Equal, Full, Decorrelated}

// ParseStrategy is the strategy of that name.
func ParseStrategy(name string) (Strategy, error) {
	for _, s := range Strategies {
		if string(s) == name {
			return s, nil
		}
	}
	return "", fmt.Errorf("strategy %q: one of none, exponential, jitter10, jitter25, equal, full, decorrelated was expected", name)
}

// Backoff computes waits. The jittered strategies are those of M. Brooker,
// "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015).
type Backoff struct {
	Strategy Strategy      // "" means None
	Base     time.Duration // the first wait before jitter; 0 or less means no wait
	Cap      time.Duration // no wait before jitter is longer; 0 means no cap
}

// longest leaves room above it for jitter: a float64 of 2⁶³ ns or more is no
// Duration.
const longest = time.Duration(math.MaxInt64 / 4)

// Wait is how long to wait before retry n, counted from 1. Previous is the wait
// before the retry before it, for Decorrelated; 0 if there was none. Uniform
// draws from [0, 1). It never overflows, whatever n and Cap: a Cap above 73
// years counts as 73 years.
func (b Backoff) Wait(n int, previous time.Duration, uniform func() float64) time.Duration {
	limit := float64(longest)
	if b.Cap > 0 {
		limit = min(limit, float64(b.Cap))
	}
	base := float64(b.Base)
	if base <= 0 || n < 1 {
		return 0
	}
	d := min(limit, base*math.Pow(2, float64(n-1)))
	switch b.Strategy {
	case "", None:
		return 0
	case Exponential:
	case Jitter10:
		d *= 0.9 + 0.2*uniform()
	case Jitter25:
		d *= 1 - 0.25*uniform()
	case Equal:
		d = d/2 + d/2*uniform()
	case Full:
		d *= uniform()
	case Decorrelated:
		d = min(limit, base+uniform()*(3*max(base, float64(previous))-base))
	default:
		panic("retry: unknown strategy " + string(b.Strategy))
	}
	return time.Duration(d)
}
