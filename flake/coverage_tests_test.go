package flake

import (
	"fmt"
	"math"
	"math/rand/v2"

	"exactlyone/stats"
)

// The gate and the comparison, on counts drawn instead of runs stored.

// gateSuite is a suite of tests at known rates, with a look after every 25 runs.
type gateSuite struct {
	rates []float64
	known map[counts]GateTest
	b     *bounder
	g     *Gate
}

// The suites run so often, with so many runs between looks.
const (
	suiteRuns = 1000
	suiteLook = 25
	suiteRate = 0.01
)

func newGateSuite(rates []float64) *gateSuite {
	s := &gateSuite{rates: rates, known: map[counts]GateTest{}}
	s.b = &bounder{alpha: coverageAlpha, known: map[counts]Reading{}, knownSplit: map[[2]counts]Reading{}}
	s.b.priorA, s.b.priorB = stats.Prior(suiteRate)
	s.g = &Gate{MaxRate: suiteRate, Confidence: 1 - coverageAlpha, PriorRate: suiteRate}
	return s
}

// ask is the verdict of the gate on the counts of tests.
func (s *gateSuite) ask(c *coverage, tests []counts) Verdict {
	s.g.Tests = s.g.Tests[:0]
	for _, at := range tests {
		x, known := s.known[at]
		if !known {
			r := s.b.reading(at, 0)
			var err error
			x, err = s.g.test(Test{Runs: at.runs, Failures: at.failures, Bounds: r.Anytime, Readings: []Reading{r}}, false)
			if err != nil {
				c.t.Fatal(err)
			}
			s.known[at] = x
		}
		s.g.Tests = append(s.g.Tests, x)
	}
	s.g.decide(0)
	return s.g.Verdict
}

// ever says whether a history, looked at time and again, gets a verdict. Tests that failed
// are left out of the gate if told so.
func (s *gateSuite) ever(c *coverage, rng *rand.Rand, v Verdict, leaveOut bool) bool {
	tests := make([]counts, len(s.rates))
	for n := 1; n <= suiteRuns; n++ {
		for i, rate := range s.rates {
			tests[i].runs++
			if rng.Float64() < rate {
				tests[i].failures++
			}
		}
		if n%suiteLook > 0 {
			continue
		}
		var gated []counts
		for _, t := range tests {
			if !leaveOut || t.failures == 0 {
				gated = append(gated, t)
			}
		}
		if len(gated) > 0 && s.ask(c, gated) == v {
			return true
		}
	}
	return false
}

// gates: a gate passes although a test fails just so often, or calls a test too flaky
// although all keep the rate.
func (c *coverage) gates() {
	a, b := stats.Prior(suiteRate)
	looks := lowLimits(suiteRuns, func(k, n int) bool {
		_, u := stats.Sequence(a, b, k, n, coverageAlpha)
		return within(u, suiteRate)
	})
	for n := range looks.low {
		if n%suiteLook > 0 {
			looks.low[n] = -1
		}
	}
	one, all := make([]float64, 20), make([]float64, 20)
	one[0] = suiteRate
	for i := range all {
		all[i] = suiteRate
	}
	firstLook := suiteLook // at which a test that never fails, and failed never, is certified
	for looks.low[firstLook] < 0 {
		firstLook += suiteLook
	}
	never := 1 - math.Pow(1-math.Pow(1-suiteRate, float64(firstLook)), 20)
	for _, x := range []struct {
		setting  string
		rates    []float64
		verdict  Verdict
		leaveOut bool
		nominal  float64
		exact    float64
	}{
		{"one of 20 tests fails in 1.00 %, the others never; certified at some look", one, Certified, false, coverageAlpha, looks.reached(suiteRate)},
		{"all of 20 tests fail in 1.00 %; certified at some look", all, Certified, false, coverageAlpha, math.NaN()},
		{"all of 20 tests fail in 1.00 %; some is called too flaky at some look", all, TooFlaky, false, coverageAlpha, math.NaN()},
		{"all of 20 tests fail in 1.00 %, each left out once it has failed: not valid", all, Certified, true, 0, never},
	} {
		s := newGateSuite(x.rates)
		row := coverageRow{rule: "gate --max-rate 0.01", setting: x.setting, nominal: x.nominal, exact: x.exact, histories: c.histories(2000)}
		if x.nominal == 0 {
			row.rule = "*" + row.rule + "*"
		}
		rng := c.rand()
		for range row.histories {
			if s.ever(c, rng, x.verdict, x.leaveOut) {
				row.wrong++
			}
		}
		c.add(row)
	}
}

// binomials are the chances of all numbers of failures in n runs.
func binomials(n int, rate float64) []float64 {
	p := []float64{1}
	for range n {
		next := make([]float64, len(p)+1)
		for k, x := range p {
			next[k] += x * (1 - rate)
			next[k+1] += x * rate
		}
		p = next
	}
	return p
}

// comparisons: some verdict is wrong.
func (c *coverage) comparisons() {
	newComparer := func(anytime bool) *comparer {
		x := &comparer{c: CompareConfig{Anytime: anytime}, alpha: coverageAlpha, known: map[[4]int]stats.Comparison{}}
		x.priorA, x.priorB = stats.Prior(0.01)
		return x
	}
	verdict := func(x *comparer, tests ...[4]int) Verdict {
		out := &Compared{Verdict: CannotTell}
		for _, k := range tests {
			a := counts{k[1], k[0]}
			b := counts{k[3], k[2]}
			out.Tests = append(out.Tests, x.compare(comparand{readings: [2]counts{a, a}}, comparand{readings: [2]counts{b, b}}))
		}
		x.decide(out)
		return out.Verdict
	}
	x := newComparer(false)
	for _, n := range [][2]int{{20, 20}, {15, 30}} {
		wrong := map[[2]int]bool{}
		for k1 := range n[0] + 1 {
			for k2 := range n[1] + 1 {
				wrong[[2]int{k1, k2}] = verdict(x, [4]int{k1, n[0], k2, n[1]}) != CannotTell
			}
		}
		rate, most := 0.0, -1.0
		for i := 1; i < 100; i++ {
			r := float64(i) / 100
			p1, p2 := binomials(n[0], r), binomials(n[1], r)
			sum := 0.0
			for k1, a := range p1 {
				for k2, b := range p2 {
					if wrong[[2]int{k1, k2}] {
						sum += a * b
					}
				}
			}
			if sum > most {
				rate, most = r, sum
			}
		}
		row := coverageRow{
			rule: "compare --test", nominal: coverageAlpha, exact: most, histories: c.histories(20_000),
			setting: fmt.Sprintf("%d and %d runs, equal rates, worst of 99: %s", n[0], n[1], stats.Percent(rate)),
		}
		rng := c.rand()
		for range row.histories {
			if wrong[[2]int{drawn(rng, n[0], rate), drawn(rng, n[1], rate)}] {
				row.wrong++
			}
		}
		c.add(row)
	}
	row := coverageRow{rule: "compare", setting: "20 tests of 20 and 20 runs, equal rates of 2 % to 40 %", nominal: coverageAlpha, exact: math.NaN(), histories: c.histories(5000)}
	rng := c.rand()
	for range row.histories {
		tests := make([][4]int, 20)
		for i := range tests {
			rate := 0.02 * float64(i+1)
			tests[i] = [4]int{drawn(rng, 20, rate), 20, drawn(rng, 20, rate), 20}
		}
		if verdict(x, tests...) != CannotTell {
			row.wrong++
		}
	}
	c.add(row)
	any := newComparer(true)
	row = coverageRow{rule: "compare --anytime", setting: "looked at after every 10 runs of each side up to 500, both rates 10 %", nominal: coverageAlpha, exact: math.NaN(), histories: c.histories(2000)}
	for range row.histories {
		k1, k2 := 0, 0
		for n := 10; n <= 500; n += 10 {
			k1, k2 = k1+drawn(rng, 10, 0.1), k2+drawn(rng, 10, 0.1)
			if verdict(any, [4]int{k1, n, k2, n}) != CannotTell {
				row.wrong++
				break
			}
		}
	}
	c.add(row)
}

// drawn is a number of failures.
func drawn(rng *rand.Rand, n int, rate float64) (k int) {
	for range n {
		if rng.Float64() < rate {
			k++
		}
	}
	return k
}
