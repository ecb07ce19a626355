package herd

import (
	"math"
	"time"

	"exactlyone/retry"
)

// Published are the strategies of the published table.
var Published = []retry.Strategy{retry.None, retry.Exponential, retry.Jitter10, retry.Equal, retry.Full, retry.Decorrelated}

// publishedRepetitions is how many repetitions each published mean is of.
const publishedRepetitions = 100

// published holds the published means by strategy and clients: write calls
// and ms, as whole numbers.
var published = map[retry.Strategy]map[int][2]float64{
	retry.None:         {10: {50, 377}, 50: {690, 1140}, 100: {2427, 2031}},
	retry.Exponential:  {10: {51, 3534}, 50: {624, 36583}, 100: {1847, 63188}},
	retry.Jitter10:     {10: {46, 1292}, 50: {390, 8122}, 100: {927, 12762}},
	retry.Equal:        {10: {43, 721}, 50: {346, 4191}, 100: {812, 6620}},
	retry.Full:         {10: {39, 478}, 50: {333, 2884}, 100: {796, 4956}},
	retry.Decorrelated: {10: {38, 446}, 50: {374, 2197}, 100: {1005, 4488}},
}

// Against compares an estimate with a published mean.
type Against struct {
	Published float64 `json:"published"`
	Errors    float64 `json:"errors"` // published - ours, in standard errors of this difference
	Within    bool    `json:"within"` // |Errors| is at most the 97.5 % quantile of Student's t
}

// against compares with a mean of m repetitions, rounded to a whole number. It
// assumes that those had the standard deviation that ours have; rounding adds
// the variance of a uniform error, 1/12.
func (e Estimate) against(mean float64, m int) Against {
	variance := e.SD*e.SD*(1/float64(e.N)+1/float64(m)) + 1.0/12
	z := (mean - e.Mean) / math.Sqrt(variance)
	return Against{mean, z, math.Abs(z) <= studentQuantile(e.N-1)}
}

// comparable reports whether the race was run as the published one, but for
// the seed, the repetitions and the number of the first retry.
func (r *RaceResult) comparable() bool {
	return r.Base == 5*time.Millisecond && r.Cap == 2*time.Second &&
		r.DelayMean == 10*time.Millisecond && r.DelaySD == 2*time.Millisecond && r.Repetitions > 1
}

// Against compares a cell with the published means of calls and time; ok is
// false where there are none.
func (r *RaceResult) Against(c *RaceCell) (calls, time Against, ok bool) {
	means, ok := published[c.Strategy][c.Clients]
	if !ok || !r.comparable() {
		return calls, time, false
	}
	return c.Calls.against(means[0], publishedRepetitions), c.Time.against(means[1], publishedRepetitions), true
}
