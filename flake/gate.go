package flake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"exactlyone/stats"
)

// GateConfig says what a gate asks.
type GateConfig struct {
	Filter     Filter
	MaxRate    float64               // at most so often may each test fail; strictly between 0 and 1
	Confidence float64               // 0 means 0.95
	Quarantine *Quarantine           // tests left out; nil leaves out none
	Today      time.Time             // by which entries of the quarantine expire, in its own zone
	Progress   func(done, total int) // called now and then with the runs read; may be nil
}

// Gate is the answer of a gate. Its JSON is versioned by Schema.
type Gate struct {
	Schema     int     `json:"schema"` // 1
	Verdict    Verdict `json:"verdict"`
	Why        string  `json:"why"`
	MaxRate    float64 `json:"max_rate"`
	Confidence float64 `json:"confidence"`
	PriorRate  float64 `json:"prior_rate"`
	Reports    int     `json:"reports"`
	// MoreRuns is the most that a test lacks, if all of them pass.
	MoreRuns    int               `json:"more_runs,omitempty"`
	Tests       []GateTest        `json:"tests"`       // gated: too flaky, undecided, certified
	Quarantined []QuarantinedTest `json:"quarantined"` // not gated
	Unknown     []QuarantineEntry `json:"unknown"`     // entries of the quarantine without a test
	NeverRan    []string          `json:"never_ran"`   // not gated: skipped or cached only
	Assumes     []string          `json:"assumes"`
}

// GateTest is what a gate says of one test.
type GateTest struct {
	Identity
	Whole      bool             `json:"whole,omitempty"` // a suite or a command that failed as a whole
	Display    string           `json:"display"`
	Verdict    Verdict          `json:"verdict"` // certified, too flaky or undecided
	Runs       int              `json:"runs"`
	Failures   int              `json:"failures"`
	Unfinished int              `json:"unfinished,omitempty"`
	Upper      float64          `json:"upper"` // the bound that certifies
	UpperShown string           `json:"upper_shown"`
	Planned    bool             `json:"planned"` // the bound is that of a plan, complete
	P          float64          `json:"p"`       // anytime-valid, against a rate of at most MaxRate
	Adjusted   float64          `json:"p_adjusted"`
	Why        string           `json:"why,omitempty"`       // it is undecided, though Upper is at most MaxRate
	MoreRuns   int              `json:"more_runs,omitempty"` // until it is certified, if all pass
	Expired    *QuarantineEntry `json:"expired,omitempty"`   // its quarantine
	Warning    string           `json:"warning,omitempty"`   // its runs depend on one another
}

// QuarantineEntry is an entry of a quarantine.
type QuarantineEntry struct {
	At    string `json:"at"`    // file:line
	Until string `json:"until"` // last day
	Owner string `json:"owner"`
	Test  string `json:"test"` // as written
}

// QuarantinedTest is a test that a gate left out.
type QuarantinedTest struct {
	QuarantineEntry
	Display    string  `json:"display"`
	Runs       int     `json:"runs"`
	Failures   int     `json:"failures"`
	Upper      float64 `json:"upper"`
	UpperShown string  `json:"upper_shown"`
	Certified  bool    `json:"certified"` // it could be gated
}

func (e quarantined) entry() QuarantineEntry {
	return QuarantineEntry{e.at, e.until.Format(time.DateOnly), e.owner, e.test}
}

// Gate says whether all tests that the configuration gates fail in at most MaxRate of
// their runs. Its verdict is
//
//   - TooFlaky if one of them is certain to fail more often: with the confidence given, no
//     test is called so that does not, however often the gate is asked (Holm's method over
//     anytime-valid p values);
//   - Certified if each has an upper bound of at most MaxRate, each at the full confidence.
//     The claim that all of them keep the rate is refuted by one that does not, which
//     passes with chance 1 - confidence at most: an intersection-union test (R. L. Berger,
//     Technometrics 24, 1982);
//   - Undecided otherwise, also if no test is gated.
func (s *Store) Gate(ctx context.Context, c GateConfig) (*Gate, error) {
	if !(c.MaxRate > 0 && c.MaxRate < 1) {
		return nil, fmt.Errorf("flake: a rate of %v: a number between 0 and 1 was expected", c.MaxRate)
	}
	r, err := s.Report(ctx, Config{Filter: c.Filter, Confidence: c.Confidence, Target: c.MaxRate, Progress: c.Progress})
	if err != nil {
		return nil, err
	}
	q := c.Quarantine
	if q == nil {
		q = &Quarantine{}
	}
	known, err := s.identities(ctx)
	if err != nil {
		return nil, fmt.Errorf("flake: reading %s: %w", s.path, plain(err))
	}
	known = append(known, r.wholeNames()...)
	entries, unknown, err := q.resolve(known)
	if err != nil {
		return nil, err
	}
	entryOf := map[Identity]quarantined{}
	for i, e := range entries {
		entryOf[known[i]] = e
	}
	g := &Gate{
		Schema: 1, MaxRate: c.MaxRate, Confidence: r.Confidence, PriorRate: r.PriorRate, Reports: len(r.Runs),
		Tests: []GateTest{}, Quarantined: []QuarantinedTest{}, Unknown: []QuarantineEntry{}, NeverRan: []string{},
	}
	for _, e := range unknown {
		g.Unknown = append(g.Unknown, e.entry())
	}
	// A day ends at midnight, so an entry holds before the day after its last one.
	today := c.Today.Format(time.DateOnly)
	for _, t := range slices.Concat(r.Tests, r.Whole) {
		e, listed := entryOf[Subject{t.Identity, t.Whole}.shown()]
		switch {
		case listed && e.until.Format(time.DateOnly) >= today:
			g.Quarantined = append(g.Quarantined, QuarantinedTest{e.entry(), t.Display, t.Runs, t.Failures, t.Upper, t.UpperShown, t.OnRate == Certified})
			continue
		case t.silent() > 0:
			g.NeverRan = append(g.NeverRan, t.Display)
			continue
		}
		x, err := g.test(t, c.Filter.chooses())
		if err != nil {
			return nil, err
		}
		if listed {
			entry := e.entry()
			x.Expired = &entry
		}
		g.Tests = append(g.Tests, x)
	}
	g.decide(len(r.soundWholes))
	g.Assumes = g.assumes(c.Filter.chooses())
	return g, nil
}

// test judges a test by itself; TooFlaky comes later, when all p values are known.
func (g *Gate) test(t Test, chosen bool) (GateTest, error) {
	alpha := stats.TailOf(g.Confidence)
	a, b := stats.Prior(g.PriorRate)
	x := GateTest{
		Identity: t.Identity, Whole: t.Whole, Display: t.Display, Verdict: Undecided, Runs: t.Runs, Failures: t.Failures, Unfinished: t.Unfinished,
		Upper: t.Upper, UpperShown: t.UpperShown, Planned: t.Planned, Warning: t.Dependence.Warning,
	}
	for _, r := range t.Readings {
		// An unfinished run counts as passed here.
		x.P = max(x.P, stats.SequenceAbove(a, b, r.Failures, r.Runs+t.Unfinished, g.MaxRate))
	}
	n := t.Runs + t.Unfinished
	if t.PlannedRuns > n && len(t.Readings) == 1 && !chosen && within(stats.Upper(t.Failures+t.Unfinished, t.PlannedRuns, alpha), g.MaxRate) {
		// The plan can still certify. A bound at every n beside it would be a second try.
		x.MoreRuns = t.PlannedRuns - n
		if within(x.Upper, g.MaxRate) {
			x.Why = fmt.Sprintf("its plan is not complete, it ran in %d of %s; until then the bound at every n does not count: both together would err more often", n, times(t.PlannedRuns, "planned run"))
		}
		return x, nil
	}
	if within(x.Upper, g.MaxRate) {
		x.Verdict = Certified
		return x, nil
	}
	for _, r := range t.Readings {
		// As failed here.
		need, err := stats.SequenceRuns(a, b, r.Failures+t.Unfinished, g.MaxRate, alpha)
		if err != nil {
			return x, fmt.Errorf("flake: %s: %w", t.Display, err)
		}
		x.MoreRuns = max(x.MoreRuns, need-r.Runs-t.Unfinished)
	}
	return x, nil
}

// decide draws the verdict from all tests, beside so many suites and commands that never
// failed as a whole: they are not listed, but corrected for.
func (g *Gate) decide(sound int) {
	alpha := stats.TailOf(g.Confidence)
	p := make([]float64, len(g.Tests)+sound)
	for i := range p {
		p[i] = 1
	}
	for i, t := range g.Tests {
		p[i] = t.P
	}
	count := map[Verdict]int{}
	for i, adjusted := range stats.Holm(p)[:len(g.Tests)] {
		t := &g.Tests[i]
		if t.Adjusted = adjusted; adjusted <= alpha {
			t.Verdict, t.MoreRuns, t.Why = TooFlaky, 0, ""
		}
		g.MoreRuns = max(g.MoreRuns, t.MoreRuns)
		count[t.Verdict]++
	}
	rank := []Verdict{TooFlaky, Undecided, Certified}
	slices.SortStableFunc(g.Tests, func(x, y GateTest) int {
		return slices.Index(rank, x.Verdict) - slices.Index(rank, y.Verdict)
	})
	all := len(g.Tests)
	switch {
	case all == 0:
		g.Verdict, g.Why = Undecided, "no test is gated"
	case count[TooFlaky] > 0:
		g.Verdict, g.Why = TooFlaky, fmt.Sprintf("%d of %s certain to fail more often", count[TooFlaky], tests(all))
	case count[Undecided] > 0:
		g.Verdict, g.Why = Undecided, fmt.Sprintf("%d of %s not certified yet, up to %s to go if all pass", count[Undecided], tests(all), times(g.MoreRuns, "run"))
	default:
		g.Verdict, g.Why = Certified, tests(all)
	}
}

// assumes lists what the verdict rests on.
func (g *Gate) assumes(chosen bool) []string {
	planned := 0
	for _, t := range g.Tests {
		if t.Planned {
			planned++
		}
	}
	list := []string{"the runs of a test are independent and alike", "which tests are gated was not chosen for how their runs ended"}
	if chosen {
		list = append(list, "a filter by revision or time chose the runs, not for how they ended, and is the same whenever the gate is asked; no n counts as fixed beforehand")
	}
	whole := 0
	for _, t := range g.Tests {
		if t.Whole {
			whole++
		}
	}
	if whole > 0 {
		list = append(list, onWholes(whole))
	}
	if planned > 0 {
		list = append(list, fmt.Sprintf("%s: n was fixed beforehand and is reached, bounds are Clopper-Pearson, one-sided", tests(planned)))
	}
	if rest := len(g.Tests) - planned; rest > 0 {
		list = append(list, fmt.Sprintf("%s: bounds hold at every n at once (confidence sequence, prior Beta(1, %.6g), fixed when the store was made)", tests(rest), 1/g.PriorRate))
	}
	return append(list, fmt.Sprintf("certified is a claim about all tests together, each at the full confidence of %s; too flaky holds at every n at once (mixture with that prior and the uniform one) and is corrected by Holm's method", level(g.Confidence)))
}
