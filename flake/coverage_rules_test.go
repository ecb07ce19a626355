package flake

import (
	"fmt"
	"math"
	"math/rand/v2"

	"exactlyone/bisect"
	"exactlyone/stats"
)

const coverageAlpha = 0.05

// rand is the next generator, each with a seed of its own.
func (c *coverage) rand() *rand.Rand {
	c.seed++
	return rand.New(rand.NewPCG(c.seed, 0))
}

// peeked adds a row for limits looked at after each run.
func (c *coverage) peeked(rule, setting string, nominal float64, l limits, rate float64, histories int) {
	row := coverageRow{rule: rule, setting: setting, nominal: nominal, exact: l.reached(rate), histories: c.histories(histories)}
	rng := c.rand()
	for range row.histories {
		if l.draw(func() bool { return rng.Float64() < rate }) {
			row.wrong++
		}
	}
	c.add(row)
}

// worst is the rate at which limits are reached most often.
func worst(rates []float64, of func(rate float64) limits) (rate float64, l limits) {
	most := -1.0
	for _, r := range rates {
		if x := of(r); x.reached(r) > most {
			rate, l, most = r, x, x.reached(r)
		}
	}
	return rate, l
}

// fixedBounds: the bounds of Clopper and Pearson, at the worst of many rates.
func (c *coverage) fixedBounds() {
	var rates []float64
	for i := 1; i < 100; i++ {
		rates = append(rates, float64(i)/100)
	}
	for _, n := range []int{20, 100} {
		rate, l := worst(rates, func(r float64) limits {
			return lowLimits(n, func(k, n int) bool { return stats.Upper(k, n, coverageAlpha) < r }).at(n)
		})
		c.peeked("upper bound, n fixed", fmt.Sprintf("n = %d, worst rate of 99: %s", n, stats.Percent(rate)), coverageAlpha, l, rate, 20_000)
		rate, l = worst(rates, func(r float64) limits {
			return highLimits(n, func(k, n int) bool { return stats.Lower(k, n, coverageAlpha) > r }).at(n)
		})
		c.peeked("lower bound, n fixed", fmt.Sprintf("n = %d, worst rate of 99: %s", n, stats.Percent(rate)), coverageAlpha, l, rate, 20_000)
	}
}

// sequences: looked at after each run, where those of a fixed n do not hold.
func (c *coverage) sequences() {
	const runs = 1000
	a, b := stats.Prior(0.01)
	rates := []float64{0.002, 0.005, 0.01, 0.02, 0.05, 0.2, 0.5}
	rate, l := worst(rates, func(r float64) limits {
		return lowLimits(runs, func(k, n int) bool { _, u := stats.Sequence(a, b, k, n, coverageAlpha); return u < r })
	})
	c.peeked("upper bound, anytime", fmt.Sprintf("looked at after each of %d runs, worst rate of %d: %s", runs, len(rates), stats.Percent(rate)), coverageAlpha, l, rate, 20_000)
	rate, l = worst(rates, func(r float64) limits {
		return highLimits(runs, func(k, n int) bool { lo, _ := stats.Sequence(a, b, k, n, coverageAlpha); return lo > r })
	})
	c.peeked("lower bound, anytime", fmt.Sprintf("the same, %s", stats.Percent(rate)), coverageAlpha, l, rate, 20_000)
	rate, l = worst(rates, func(r float64) limits {
		return highLimits(runs, func(k, n int) bool { return stats.SequenceAbove(a, b, k, n, r) <= coverageAlpha })
	})
	c.peeked("p value, anytime", fmt.Sprintf("the same, %s", stats.Percent(rate)), coverageAlpha, l, rate, 20_000)
	c.peeked("*upper bound, n fixed*", fmt.Sprintf("looked at after each of %d runs, rate 1.00 %%: not valid", runs), 0,
		lowLimits(runs, func(k, n int) bool { return stats.Upper(k, n, coverageAlpha) < 0.01 }), 0.01, 20_000)
}

// certificate is the rule of a plan: at n runs, failures of them allowed, which stops at one
// failure more.
func certificate(rate float64, failures int) (limits, error) {
	n, err := stats.RunsNeeded(rate, 1-coverageAlpha, failures)
	if err != nil {
		return limits{}, err
	}
	l := noLimits(n)
	l.low[n] = failures // who has stopped before never has so few
	return l, nil
}

// certificates: a test at just the rate is certified, by one plan, by several, and by the
// sequence after a plan.
func (c *coverage) certificates() {
	const rate = 0.01
	for failures := range 3 {
		l, err := certificate(rate, failures)
		if err != nil {
			c.t.Fatal(err)
		}
		c.campaigns(fmt.Sprintf("rate 1.00 %%, n = %d, %d allowed, stops at %d; certified", len(l.low)-1, failures, failures+1), rate, failures, Certified, l)
	}
	early := noLimits(299)
	for n := range early.high {
		if n > 0 && stats.Lower(1, n, coverageAlpha) > rate {
			early.high[n] = 1
		}
	}
	c.campaigns("the first of them; called too flaky", rate, 0, TooFlaky, early)
	plan, err := certificate(rate, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	const runs = 3000
	n := len(plan.low) - 1
	a, b := stats.Prior(rate)
	after := lowLimits(runs, func(k, n int) bool {
		_, u := stats.Sequence(a, b, k, n, coverageAlpha)
		return within(u, rate)
	})
	for i := range n {
		after.low[i] = -1
	}
	after.low[n] = plan.low[n]
	c.peeked("run --certify, then the sequence", fmt.Sprintf("the first of them, and a look after each run up to %d", runs), 2*coverageAlpha, after, rate, 20_000)
	row := coverageRow{rule: "*run --certify, again and again*", setting: "five such plans, each with new runs: not valid", histories: c.histories(20_000)}
	row.exact = 1 - math.Pow(1-plan.reached(rate), 5)
	rng := c.rand()
	for range row.histories {
		for range 5 {
			if plan.draw(func() bool { return rng.Float64() < rate }) {
				row.wrong++
				break
			}
		}
	}
	c.add(row)
}

// campaigns adds a row for run --certify at just the rate that it certifies.
func (c *coverage) campaigns(setting string, rate float64, allowed int, wrong Verdict, exactly limits) {
	plan, err := CertifyPlan(rate, 1-coverageAlpha, allowed)
	if err != nil {
		c.t.Fatal(err)
	}
	plan.PriorRate = rate
	row := coverageRow{rule: "run --certify", setting: setting, nominal: coverageAlpha, exact: exactly.reached(rate), histories: c.histories(20_000)}
	rng := c.rand()
	for range row.histories {
		run := NewCampaign(plan, Earlier{})
		for !run.Done() {
			run.Add([]Outcome{{Failed: rng.Float64() < rate}})
		}
		if run.verdict(run.order[0]) == wrong {
			row.wrong++
		}
	}
	c.add(row)
}

// bisections: the wrong commit is found, or one although none changed anything.
func (c *coverage) bisections() {
	kept := func(s *bisect.Search) bool { return s.Found(1 - coverageAlpha) }
	bare := func(s *bisect.Search) bool { _, _, chance := s.Suspects(); return chance >= 1-coverageAlpha }
	for _, x := range []struct {
		commits       int
		before, after float64
		found         func(*bisect.Search) bool
		nominal       float64
	}{
		{12, 0, 1, kept, coverageAlpha},
		{12, 0, 0.2, kept, coverageAlpha},
		{12, 0.05, 0.3, kept, coverageAlpha},
		{30, 0.3, 0.6, kept, coverageAlpha},
		{20, 0.6, 0.3, kept, coverageAlpha},
		{12, 0.2, 0.2, kept, coverageAlpha},
		{20, 0.4, 0.6, bare, 0},
	} {
		row := coverageRow{rule: "bisect", nominal: x.nominal, exact: math.NaN(), histories: c.histories(2000)}
		if x.nominal == 0 {
			row.rule = "*bisect, stopped at a posterior of 95 %*"
		}
		rng := c.rand()
		runs := 0
		for range row.histories {
			s := bisect.New(x.commits)
			change := 1 + rng.IntN(x.commits-1)
			for !x.found(s) && s.Runs() < 1000 {
				at := s.Next()
				rate := x.before
				if at >= change {
					rate = x.after
				}
				s.Observe(at, rng.Float64() < rate)
			}
			runs += s.Runs()
			if first, _, _ := s.Suspects(); x.found(s) && (first != change || x.before == x.after) {
				row.wrong++
			}
		}
		row.setting = fmt.Sprintf("%d commits, %s before and %s after, %.0f runs on average", x.commits, stats.Percent(x.before), stats.Percent(x.after), float64(runs)/float64(row.histories))
		c.add(row)
	}
}
