package bisect

import (
	"fmt"
	"math"

	"exactlyone/stats"
)

// Search is the search for the commit that changed a failure rate, in a line of commits
// numbered from 0, which is known to be from before the change, to n-1, known to be from
// after it. It holds what was seen and chooses the commit to run next. What it says depends
// on nothing but what it was told.
//
// # The model
//
// Either commit i, 1 <= i <= n-1, changed the rate: runs before it fail at the rate p, from
// it on at the rate q. Or none did, and all runs fail at one rate. All rates are unknown,
// each with the prior Beta(1/2, 1/2), which lets them be 0 or 1 as well as anything between:
// so k failures in n runs have the probability B(k+1/2, n-k+1/2) / B(1/2, 1/2), the rate
// integrated out. No change has the prior chance 1/2; the commits share the other half.
type Search struct {
	runs, fails     []int
	skipped         []bool
	total, failures int // of all commits

	half, whole []float64 // ln Γ(i+1/2) and ln Γ(i+1), as far as needed
	weights     []float64 // posterior; 0 is no change
	stale       bool
}

// New starts a search among n commits, 2 at least.
func New(n int) *Search {
	if n < 2 {
		panic(fmt.Sprintf("bisect: New: %d commits, 2 or more were expected", n))
	}
	return &Search{
		runs: make([]int, n), fails: make([]int, n), skipped: make([]bool, n),
		weights: make([]float64, n), stale: true,
	}
}

// Observe adds a run of a commit.
func (s *Search) Observe(commit int, failed bool) {
	s.runs[commit]++
	if failed {
		s.fails[commit]++
		s.failures++
	}
	s.total++
	s.stale = true
}

// Skip says that a commit cannot be run, such as one that does not build. What was seen of
// it before still counts. The first and the last one cannot be skipped.
func (s *Search) Skip(commit int) {
	if commit == 0 || commit == len(s.runs)-1 {
		panic("bisect: Skip: the ends cannot be skipped")
	}
	s.skipped[commit] = true
}

// Skipped says whether a commit was skipped.
func (s *Search) Skipped(commit int) bool { return s.skipped[commit] }

// Counts are the runs of a commit, and how many of them failed.
func (s *Search) Counts(commit int) (failures, runs int) { return s.fails[commit], s.runs[commit] }

// Runs are all runs.
func (s *Search) Runs() int { return s.total }

// Posterior is the chance of each commit to have changed the rate, given all runs; at 0 it
// is the chance that none did. The slice is the caller's.
func (s *Search) Posterior() []float64 {
	s.update()
	return append([]float64(nil), s.weights...)
}

// Suspects are the commits from first to last that are most probable to hold the change,
// and the chance that one of them does. They are several only if those that could tell them
// apart were skipped.
func (s *Search) Suspects() (first, last int, chance float64) {
	s.update()
	for i := 1; i < len(s.runs); {
		end, sum := i, s.weights[i]
		for s.skipped[end] {
			end++
			sum += s.weights[end]
		}
		if sum > chance {
			first, last, chance = i, end, sum
		}
		i = end + 1
	}
	return first, last, chance
}

// Found says whether the suspects hold the change with the confidence asked for: their
// chance is (1+confidence)/2 at least. Half of the chance to err is kept back, because a
// posterior is right on the average over rates drawn from the prior, and promises nothing at
// single rates. docs/statistics.md has the numbers. A posterior may be looked at after every
// run.
func (s *Search) Found(confidence float64) bool {
	_, _, chance := s.Suspects()
	return chance >= 1-stats.TailOf(confidence)/2
}

// marginal is ln B(k+1/2, n-k+1/2) / B(1/2, 1/2).
func (s *Search) marginal(k, n int) float64 {
	for i := len(s.half); i <= s.total; i++ {
		h, _ := math.Lgamma(float64(i) + 0.5)
		w, _ := math.Lgamma(float64(i) + 1)
		s.half, s.whole = append(s.half, h), append(s.whole, w)
	}
	return s.half[k] + s.half[n-k] - s.whole[n] - math.Log(math.Pi)
}

// update computes the posterior.
func (s *Search) update() {
	if !s.stale {
		return
	}
	s.stale = false
	w := s.weights
	w[0] = s.marginal(s.failures, s.total) // prior: as much as all commits together
	share := math.Log(float64(len(w) - 1))
	k, n, most := 0, 0, w[0]
	for i := 1; i < len(w); i++ {
		k, n = k+s.fails[i-1], n+s.runs[i-1]
		w[i] = s.marginal(k, n) + s.marginal(s.failures-k, s.total-n) - share
		most = math.Max(most, w[i])
	}
	sum := 0.0
	for i := range w {
		w[i] = math.Exp(w[i] - most)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
}

// Next is the commit whose next run tells most of which commit changed the rate: the
// expected fall of the entropy of the posterior is greatest (D. V. Lindley, "On a Measure of
// the Information Provided by an Experiment", Annals of Mathematical Statistics 27, 1956).
// That is the entropy of the outcome less its mean entropy under each hypothesis. Of equals
// it is the last one: without any run that is the end known to be from after the change.
func (s *Search) Next() int {
	s.update()
	// Under each hypothesis a run before the change fails with the chance before[i], one
	// after it with after[i].
	chance := func(k, n int) float64 { return (float64(k) + 0.5) / (float64(n) + 1) }
	size := len(s.weights)
	before, after := make([]float64, size), make([]float64, size)
	k, n := 0, 0
	for i := 1; i < size; i++ {
		k, n = k+s.fails[i-1], n+s.runs[i-1]
		before[i], after[i] = chance(k, n), chance(s.failures-k, s.total-n)
	}
	same := chance(s.failures, s.total)
	// A run of commit c comes after the changes up to c and before those beyond.
	fail, rest := s.weights[0]*same, s.weights[0]*entropy(same)
	for i := 1; i < size; i++ {
		fail += s.weights[i] * before[i]
		rest += s.weights[i] * entropy(before[i])
	}
	best, most := 0, math.Inf(-1)
	for c := range size {
		if c > 0 {
			fail += s.weights[c] * (after[c] - before[c])
			rest += s.weights[c] * (entropy(after[c]) - entropy(before[c]))
		}
		if tells := entropy(fail) - rest; !s.skipped[c] && tells > most-1e-12 {
			best, most = c, math.Max(tells, most)
		}
	}
	return best
}

// entropy of an event, in nats.
func entropy(p float64) float64 {
	if p <= 0 || p >= 1 {
		return 0
	}
	return -p*math.Log(p) - (1-p)*math.Log1p(-p)
}
