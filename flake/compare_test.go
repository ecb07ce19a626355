package flake

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"exactlyone/stats"
)

// sides makes a store with runs of revision A and of revision B for each test.
func sides(t *testing.T, runs map[string][2]string) (a, b Side) {
	t.Helper()
	s := newStore(t)
	for name, outcomes := range runs {
		addRuns(t, s, name, outcomes[0], Gathering{Revision: "A"})
		addRuns(t, s, name, outcomes[1], Gathering{Revision: "B", Labels: []string{"side=b"}})
	}
	return Side{"A", s, Filter{Revisions: []string{"A"}}}, Side{"B", s, Filter{Labels: []string{"side=b"}}}
}

func compare(t *testing.T, a, b Side, c CompareConfig) *Compared {
	t.Helper()
	out, err := Compare(context.Background(), a, b, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestCompareNamed: one test is corrected for its two directions only, many for theirs.
func TestCompareNamed(t *testing.T) {
	runs := map[string][2]string{
		"a": {strings.Repeat("f", 4) + strings.Repeat("p", 6), strings.Repeat("p", 10)},
		"b": {strings.Repeat("p", 20), strings.Repeat("p", 10)},
		"c": {"pp", "pp"}, "d": {"p", ""}, "e": {"", "p"},
	}
	a, b := sides(t, runs)
	p, err := stats.Boschloo(4, 10, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if !(2*p.Greater <= 0.05 && 6*p.Greater > 0.05) {
		t.Fatalf("p %v does not tell one test from three", p.Greater)
	}
	out := compare(t, a, b, CompareConfig{Test: "a"})
	if x := out.Tests[0]; out.Verdict != Better || len(out.Tests) != 1 || x.PBetter != p.Greater || x.PWorse != p.Less || x.AdjustedBetter != 2*p.Greater {
		t.Errorf("%+v", out)
	}
	if out := compare(t, b, a, CompareConfig{Test: "a"}); out.Verdict != Worse {
		t.Errorf("%+v", out)
	}
	out = compare(t, a, b, CompareConfig{})
	x := out.Tests[0]
	if out.Verdict != CannotTell || len(out.Tests) != 3 || x.Name != "a" || x.AdjustedBetter != 6*p.Greater {
		t.Errorf("%+v", out)
	}
	if n, err := stats.RunsPerSide(0.4, 0, 0.025, 0.8); err != nil || x.MorePerSide != n {
		t.Errorf("%d more, want %d, %v", x.MorePerSide, n, err)
	}
	if diff := cmp.Diff([]string{"d"}, out.A.Only) + cmp.Diff([]string{"e"}, out.B.Only); diff != "" {
		t.Error(diff)
	}
	if out := compare(t, a, b, CompareConfig{Test: "a", Anytime: true}); out.Tests[0].PBetter <= p.Greater || out.Tests[0].Method != "anytime" {
		t.Errorf("%+v", out)
	}
	if _, err := Compare(context.Background(), a, b, CompareConfig{Test: "nobody"}); errorOf(err) != `flake: test "nobody": it ran on neither side` {
		t.Error(err)
	}
	if _, err := Compare(context.Background(), a, a, CompareConfig{}); err == nil || !strings.Contains(err.Error(), "is on both sides") {
		t.Error(err)
	}
}

// TestCompareUnfinished: what is not known speaks against either verdict.
func TestCompareUnfinished(t *testing.T) {
	a, b := sides(t, map[string][2]string{"a": {"fffpp", "ppppu"}})
	out := compare(t, a, b, CompareConfig{Test: "a"})
	better, _ := stats.Boschloo(3, 5, 1, 5)
	worse, _ := stats.Boschloo(3, 5, 0, 5)
	if x := out.Tests[0]; x.PBetter != better.Greater || x.PWorse != worse.Less || x.B != (Counts{4, 0, 1, 0}) {
		t.Errorf("%+v", x)
	}
}

// TestCompareMoreAnytime: with so many runs more, and one less, at the rates seen.
func TestCompareMoreAnytime(t *testing.T) {
	a, b := sides(t, map[string][2]string{"a": {"fp", "pp"}})
	out := compare(t, a, b, CompareConfig{Test: "a", Anytime: true})
	d := out.Tests[0].MorePerSide
	at := func(d int) float64 { return 2 * stats.SequenceCompare(1, 100, (2+d+1)/2, 2+d, 0, 2+d).Greater }
	if d < 2 || at(d) > 0.05 || at(d-1) <= 0.05 {
		t.Errorf("%d more: p %v, one less %v", d, at(d), at(d-1))
	}
}
