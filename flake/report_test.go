package flake

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"exactlyone/stats"
)

// find returns what a report says of a test.
func find(t *testing.T, r *Report, name string) Test {
	t.Helper()
	for _, x := range r.Tests {
		if x.Name == name {
			return x
		}
	}
	t.Fatalf("no test %s", name)
	return Test{}
}

// addRuns stores one report for each letter: p passes, f fails, u is unfinished.
func addRuns(t *testing.T, s *Store, name, outcomes string, g Gathering) {
	t.Helper()
	for i, c := range outcomes {
		g.Time = at(i)
		g.RunID = fmt.Sprintf("%s %d", name, i)
		switch c {
		case 'p':
			add(t, s, tap("ok:"+name), g)
		case 'f':
			add(t, s, tap("not ok:"+name), g)
		case 'u':
			add(t, s, fmt.Sprintf(`{"Action":"start","Package":""}
{"Action":"run","Package":"","Test":"%s"}
`, name), g)
		}
	}
}

// TestPlanned: with a plan that is kept to, the bounds are those of a fixed n. Before
// and beyond, and without a plan, they hold at every n.
func TestPlanned(t *testing.T) {
	for _, tt := range []struct {
		name, outcomes string
		g              Gathering
		planned        bool
	}{
		{"kept", "pppfp", Gathering{How: Planned, Planned: 5}, true},
		{"short", "pppp", Gathering{How: Planned, Planned: 5}, false},
		{"over", "pppppp", Gathering{How: Planned, Planned: 5}, false},
		{"imported", "ppppp", Gathering{}, false},
		{"sequential", "ppppp", Gathering{How: Sequential}, false},
	} {
		s := newStore(t)
		addRuns(t, s, "a", tt.outcomes, tt.g)
		x := find(t, report(t, s, Config{}), "a")
		k, n := strings.Count(tt.outcomes, "f"), len(tt.outcomes)
		lower, upper := stats.Sequence(1, 100, k, n, 0.05)
		if tt.planned {
			lower, upper = stats.Lower(k, n, 0.05), stats.Upper(k, n, 0.05)
		}
		if x.Planned != tt.planned || x.Runs != n || x.Failures != k || x.Lower != lower || x.Upper != upper {
			t.Errorf("%s: %+v, want planned %v, %v to %v", tt.name, x, tt.planned, lower, upper)
		}
	}
}

func TestPlansDiffer(t *testing.T) {
	s := newStore(t)
	add(t, s, tap("ok:a"), Gathering{How: Planned, Planned: 2, RunID: "1", Time: at(1)})
	add(t, s, tap("ok:a"), Gathering{How: Planned, Planned: 3, RunID: "2", Time: at(2)})
	if x := find(t, report(t, s, Config{}), "a"); x.Planned {
		t.Errorf("two plans: %+v", x)
	}
}

// TestUnfinished: they count as failed in the upper bound and as passed in the lower one.
func TestUnfinished(t *testing.T) {
	s := newStore(t)
	addRuns(t, s, "a", "ppfpu", Gathering{How: Planned, Planned: 5})
	x := find(t, report(t, s, Config{}), "a")
	if x.Runs != 4 || x.Failures != 1 || x.Unfinished != 1 || !x.Planned ||
		x.Lower != stats.Lower(1, 5, 0.05) || x.Upper != stats.Upper(2, 5, 0.05) {
		t.Errorf("%+v", x)
	}
}

// TestBothReadings: where repeats cannot be told from retries, the worse bounds are shown
// and no runs test is made.
func TestBothReadings(t *testing.T) {
	s := newStore(t)
	add(t, s, `<testsuite name="s"><testcase name="a" classname="c"><failure/></testcase><testcase name="a" classname="c"><failure/></testcase><testcase name="a" classname="c"/></testsuite>`, Gathering{Time: at(1)})
	x := find(t, report(t, s, Config{}), "a")
	if len(x.Readings) != 2 || x.Readings[0].Runs != 3 || x.Readings[0].Failures != 2 || x.Readings[1].Runs != 1 || x.Readings[1].Failures != 1 {
		t.Fatalf("%+v", x.Readings)
	}
	if x.Lower != min(x.Readings[0].Anytime.Lower, x.Readings[1].Anytime.Lower) || x.Upper != 1 {
		t.Errorf("%+v", x.Bounds)
	}
	if x.Dependence.Tested || x.Dependence.Why != "repeats cannot be told from retries" {
		t.Errorf("%+v", x.Dependence)
	}
}

// TestSessionsThatMayBeRetries is gotestsum --rerun-fails with its JSON file: the package
// runs again after a failure, in the same stream.
func TestSessionsThatMayBeRetries(t *testing.T) {
	s := newStore(t)
	session := func(result string) string {
		return `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"` + result + `","Package":"p","Test":"TestA"}
{"Action":"` + result + `","Package":"p"}
`
	}
	add(t, s, session("fail")+session("pass"), Gathering{Time: at(1)})
	x := find(t, report(t, s, Config{}), "TestA")
	if len(x.Readings) != 2 || x.Readings[1].Runs != 1 || x.Readings[1].Failures != 1 || x.Readings[0].Runs != 2 {
		t.Errorf("%+v", x.Readings)
	}
}

// TestDependence: failures in a row raise a warning, also after correction for many
// tests; failures here and there do not.
func TestDependence(t *testing.T) {
	s := newStore(t)
	for i := range 60 {
		row, scattered := "ok:row", "ok:scattered"
		if i >= 20 && i < 30 {
			row = "not ok:row"
		}
		if i%7 == 3 {
			scattered = "not ok:scattered"
		}
		add(t, s, tap(row, scattered), Gathering{RunID: fmt.Sprint(i), Time: at(i)})
	}
	r := report(t, s, Config{})
	if d := find(t, r, "row").Dependence; !d.Tested || d.Streaks != 3 || d.Warning != "failures come in clusters" ||
		d.P != stats.RunsTest(10, 50, 3).Doubled || d.Adjusted != 2*d.P {
		t.Errorf("row: %+v", d)
	}
	if d := find(t, r, "scattered").Dependence; !d.Tested || d.Warning != "" {
		t.Errorf("scattered: %+v", d)
	}
}

// TestCollateral: a parent that failed because of a subtest counts for nobody, and its
// subtests not for it.
func TestCollateral(t *testing.T) {
	s := newStore(t)
	event := func(action, test string) string {
		return fmt.Sprintf(`{"Action":"%s","Package":"p","Test":"%s"}`+"\n", action, test)
	}
	add(t, s, `{"Action":"start","Package":"p"}`+"\n"+
		event("run", "TestP")+event("run", "TestP/x")+event("fail", "TestP/x")+event("fail", "TestP")+
		event("run", "TestQ")+event("fail", "TestQ")+event("run", "TestR")+event("pass", "TestR"), Gathering{Time: at(1)})
	r := report(t, s, Config{})
	for name, want := range map[string]Collateral{
		"TestP": {Runs: 1, Mean: 1, Most: 1}, "TestP/x": {Runs: 1, Mean: 1, Most: 1},
		"TestQ": {Runs: 1, Mean: 1, Most: 1}, "TestR": {},
	} {
		if got := find(t, r, name).Collateral; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if x := find(t, r, "TestP"); x.ChildFailures != 1 {
		t.Errorf("%+v", x)
	}
}

// TestSuiteChance: the product over tests, each failure counted once though its parent
// fails with it; and what retries would hide.
func TestSuiteChance(t *testing.T) {
	s := newStore(t)
	for i := range 10 {
		a, b := "ok:a", "ok:b"
		if i < 2 {
			a = "not ok:a"
		}
		if i == 5 {
			b = "not ok:b"
		}
		add(t, s, tap(a, b), Gathering{RunID: fmt.Sprint(i), Time: at(i)})
	}
	suite := report(t, s, Config{Retries: 1}).Suites[0]
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	if suite.Runs != 10 || suite.Failed != 3 || suite.Tests != 2 || !near(suite.Chance, 1-0.8*0.9) ||
		len(suite.Retries) != 1 || !near(suite.Retries[0].Chance, 1-0.96*0.99) || !near(suite.Retries[0].Hidden, 0.96*0.99-0.8*0.9) {
		t.Errorf("%+v", suite)
	}
}

// TestFixed: the count starts anew; the history stays.
func TestFixed(t *testing.T) {
	s := newStore(t)
	for i, result := range []string{"not ok", "not ok", "ok", "ok", "ok"} {
		g := Gathering{RunID: fmt.Sprint(i), Time: at(i), Revision: "old"}
		if i >= 2 {
			g.Revision = "new"
		}
		add(t, s, tap(result+":a", result+":b"), g)
	}
	marked, err := s.Fix(context.Background(), "a", "new", at(60))
	if err != nil || len(marked) != 1 || marked[0].Name != "a" {
		t.Fatalf("%v, %v", marked, err)
	}
	r := report(t, s, Config{})
	boschloo, err := stats.Boschloo(2, 2, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	if x := find(t, r, "a"); x.Runs != 3 || x.Failures != 0 || x.FixedSince != "new" || *x.Before != (Before{2, 2, boschloo.Greater, "Boschloo"}) {
		t.Errorf("a: %+v, %+v", x, x.Before)
	}
	if x := find(t, r, "b"); x.Runs != 5 || x.Failures != 2 {
		t.Errorf("b: %+v", x)
	}
	// Of a revision that has not run yet nothing counts before the mark.
	if _, err := s.Fix(context.Background(), "b", "later", at(4)); err != nil {
		t.Fatal(err)
	}
	if x := find(t, report(t, s, Config{}), "b"); x.Runs != 1 || x.Failures != 0 {
		t.Errorf("b: %+v", x)
	}
	for _, name := range []string{"nobody", ""} {
		if _, err := s.Fix(context.Background(), name, "new", at(1)); err == nil {
			t.Errorf("%q was marked", name)
		}
	}
	if _, err := s.Fix(context.Background(), "a", "", at(1)); err == nil {
		t.Error("marked without a revision")
	}
}

func TestFilter(t *testing.T) {
	s := newStore(t)
	for i := range 6 {
		os := []string{"os=linux", "os=mac"}[i%2]
		add(t, s, tap("ok:a", "not ok:b"), Gathering{RunID: fmt.Sprint(i), Time: at(i), Revision: fmt.Sprint("r", i/2), Labels: []string{os, "arch=arm"}})
	}
	for _, tt := range []struct {
		name  string
		f     Filter
		runs  int
		tests int
	}{
		{"all", Filter{}, 6, 4},
		{"label", Filter{Labels: []string{"os=linux"}}, 3, 2},
		{"labels", Filter{Labels: []string{"os=linux", "arch=arm"}}, 3, 2},
		{"no such label", Filter{Labels: []string{"os=plan9"}}, 0, 0},
		{"revisions", Filter{Revisions: []string{"r0", "r2"}}, 4, 4},
		{"since", Filter{Since: at(4)}, 2, 4},
		{"until", Filter{Until: at(4)}, 4, 4},
		{"match", Filter{Match: func(t Identity) bool { return t.Name == "a" }}, 6, 2},
	} {
		r := report(t, s, Config{Filter: tt.f})
		if len(r.Runs) != tt.runs || len(r.Tests) != tt.tests {
			t.Errorf("%s: %d runs, %d tests, want %d, %d", tt.name, len(r.Runs), len(r.Tests), tt.runs, tt.tests)
		}
	}
}

// TestTarget: what is certified, too flaky, or neither.
func TestTarget(t *testing.T) {
	s := newStore(t)
	outcomes := strings.Repeat("p", 29)
	addRuns(t, s, "good", outcomes, Gathering{How: Planned, Planned: 29})
	addRuns(t, s, "bad", strings.Repeat("f", 29), Gathering{How: Planned, Planned: 29})
	addRuns(t, s, "few", "pp", Gathering{How: Planned, Planned: 2})
	r := report(t, s, Config{Target: 0.1}) // 29 runs certify 10 %
	for name, want := range map[string]Verdict{"good": Certified, "bad": TooFlaky, "few": Undecided} {
		if got := find(t, r, name).OnRate; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	names := []string{}
	for _, x := range r.Tests {
		names = append(names, x.Name+" "+string(x.Verdict))
	}
	if diff := cmp.Diff([]string{"bad failing", "few passing", "good passing"}, names); diff != "" {
		t.Errorf("ranking (-want +got):\n%s", diff)
	}
}

func TestMask(t *testing.T) {
	for _, tt := range [][2]string{
		{"want 3, got 4", "want <n>, got <n>"},
		{"took 1.532s, at 12,345.6 ms", "took <n>s, at <n> ms"},
		{"dial tcp 10.0.0.7:8080: refused", "dial tcp <address>: refused"},
		{"dial tcp [::1]:8080: refused", "dial tcp <address>: refused"},
		{"open /tmp/x-12/y.txt: no such file", "open <path>: no such file"},
		{`open C:\Temp\y.txt`, "open <path>"},
		{"id 123e4567-e89b-12d3-a456-426614174000", "id <uuid>"},
		{"goroutine 7 [running] 0xc000012345", "goroutine <n> [running] <hex>"},
		{"commit 4f2a9c81 facade defaced", "commit <hex> facade defaced"},
		{"a/b is no path, 3/4 neither", "a/b is no path, <n>/<n> neither"},
		{"x\n\ty", "x y"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"", ""},
	} {
		if got := Mask(tt[0]); got != tt[1] {
			t.Errorf("Mask(%q) = %q, want %q", tt[0], got, tt[1])
		}
	}
}

func TestMessages(t *testing.T) {
	s := newStore(t)
	for i, message := range []string{"got 1", "got 2", "other"} {
		add(t, s, fmt.Sprintf(`<testsuite name="s"><testcase name="a" classname="c"><failure message="%s"/></testcase></testsuite>`, message), Gathering{Time: at(i)})
	}
	got := find(t, report(t, s, Config{}), "a").Messages
	if !slices.Equal(got, []Message{{"got <n>", 2}, {"other", 1}}) {
		t.Errorf("%v", got)
	}
}

// TestCachedNeverCount: go's cached results are no runs.
func TestCachedNeverCount(t *testing.T) {
	s := newStore(t)
	in := add(t, s, `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Output":"ok  \tp\t(cached)\n"}
{"Action":"pass","Package":"p"}
`, Gathering{Time: at(1)})
	x := find(t, report(t, s, Config{}), "TestA")
	if in.Runs != 0 || x.Runs != 0 || x.Cached != 1 || x.Verdict != NoRuns {
		t.Errorf("%+v, %+v", in, x)
	}
}
