package flake

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// crashes records n runs on a revision, of which every third crashes without a report; in
// the others x passes, but for the first bad.
func crashes(t *testing.T, s *Store, revision string, n, every, bad int) {
	t.Helper()
	r, err := s.Record(context.Background(), Series{
		Command: "sh crash3.sh", Name: "suite", Revision: revision, Time: at(0),
		Plan: Plan{Mode: UntilFail, Runs: n, Confidence: .95},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		p := process(i, tap("ok:x"))
		if i <= bad {
			p = process(i, tap("not ok:x"))
		}
		if every > 0 && i%every == 0 {
			p = process(i)
			p.Missing, p.Failed, p.Ended = true, true, "exit status 139"
		}
		if _, err := r.Add(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.End(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestWholeIsGated: a suite that crashes in a third of its runs passes no gate, though the
// tests in it never fail; a quarantine takes it like a test.
func TestWholeIsGated(t *testing.T) {
	s := newStore(t)
	crashes(t, s, "r", 90, 3, 0)
	g := gate(t, s, GateConfig{MaxRate: 0.1})
	x := g.Tests[0]
	if g.Verdict != TooFlaky || !x.Whole || x.Display != "suite (as a whole)" || x.Runs != 90 || x.Failures != 30 || g.Tests[1].Name != "x" {
		t.Errorf("%+v", g)
	}
	var text bytes.Buffer
	if err := g.WriteText(&text, TextOptions{}); err != nil || !strings.Contains(text.String(), "suite (as a whole)") || !strings.Contains(text.String(), "1 suite or command as a whole: counted as failed") {
		t.Errorf("%s, %v", text.String(), err)
	}
	q := quarantine(t, "2026-06-30 @me suite (as a whole)")
	g = gate(t, s, GateConfig{MaxRate: 0.1, Quarantine: q, Today: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)})
	if g.Verdict != Certified || len(g.Quarantined) != 1 || len(g.Unknown) != 0 {
		t.Errorf("%+v", g)
	}
	r := report(t, s, Config{Target: 0.1})
	if len(r.Whole) != 1 || r.Whole[0].OnRate != Undecided || !strings.Contains(r.headline(), "1 certified, 0 too flaky, 1 undecided") {
		t.Errorf("%+v, %s", r.Whole, r.headline())
	}
}

// TestWholeOfPackage: so does a Go package whose process fails by itself, also where the
// reports were imported, and a test that failed explains its package.
func TestWholeOfPackage(t *testing.T) {
	s := newStore(t)
	for i := range 30 {
		text := events("run A", "pass A", "pass ")
		switch {
		case i < 10:
			text = events("run A", "pass A", "fail ")
		case i == 10:
			text = events("run A", "fail A", "fail ")
		}
		add(t, s, text, Gathering{RunID: string(rune('A' + i)), Time: at(i), TimeKnown: true})
	}
	r := report(t, s, Config{})
	if len(r.Whole) != 1 || r.Whole[0].Failures != 10 || r.Whole[0].Runs != 30 || r.Whole[0].Name != "x" {
		t.Errorf("%+v", r.Whole)
	}
	only := Config{Filter: Filter{Match: func(i Identity) bool { return i.Name == "A" }}}
	if r := report(t, s, only); len(r.Whole) != 0 {
		t.Errorf("%+v", r.Whole)
	}
}

// TestCompareWhole: a side that crashes is worse, and its missing runs speak against better.
func TestCompareWhole(t *testing.T) {
	s := newStore(t)
	crashes(t, s, "a", 60, 0, 12)
	crashes(t, s, "b", 60, 2, 0)
	a, b := Side{"a", s, Filter{Revisions: []string{"a"}}}, Side{"b", s, Filter{Revisions: []string{"b"}}}
	out := compare(t, a, b, CompareConfig{})
	if x := out.Tests[0]; out.Verdict != Worse || !x.Whole || x.A != (Counts{Runs: 60}) || x.B != (Counts{Runs: 60, Failures: 30}) {
		t.Errorf("%+v", out)
	}
	out = compare(t, a, b, CompareConfig{Test: "x"})
	if x := out.Tests[0]; out.Verdict != CannotTell || len(out.Tests) != 1 || x.B.Missing != 30 || x.B.String() != "0/30 +30 missing" {
		t.Errorf("%+v", out)
	}
}

// silent adds n reports of one side, in k of which the package dies before a word of its
// test; in the next bad the test fails.
func silent(t *testing.T, s *Store, side string, n, k, bad int) {
	t.Helper()
	for i := range n {
		text := events("run A", "pass A", "pass ")
		switch {
		case i < k:
			text = events("fail ")
		case i < k+bad:
			text = events("run A", "fail A", "fail ")
		}
		add(t, s, text, Gathering{RunID: fmt.Sprint(side, i), Labels: []string{"side=" + side}})
	}
}

// TestSilentPackage: imported reports in which a package dies before it names a test do not
// certify it, nor make the side better on which they are.
func TestSilentPackage(t *testing.T) {
	s := newStore(t)
	silent(t, s, "a", 60, 0, 12)
	silent(t, s, "b", 60, 30, 0)
	side := func(name string) Side {
		return Side{name, s, Filter{Labels: []string{"side=" + name}}}
	}
	g := gate(t, s, GateConfig{Filter: side("b").Filter, MaxRate: 0.2})
	if x := g.Tests[0]; g.Verdict != TooFlaky || x.Display != "x (as a whole) [side=b]" || x.Runs != 60 || x.Failures != 30 {
		t.Errorf("%+v", g)
	}
	out := compare(t, side("a"), side("b"), CompareConfig{})
	if x := out.Tests[0]; out.Verdict != Worse || !x.Whole || x.B != (Counts{Runs: 60, Failures: 30}) {
		t.Errorf("%+v", out)
	}
	if x := out.Tests[1]; x.Verdict != CannotTell || x.A.Failures != 12 || x.B != (Counts{Runs: 30, Missing: 30}) {
		t.Errorf("%+v", x)
	}
}

// TestCampaignsAtOnce: of two campaigns under way at once only the one that began first has
// its number of runs fixed beforehand; a campaign that ended without a run is forgotten.
func TestCampaignsAtOnce(t *testing.T) {
	s := newStore(t)
	plan, err := CertifyPlan(.1, .95, 0)
	if err != nil {
		t.Fatal(err)
	}
	start := func() (*Recorder, *Campaign) {
		r, err := s.Record(context.Background(), Series{Command: "c", Name: "smoke", Revision: "r", Time: at(0), Plan: plan})
		if err != nil {
			t.Fatal(err)
		}
		return r, NewCampaign(r.Plan, r.Earlier)
	}
	empty, _ := start()
	if err := empty.End(context.Background()); err != nil {
		t.Fatal(err)
	}
	r1, c1 := start()
	r2, c2 := start()
	for i := 1; i <= plan.Runs; i++ {
		for at, r := range []*Recorder{r1, r2} {
			out, err := r.Add(context.Background(), process(i))
			if err != nil {
				t.Fatal(err)
			}
			[]*Campaign{c1, c2}[at].Add(out)
		}
	}
	if s := c1.Summary(Conditions{}); s.Verdict != Holds || s.Tests[0].Method != "fixed_n" {
		t.Errorf("%+v", s)
	}
	x := c2.Summary(Conditions{})
	if x.Verdict != Inconclusive || x.Tests[0].Method != "anytime" || c2.Needed() == 0 || x.Earlier.UnderWay != 1 {
		t.Errorf("%+v", x)
	}
	var text bytes.Buffer
	if err := x.WriteText(&text, TextOptions{}); err != nil || !strings.Contains(text.String(), "1 campaign of the same test had begun") {
		t.Errorf("%s, %v", text.String(), err)
	}
}

// TestBlindCampaign: with --keep-going a crash before the first test ends nothing.
func TestBlindCampaign(t *testing.T) {
	plan := certify(t, .05, 0)
	plan.KeepGoing = true
	c := NewCampaign(plan, Earlier{})
	c.Add([]Outcome{{Subject: Subject{Identity{Name: "s"}, true}, Failed: true}})
	if c.Done() || c.MayStart(0) != plan.Runs-1 {
		t.Errorf("done %v, %d more", c.Done(), c.MayStart(0))
	}
}

// TestEarlierFailuresShow: a row with earlier failures is not called passing, and what holds
// is said to be about these runs. A verdict of too flaky says what it rests on.
func TestEarlierFailuresShow(t *testing.T) {
	e := Earlier{Campaigns: 1, Runs: 3, of: map[Subject]earlier{subject("a"): {3, 3, 0}}}
	words := func(p Plan, e Earlier, runs ...string) string {
		var text strings.Builder
		if err := play(t, NewCampaign(p, e), runs...).WriteText(&text, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		return text.String()
	}
	count := Plan{Mode: Count, Runs: 10, Confidence: .95, PriorRate: DefaultPriorRate}
	got := words(count, e, "a")
	for _, want := range []string{"holds: 10 runs, 0 failed; 3 earlier on this revision; in these runs alone: in earlier ones 1 test failed\n", "3/13", "flaky"} {
		if !strings.Contains(got, want) || strings.Contains(got, "passing") {
			t.Errorf("no %q in %s", want, got)
		}
	}
	if got := words(certify(t, .04, 0), Earlier{}, "-a"); !strings.Contains(got, "not corrected for their number. The bounds shown") {
		t.Error(got)
	}
	if got := words(certify(t, .04, 0), e, "-a"); !strings.Contains(got, "too flaky, where tried before") {
		t.Error(got)
	}
}
