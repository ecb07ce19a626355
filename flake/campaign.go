package flake

import (
	"cmp"
	"slices"

	"exactlyone/stats"
)

// Mode says when a campaign ends.
type Mode string

// The modes.
const (
	Count     Mode = "count"      // after Plan.Runs
	Certify   Mode = "certify"    // at failure Plan.Allowed+1 of a test, or after Plan.Runs
	UntilFail Mode = "until-fail" // at the first failure, or after Plan.Runs
)

// Plan is what is fixed before the first run of a campaign. See NewPlan for Certify.
type Plan struct {
	Mode       Mode    `json:"mode"`
	Runs       int     `json:"runs,omitempty"` // 0: without end, for UntilFail only
	Rate       float64 `json:"rate,omitempty"` // to certify
	Allowed    int     `json:"allowed_failures"`
	KeepGoing  bool    `json:"keep_going,omitempty"` // to Runs, though a test has failed too often
	Confidence float64 `json:"confidence"`
	PriorRate  float64 `json:"prior_rate"` // of the store
}

// CertifyPlan is the plan with the fewest runs that certifies a rate with so many failures
// allowed: if a test fails more often than that, the chance that it is certified is at most
// 1 - confidence. The PriorRate is left to be filled in.
func CertifyPlan(rate, confidence float64, allowed int) (Plan, error) {
	n, err := stats.RunsNeeded(rate, confidence, allowed)
	return Plan{Mode: Certify, Runs: n, Rate: rate, Allowed: allowed, Confidence: confidence}, err
}

// Subject is what passes or fails: a test or, with Whole, a suite or the command for a
// reason that no failing test explains.
type Subject struct {
	Identity
	Whole bool `json:"whole,omitempty"`
}

// String is the subject as shown.
func (s Subject) String() string {
	return s.shown().String()
}

// shown is the identity by which the subject is shown and named.
func (s Subject) shown() Identity {
	if s.Whole {
		s.Suite, s.Name = "", cmp.Or(s.Identity.Name, "report")+" (as a whole)"
	}
	return s.Identity
}

// Outcome is how one subject fared in one run.
type Outcome struct {
	Subject
	Failed     bool // a first attempt failed
	Unfinished bool // none did, but one began and did not end
}

// Earlier are the runs of earlier campaigns on the same revision.
type Earlier struct {
	Campaigns int                 `json:"campaigns"`
	Runs      int                 `json:"runs"`
	UnderWay  int                 `json:"under_way,omitempty"` // campaigns of the same test or command that have not ended
	of        map[Subject]earlier // their runs
}

type earlier struct{ runs, failures, unfinished int }

// Campaign is a series of runs under one plan. What it says depends on the outcomes alone.
type Campaign struct {
	plan           Plan
	alpha          float64
	priorA, priorB float64
	earlier        Earlier
	runs, failed   int
	members        map[Subject]*member
	order          []*member
}

// member is a subject in a campaign. It is held to the plan, unless it was tried before on
// the same revision: then somebody chose to look again, and only what holds at every n does.
type member struct {
	Subject
	beside                     bool // a campaign that began before and has not ended
	before                     earlier
	runs, failures, unfinished int
	brokeAt                    int // its run with failure Allowed+1; 0 if there was none
	need                       int // runs under Certify
}

// NewCampaign starts a campaign.
func NewCampaign(p Plan, e Earlier) *Campaign {
	c := &Campaign{plan: p, alpha: stats.TailOf(p.Confidence), earlier: e, members: map[Subject]*member{}}
	c.priorA, c.priorB = stats.Prior(p.PriorRate)
	return c
}

// Add counts a run. A test that did not run, or was skipped, has no outcome.
func (c *Campaign) Add(run []Outcome) {
	c.runs++
	failed := false
	for _, o := range run {
		m := c.member(o.Subject)
		m.runs++
		switch {
		case o.Failed:
			m.failures++
			if m.failures == c.plan.Allowed+1 {
				m.brokeAt = m.runs
			}
		case o.Unfinished:
			m.unfinished++
		}
		failed = failed || o.Failed || o.Unfinished
	}
	for _, m := range c.order { // what is whole again
		if m.Whole {
			m.runs = c.runs
		}
	}
	if failed {
		c.failed++
	}
}

func (c *Campaign) member(s Subject) *member {
	m := c.members[s]
	if m == nil {
		m = &member{Subject: s, beside: c.earlier.UnderWay > 0, before: c.earlier.of[s], need: c.plan.Runs}
		if s.Whole {
			m.before.runs = c.earlier.Runs
			m.runs = c.runs - 1 // it passed in all of them
		}
		if m.again() && c.plan.Mode == Certify {
			m.need = c.needAgain(m, c.plan.Allowed)
		}
		c.members[s] = m
		c.order = append(c.order, m)
	}
	return m
}

// again says whether the subject was tried before, or is being tried.
func (m *member) again() bool { return m.before.runs > 0 || m.beside }

// needAgain is how many runs of this campaign a subject needs that was tried before, if it
// fails so many times more.
func (c *Campaign) needAgain(m *member, failures int) int {
	k := m.before.failures + m.before.unfinished + m.failures + m.unfinished + failures
	n, err := stats.SequenceRuns(c.priorA, c.priorB, k, c.plan.Rate, c.alpha)
	if err != nil {
		return maxRuns
	}
	return max(1, n-m.before.runs)
}

// maxRuns stands for more runs than anybody makes.
const maxRuns = 1_000_000_000

// bad is how often it failed in this campaign, if what is unfinished did.
func (m *member) bad() int { return m.failures + m.unfinished }

// bounds are the bounds on the rate of a subject, and whether they are exact for the n that
// was fixed: it ran in each of the planned runs, for the first time on this revision.
func (c *Campaign) bounds(m *member, complete bool) (b Bounds, fixed bool) {
	if complete && !m.again() && m.runs == c.plan.Runs && c.plan.Mode != UntilFail {
		return bounds(stats.Lower(m.failures, m.runs, c.alpha), stats.Upper(m.bad(), m.runs, c.alpha)), true
	}
	k, n := m.before.failures+m.failures, m.before.runs+m.runs
	lower, _ := stats.Sequence(c.priorA, c.priorB, k, n, c.alpha)
	_, upper := stats.Sequence(c.priorA, c.priorB, k+m.before.unfinished+m.unfinished, n, c.alpha)
	return bounds(lower, upper), false
}

// verdict is what can be said of a subject now.
func (c *Campaign) verdict(m *member) Verdict {
	if c.plan.Mode != Certify {
		b := m.before // its runs stand in the same row
		return verdict(Test{Runs: b.runs + m.runs, Failures: b.failures + b.unfinished + m.bad()})
	}
	if m.again() {
		b, _ := c.bounds(m, false)
		switch {
		case stats.SequenceAbove(c.priorA, c.priorB, m.before.failures+m.failures, m.before.runs+m.runs, c.plan.Rate) <= c.alpha:
			return TooFlaky
		case within(b.Upper, c.plan.Rate):
			return Certified
		}
		return Undecided
	}
	switch {
	case m.brokeAt > 0 && stats.Lower(c.plan.Allowed+1, m.brokeAt, c.alpha) > c.plan.Rate:
		// Failure c+1 came so early: P(c+1 failures in so many runs) < alpha at this rate.
		return TooFlaky
	case m.runs >= c.plan.Runs && m.bad() <= c.plan.Allowed:
		return Certified
	}
	return Undecided
}

// Done says whether no further run is to be started.
func (c *Campaign) Done() bool {
	if c.plan.Mode == Certify {
		return c.doneCertify()
	}
	return c.plan.Mode == UntilFail && c.failed > 0 || c.plan.Runs > 0 && c.runs >= c.plan.Runs
}

func (c *Campaign) doneCertify() bool {
	if c.runs == 0 {
		return false
	}
	if c.blind() {
		return c.runs >= c.plan.Runs
	}
	done := true
	for _, m := range c.order {
		if m.bad() > c.plan.Allowed {
			if !c.plan.KeepGoing {
				return true
			}
			continue
		}
		if v := c.verdict(m); v == Undecided && c.runs < m.need {
			done = false
		}
	}
	return done
}

// blind says that no run so far got as far as a test, and that this is to go on.
func (c *Campaign) blind() bool {
	return c.plan.KeepGoing && !slices.ContainsFunc(c.order, func(m *member) bool { return !m.Whole })
}

// MayStart says how many more runs the plan allows to be started now, beside those that
// are under way; some of them may turn out not to be needed.
func (c *Campaign) MayStart(underWay int) int {
	if c.Done() {
		return 0
	}
	if c.plan.Mode != Certify {
		if c.plan.Runs == 0 {
			return maxRuns
		}
		return c.plan.Runs - c.runs - underWay
	}
	if c.runs == 0 && c.earlier.Campaigns+c.earlier.UnderWay > 0 { // whether they are the same tests is not known
		return max(0, 1-underWay)
	}
	return c.Needed() - underWay
}

// Needed is how many more runs the campaign takes if nothing fails; 0 without a plan.
func (c *Campaign) Needed() int {
	if c.Done() {
		return 0
	}
	if c.plan.Mode != Certify || c.runs == 0 {
		return max(0, c.plan.Runs-c.runs)
	}
	if c.blind() {
		return c.plan.Runs - c.runs
	}
	most := 0
	for _, m := range c.order {
		if m.bad() <= c.plan.Allowed { // else nothing more is spent on it
			most = max(most, c.needed(m))
		}
	}
	return most
}

// needed is Needed for one subject, under Certify.
func (c *Campaign) needed(m *member) int {
	if c.verdict(m) != Undecided {
		return 0
	}
	if m.again() || m.bad() > c.plan.Allowed {
		return max(0, c.needAgain(m, 0)-m.runs)
	}
	return max(0, c.plan.Runs-m.runs)
}

// Worst is the test with the most failures so far, with the bounds that hold at every n.
func (c *Campaign) Worst() (s Subject, b Bounds, any bool) {
	if len(c.order) == 0 {
		return s, b, false
	}
	m := c.ranked()[0]
	b, _ = c.bounds(m, false)
	return m.Subject, b, true
}

// Runs are the runs so far, and how many of them failed.
func (c *Campaign) Runs() (n, failed int) { return c.runs, c.failed }

// ranked are the members, the worst first.
func (c *Campaign) ranked() []*member {
	list := slices.Clone(c.order)
	slices.SortStableFunc(list, func(x, y *member) int {
		return cmp.Or(cmp.Compare(y.bad(), x.bad()), cmp.Compare(y.before.failures, x.before.failures),
			cmp.Compare(x.runs, y.runs), compareTests(x.Identity, y.Identity))
	})
	return list
}
