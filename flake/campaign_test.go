package flake

import (
	"strings"
	"testing"

	"exactlyone/stats"
)

// subject is a test named so.
func subject(name string) Subject { return Subject{Identity: Identity{Name: name}} }

// outcomes reads "a -b ?c": a passed, b failed, c did not end.
func outcomes(text string) []Outcome {
	var list []Outcome
	for word := range strings.FieldsSeq(text) {
		name := strings.TrimLeft(word, "-?")
		list = append(list, Outcome{Subject: subject(name), Failed: word[0] == '-', Unfinished: word[0] == '?'})
	}
	return list
}

func certify(t *testing.T, rate float64, allowed int) Plan {
	t.Helper()
	p, err := CertifyPlan(rate, 0.95, allowed)
	if err != nil {
		t.Fatal(err)
	}
	p.PriorRate = DefaultPriorRate
	return p
}

// play adds runs until the campaign is done: each of them as texts has it, the last for ever.
func play(t *testing.T, c *Campaign, texts ...string) *Summary {
	t.Helper()
	for i := 0; !c.Done(); i++ {
		if i > 10_000 {
			t.Fatal("the campaign does not end")
		}
		if may := c.MayStart(0); may < 1 {
			t.Fatalf("run %d: not done, but %d may be started", i+1, may)
		}
		c.Add(outcomes(texts[min(i, len(texts)-1)]))
	}
	if c.MayStart(0) != 0 || c.Needed() != 0 {
		t.Errorf("done, but %d may be started, %d are needed", c.MayStart(0), c.Needed())
	}
	return c.Summary(Conditions{Command: "c"})
}

// passes are n runs in which a passes, then one as text has it.
func passes(n int, text string) []string {
	list := make([]string, n, n+1)
	for i := range list {
		list[i] = "a"
	}
	return append(list, text)
}

func TestCertify(t *testing.T) {
	for _, tt := range []struct {
		name    string
		rate    float64
		allowed int
		keep    bool
		runs    []string
		verdict Verdict
		n       int
		a       Verdict
		method  string
	}{
		{"299 runs certify 1 %", .01, 0, false, []string{"a"}, Holds, 299, Certified, "fixed_n"},
		{"473 with a failure allowed", .01, 1, false, passes(100, "-a"), Inconclusive, 102, Undecided, "anytime"},
		{"one failure of one allowed", .01, 1, false, append(passes(100, "-a"), "a"), Holds, 473, Certified, "fixed_n"},
		// 1-.95^(1/5) = 1.02 %, 1-.95^(1/6) = 0.85 %: a failure in run 5 is too early for 1 %.
		{"certainly worse", .01, 0, false, passes(4, "-a"), Violated, 5, TooFlaky, "anytime"},
		{"not certainly worse", .01, 0, false, passes(5, "-a"), Inconclusive, 6, Undecided, "anytime"},
		{"the last run", .05, 0, false, passes(58, "-a"), Inconclusive, 59, Undecided, "fixed_n"},
		{"unfinished is as bad as failed", .05, 0, false, passes(9, "?a"), Inconclusive, 10, Undecided, "anytime"},
		{"keep going", .05, 0, true, append(passes(9, "-a b"), "a b"), Inconclusive, 59, Undecided, "fixed_n"},
		{"a test that did not run each time", .05, 0, false, []string{"a b", "b"}, Inconclusive, 59, Undecided, "anytime"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plan := certify(t, tt.rate, tt.allowed)
			plan.KeepGoing = tt.keep
			s := play(t, NewCampaign(plan, Earlier{}), tt.runs...)
			a := s.Tests[0]
			if s.Verdict != tt.verdict || s.Runs != tt.n || a.Name != "a" || a.Verdict != tt.a || a.Method != tt.method {
				t.Errorf("%s after %d runs: %+v", s.Verdict, s.Runs, a)
			}
			if a.Verdict == Certified && a.Upper > tt.rate {
				t.Errorf("certified, but at most %v", a.Upper)
			}
		})
	}
}

// TestCertifyExactly computes the chance that a plan certifies a test that fails just too
// often, over all courses a campaign can take: it is at most alpha, and with a run less it
// would not be. The chance that it calls the test too flaky is at most alpha, too.
func TestCertifyExactly(t *testing.T) {
	for _, tt := range []struct {
		rate    float64
		allowed int
	}{{.04, 0}, {.01, 0}, {.2, 1}} {
		plan := certify(t, tt.rate, tt.allowed)
		if before := stats.AtMost(tt.allowed, plan.Runs-1, tt.rate); before <= .05 {
			t.Errorf("%v: %d runs would do", tt, plan.Runs-1)
		}
		chance := map[Verdict]float64{}
		var walk func(c Campaign, m member, p float64)
		walk = func(c Campaign, m member, p float64) {
			c.order, c.members = []*member{&m}, map[Subject]*member{m.Subject: &m}
			if c.Done() {
				chance[c.verdict(&m)] += p
				return
			}
			for text, q := range map[string]float64{"a": 1 - tt.rate, "-a": tt.rate} {
				d, n := c, m
				d.order, d.members = []*member{&n}, map[Subject]*member{n.Subject: &n}
				d.Add(outcomes(text))
				walk(d, n, p*q)
			}
		}
		c := NewCampaign(plan, Earlier{})
		c.member(subject("a"))
		walk(*c, *c.order[0], 1)
		if chance[Certified] > .05 || chance[TooFlaky] > .05 || chance[Certified] == 0 || chance[TooFlaky] == 0 {
			t.Errorf("%v: %v", tt, chance)
		}
	}
}

func TestSecondTry(t *testing.T) {
	before := Earlier{Campaigns: 1, Runs: 59, of: map[Subject]earlier{subject("a"): {59, 0, 0}}}
	s := play(t, NewCampaign(certify(t, .05, 0), before), "a")
	n, err := stats.SequenceRuns(1, 100, 0, .05, stats.TailOf(.95))
	if err != nil {
		t.Fatal(err)
	}
	if a := s.Tests[0]; s.Verdict != Holds || a.Runs != n-59 || a.EarlierRuns != 59 || a.Method != "anytime" || a.Upper > .05 {
		t.Errorf("%s after %d runs of %d: %+v", s.Verdict, s.Runs, n, a)
	}
	if !strings.Contains(s.Claims, "a first try and all that follow") {
		t.Error(s.Claims)
	}
	// Another test has the plan, and runs until both are certified.
	s = play(t, NewCampaign(certify(t, .05, 0), before), "a b")
	if s.Verdict != Holds || s.Runs != 59 || s.Tests[0].Method != "anytime" || s.Tests[1].Method != "fixed_n" {
		t.Errorf("%s after %d runs: %s, %s", s.Verdict, s.Runs, s.Tests[0].Method, s.Tests[1].Method)
	}
	// A failure ends it, but is no proof.
	s = play(t, NewCampaign(certify(t, .05, 0), before), "a", "-a")
	if s.Verdict != Inconclusive || s.Runs != 2 || s.Tests[0].Needed == 0 {
		t.Errorf("%s after %d runs: %+v", s.Verdict, s.Runs, s.Tests)
	}
	// What failed before failed.
	bad := Earlier{Campaigns: 1, Runs: 10, of: map[Subject]earlier{subject("a"): {10, 9, 0}}}
	s = play(t, NewCampaign(certify(t, .05, 0), bad), "a")
	if s.Verdict != Violated || s.Runs != 1 {
		t.Errorf("%s after %d runs: %+v", s.Verdict, s.Runs, s.Tests)
	}
}

func TestOtherModes(t *testing.T) {
	count := Plan{Mode: Count, Runs: 20, Confidence: .95, PriorRate: .01}
	until := Plan{Mode: UntilFail, Runs: 20, Confidence: .95, PriorRate: .01}
	for _, tt := range []struct {
		name    string
		plan    Plan
		earlier Earlier
		runs    []string
		verdict Verdict
		n       int
		a       Verdict
		method  string
	}{
		{"all pass", count, Earlier{}, []string{"a"}, Holds, 20, Passing, "fixed_n"},
		{"one fails", count, Earlier{}, []string{"-a", "a"}, Violated, 20, Flaky, "fixed_n"},
		{"all fail", count, Earlier{}, []string{"-a"}, Violated, 20, Failing, "fixed_n"},
		{"not in all runs", count, Earlier{}, []string{"b", "a b"}, Holds, 20, Passing, "anytime"},
		{"again", count, Earlier{Campaigns: 1, Runs: 5, of: map[Subject]earlier{subject("a"): {5, 1, 0}}}, []string{"a"}, Holds, 20, Flaky, "anytime"},
		{"until a failure", until, Earlier{}, passes(3, "-a"), Violated, 4, Flaky, "anytime"},
		{"no failure", until, Earlier{}, []string{"a"}, Holds, 20, Passing, "anytime"},
	} {
		s := play(t, NewCampaign(tt.plan, tt.earlier), tt.runs...)
		if a := s.Tests[0]; s.Verdict != tt.verdict || s.Runs != tt.n || a.Name != "a" || a.Verdict != tt.a || a.Method != tt.method {
			t.Errorf("%s: %s after %d runs: %+v", tt.name, s.Verdict, s.Runs, a)
		}
	}
}

// TestInterruptedCampaign: who stops before the plan is carried out may have looked.
func TestInterruptedCampaign(t *testing.T) {
	c := NewCampaign(Plan{Mode: Count, Runs: 20, Confidence: .95, PriorRate: .01}, Earlier{})
	if s := c.Summary(Conditions{Interrupted: true}); s.Verdict != Inconclusive || len(s.Tests) != 0 {
		t.Errorf("%+v", s)
	}
	for range 20 {
		c.Add(outcomes("a"))
	}
	s := c.Summary(Conditions{Interrupted: true, CutShort: 1})
	if s.Verdict != Inconclusive || s.Tests[0].Method != "anytime" || !strings.Contains(strings.Join(s.Assumes, "\n"), "cut short") {
		t.Errorf("%+v", s)
	}
}

// TestWhole: a suite that failed once passed in all other runs.
func TestWhole(t *testing.T) {
	c := NewCampaign(Plan{Mode: Count, Runs: 5, Confidence: .95, PriorRate: .01}, Earlier{})
	whole := Outcome{Subject: Subject{Identity{Suite: "s", Name: "s"}, true}, Failed: true}
	c.Add(outcomes("a"))
	c.Add(outcomes("a"))
	c.Add([]Outcome{whole})
	c.Add(outcomes("a"))
	c.Add(outcomes("a"))
	s := c.Summary(Conditions{})
	if x := s.Tests[0]; x.Display != "s (as a whole)" || x.Runs != 5 || x.Failures != 1 || x.Method != "fixed_n" || s.Verdict != Violated {
		t.Errorf("%+v", s.Tests)
	}
	if a := s.Tests[1]; a.Runs != 4 || a.Method != "anytime" {
		t.Errorf("%+v", a)
	}
}

// TestParallel never starts more runs than the plan has.
func TestParallel(t *testing.T) {
	c := NewCampaign(certify(t, .05, 0), Earlier{})
	underWay, most := 0, 0
	for started := 0; ; {
		for underWay < 8 && c.MayStart(underWay) > 0 {
			underWay++
			started++
		}
		if most = started; underWay == 0 {
			break
		}
		c.Add(outcomes("a"))
		underWay--
	}
	if s := c.Summary(Conditions{}); most != 59 || s.Verdict != Holds {
		t.Errorf("%d runs started: %+v", most, s)
	}
}
