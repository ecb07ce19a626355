package flake

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"exactlyone/stats"
)

func gate(t *testing.T, s *Store, c GateConfig) *Gate {
	t.Helper()
	g, err := s.Gate(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func quarantine(t *testing.T, text string) *Quarantine {
	t.Helper()
	q, err := ParseQuarantine(strings.NewReader(text), "q")
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestGateVerdicts: each bound at the full confidence, failures by Holm, and the number of
// runs that a test lacks is the least one.
func TestGateVerdicts(t *testing.T) {
	s := newStore(t)
	addRuns(t, s, "a", strings.Repeat("p", 40), Gathering{})
	addRuns(t, s, "b", strings.Repeat("p", 14)+"f", Gathering{})
	if g := gate(t, s, GateConfig{MaxRate: 0.1}); g.Verdict != Undecided || g.MoreRuns != g.Tests[0].MoreRuns || g.Tests[0].Name != "b" || g.Tests[1].Verdict != Certified {
		t.Errorf("%+v", g)
	} else {
		need := 15 + g.MoreRuns
		_, upper := stats.Sequence(1, 100, 1, need, 0.05)
		_, before := stats.Sequence(1, 100, 1, need-1, 0.05)
		if upper > 0.1 || before <= 0.1 {
			t.Errorf("%d more runs, upper %v, one less %v", g.MoreRuns, upper, before)
		}
	}
	if g := gate(t, s, GateConfig{MaxRate: 0.6}); g.Verdict != Certified {
		t.Errorf("%+v", g)
	}
	addRuns(t, s, "c", strings.Repeat("f", 9), Gathering{})
	g := gate(t, s, GateConfig{MaxRate: 0.1})
	if c := g.Tests[0]; g.Verdict != TooFlaky || c.Name != "c" || c.Adjusted != math.Min(1, 3*c.P) || c.MoreRuns != 0 {
		t.Errorf("%+v", g)
	}
}

// TestGateCorrects: evidence that would do for one test does not for forty.
func TestGateCorrects(t *testing.T) {
	s := newStore(t)
	addRuns(t, s, "bad", "fff", Gathering{})
	c := GateConfig{MaxRate: 0.1}
	alone := gate(t, s, c)
	p := alone.Tests[0].P
	if p > 0.05 || p < 0.05/40 {
		t.Fatalf("p %v tells nothing of forty tests", p)
	}
	for i := range 39 {
		addRuns(t, s, "ok"+string(rune('A'+i)), "p", Gathering{})
	}
	if g := gate(t, s, c); g.Verdict != Undecided {
		t.Errorf("%+v", g)
	}
}

// TestGatePlans: a plan certifies when it is complete and not before, and what comes after
// it is looked at as often as anybody likes.
func TestGatePlans(t *testing.T) {
	plan := Gathering{How: Planned, Planned: 20}
	const rate = 0.14
	passes := strings.Repeat("p", 21)
	for _, tt := range []struct {
		outcomes string
		verdict  Verdict
		more     int
	}{
		{passes[:18], Undecided, 2},
		{passes[:20], Certified, 0},       // 1 - 0.05^(1/20) is 13.91 %
		{passes[:2] + "f", Undecided, -1}, // too late for the plan
		{passes[:21], Undecided, -1},      // more than planned
		{passes[:2] + "u", Undecided, -1}, // an unfinished run counts as failed
	} {
		s := newStore(t)
		addRuns(t, s, "a", tt.outcomes, plan)
		g := gate(t, s, GateConfig{MaxRate: rate})
		x := g.Tests[0]
		want := tt.more
		if want < 0 {
			k := strings.Count(tt.outcomes, "f") + strings.Count(tt.outcomes, "u")
			n, err := stats.SequenceRuns(1, 100, k, rate, 0.05)
			if err != nil {
				t.Fatal(err)
			}
			want = n - len(tt.outcomes)
		}
		if g.Verdict != tt.verdict || x.MoreRuns != want {
			t.Errorf("%s: %s, %d more, want %s, %d", tt.outcomes, g.Verdict, x.MoreRuns, tt.verdict, want)
		}
	}
}

// TestGateQuarantine: an entry holds on its last day and not on the next.
func TestGateQuarantine(t *testing.T) {
	s := newStore(t)
	addRuns(t, s, "good", strings.Repeat("p", 60), Gathering{})
	addRuns(t, s, "bad", strings.Repeat("f", 60), Gathering{})
	q := quarantine(t, "# who and until when\n\n2026-06-30\t@me  bad\r\n2026-01-01 @me no such test\n")
	day := time.Date(2026, 6, 30, 23, 59, 0, 0, time.UTC)
	g := gate(t, s, GateConfig{MaxRate: 0.1, Quarantine: q, Today: day})
	if g.Verdict != Certified || len(g.Quarantined) != 1 || g.Quarantined[0].Display != "bad" || g.Quarantined[0].Owner != "@me" || g.Quarantined[0].Certified {
		t.Errorf("%+v", g)
	}
	if len(g.Unknown) != 1 || g.Unknown[0] != (QuarantineEntry{"q:4", "2026-01-01", "@me", "no such test"}) {
		t.Errorf("%+v", g.Unknown)
	}
	g = gate(t, s, GateConfig{MaxRate: 0.1, Quarantine: q, Today: day.AddDate(0, 0, 1)})
	if x := g.Tests[0]; g.Verdict != TooFlaky || x.Name != "bad" || x.Expired == nil || x.Expired.At != "q:3" {
		t.Errorf("%+v", g)
	}
	// Nothing left to gate is no pass.
	g = gate(t, s, GateConfig{MaxRate: 0.1, Quarantine: quarantine(t, "2026-06-30 a good\n2026-06-30 a bad"), Today: day})
	if g.Verdict != Undecided || g.Why != "no test is gated" || !g.Quarantined[1].Certified {
		t.Errorf("%+v", g)
	}
}

// TestQuarantineErrors: every bad line is named.
func TestQuarantineErrors(t *testing.T) {
	_, err := ParseQuarantine(strings.NewReader("2026-06-30 @me\nsoon @me a\n2026-06-30 @me a  b\n2026-02-30 @me c\n2026-07-01 @you a  b\n"+strings.Repeat("x", maxQuarantineLine+1)), "q")
	want := `flake: q:1: a date, an owner and a test were expected, such as "2026-06-30 @payments TestPay"
flake: q:2: "soon": a date such as 2026-06-30 was expected
flake: q:4: "2026-02-30": a date such as 2026-06-30 was expected
flake: q:5: test "a  b" stands in line 3 already
flake: q:6: a line of 65536 bytes at most was expected`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	s := newStore(t)
	add(t, s, `<testsuite name="s"><testcase classname="c" name="a"/></testsuite>`, Gathering{Labels: []string{"os=x"}})
	add(t, s, `<testsuite name="s"><testcase classname="d" name="a"/></testsuite>`, Gathering{})
	for text, want := range map[string]string{
		"2026-06-30 @me a":         `flake: q:1: test "a": there are several, such as "s > c > a [os=x]" and "s > d > a"; name one of them so`,
		"2026-06-30 @me s > c > a": "",
		"2026-06-30 @me s > c > a\n2026-06-30 @me s > c > a [os=x]": `flake: q:2: test "s > c > a [os=x]" stands in q:1 already, as "s > c > a"`,
	} {
		_, err := s.Gate(context.Background(), GateConfig{MaxRate: 0.1, Quarantine: quarantine(t, text)})
		if got := errorOf(err); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func errorOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestGateIncompletePlan: why a test is undecided whose bound is low enough.
func TestGateIncompletePlan(t *testing.T) {
	s := newStore(t)
	addRuns(t, s, "a", strings.Repeat("p", 134), Gathering{How: Planned, Planned: 200})
	g := gate(t, s, GateConfig{MaxRate: 0.1})
	x := g.Tests[0]
	if g.Verdict != Undecided || x.Upper > 0.1 || x.MoreRuns != 66 || !strings.Contains(x.Why, "it ran in 134 of 200 planned runs") {
		t.Errorf("%+v", g)
	}
	var text strings.Builder
	if err := g.WriteText(&text, TextOptions{}); err != nil || !strings.Contains(text.String(), "undecided     a: its plan is not complete") {
		t.Errorf("%s, %v", text.String(), err)
	}
}
