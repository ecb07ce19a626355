package flake

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// begin begins a campaign of so many runs.
func begin(t *testing.T, s *Store, revision string, runs int) *Recorder {
	t.Helper()
	r, err := s.Record(context.Background(), Series{
		Command: "cmd", Revision: revision, Time: at(0), Seed: 1,
		Plan: Plan{Mode: Count, Runs: runs, Confidence: .95},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// process is the n-th run, with reports of such contents.
func process(n int, reports ...string) Process {
	p := Process{Number: n, Time: at(n), Seed: int64(n), Ended: "exit status 0"}
	for i, text := range reports {
		p.Reports = append(p.Reports, Written{fmt.Sprintf("report %d", i), func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}})
	}
	return p
}

// events are those of a Go stream for package x: "run A", "output A text", "pass A", "pause A".
func events(lines ...string) string {
	var text strings.Builder
	text.WriteString(`{"Action":"start","Package":"x"}` + "\n")
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		test, output, _ := strings.Cut(rest, " ")
		fmt.Fprintf(&text, `{"Action":%q,"Package":"x","Test":%q,"Output":%q}`+"\n", action, test, output)
	}
	return text.String()
}

// fates writes outcomes down: A, -A failed, ?A unfinished, *x as a whole.
func fates(list []Outcome) string {
	var words []string
	for _, o := range list {
		mark := ""
		switch {
		case o.Whole:
			mark = "*"
		case o.Failed:
			mark = "-"
		case o.Unfinished:
			mark = "?"
		}
		words = append(words, mark+o.Name)
	}
	return strings.Join(words, " ")
}

func TestOutcomes(t *testing.T) {
	hang := events("run W", "pause W", "run C", "pause C", "cont C", "run H", "run H/s", "output H/s waiting", "run A", "pass A")
	failed := func(p Process) Process { p.Failed, p.Ended = true, "exit status 1"; return p }
	timedOut := func(p Process) Process {
		p = failed(p)
		p.TimedOut, p.Ended = true, "timed out after 1m0s"
		return p
	}
	end := events("pass ")
	for _, tt := range []struct {
		name string
		p    Process
		want string
	}{
		{"exit status", process(1), "cmd"},
		{"exit status 1", failed(process(1)), "-cmd"},
		{"tests", failed(process(1, events("run A", "pass A", "run B", "fail B", "run S", "skip S", "fail "))), "A -B"},
		{"repeats fail if one does", process(1, events("run A", "pass A", "run A", "fail A", "run A", "pass A", "fail ")), "-A"},
		{"unfinished", failed(process(1, events("run A", "fail "))), "?A"},
		{"what waits says nothing", failed(process(1, hang)), "A ?C ?H ?H/s"},
		{"what was running when time was up failed", timedOut(process(1, hang)), "A -C -H -H/s"},
		{"time was up between tests", timedOut(process(1, events("run A", "pass A"))), "A *x"},
		{"a suite fails", failed(process(1, events("run A", "pass A", "fail "))), "A *x"},
		{"the command fails", failed(process(1, events("run A", "pass A", "pass "))), "A *cmd"},
		{"no report", func() Process { p := failed(process(1)); p.Missing = true; return p }(), "*cmd"},
		{"several reports", process(1, tap("ok:a"), tap("not ok:b", "ok:c")), "a -b c"},
		{"nothing", process(1, end), "no test ran"},
		{"no build", failed(process(1, events("output  FAIL\tx [build failed]\n", "fail "))), "x does not build"},
	} {
		s := newStore(t)
		out, err := begin(t, s, "r", 5).Add(context.Background(), tt.p)
		got := fates(out)
		var broken *Broken
		if errors.As(err, &broken) {
			got = broken.Reason
		} else if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if n := len(report(t, s, Config{}).Runs); (n == 1) != (broken == nil) {
			t.Errorf("%s: %d runs are stored", tt.name, n)
		}
	}
}

// TestTimedOut: the tests that were running are named, with what they had printed, and a
// parent does not fail by itself.
func TestTimedOut(t *testing.T) {
	s := newStore(t)
	p := process(1, events("run H", "run H/s", "output H/s waiting"))
	p.Failed, p.TimedOut, p.Ended = true, true, "timed out after 1m0s"
	if _, err := begin(t, s, "r", 1).Add(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	list, all, err := s.Show(context.Background(), "H/s", 1)
	if err != nil || all != 1 || list[0].Messages[0] != "timed out after 1m0s\nwaiting" {
		t.Errorf("%+v, %v", list, err)
	}
	r := report(t, s, Config{})
	for _, x := range r.Tests {
		if x.Failures != 1 || x.Unfinished != 0 || x.ChildFailures != map[string]int{"H": 1}[x.Name] {
			t.Errorf("%s: %+v", x.Name, x)
		}
	}
	if r.SuiteFailure[0].Reason != "timeout" {
		t.Errorf("%+v", r.SuiteFailure)
	}
}

// TestEarlier: the runs of a revision count for those who try again.
func TestEarlier(t *testing.T) {
	s := newStore(t)
	first := begin(t, s, "r", 4)
	for n, text := range []string{"run A|pass A|run B|fail B|fail ", "run A|pass A|run B|pass B|pass ", "run A|pass A|fail ", "run B|run A|pass A"} {
		if _, err := first.Add(context.Background(), process(n+1, events(strings.Split(text, "|")...))); err != nil {
			t.Fatal(err)
		}
	}
	add(t, s, tap("not ok:A"), Gathering{Revision: "r", Time: at(9)}) // no campaign
	got := begin(t, s, "r", 4).Earlier
	of := func(name string, whole bool) Subject {
		return Subject{Identity{Suite: "x", Name: name}, whole}
	}
	want := map[Subject]earlier{of("A", false): {4, 0, 0}, of("B", false): {3, 1, 1}, of("x", true): {4, 1, 0}}
	if diff := cmp.Diff(want, got.of, cmp.AllowUnexported(earlier{})); diff != "" || got.Campaigns != 1 || got.Runs != 4 {
		t.Errorf("%+v (-want +got):\n%s", got, diff)
	}
	if e := begin(t, s, "other", 4).Earlier; e.Runs != 0 || e.Campaigns != 0 {
		t.Errorf("%+v", e)
	}
	if _, err := s.Fix(context.Background(), "B", "fix", at(2)); err != nil {
		t.Fatal(err)
	}
	if e := begin(t, s, "r", 4).Earlier; e.of[of("B", false)] != (earlier{2, 0, 1}) {
		t.Errorf("after the fix: %+v", e.of)
	}
}

// TestKeptOutputs: of each test the output of its latest failing runs is kept.
func TestKeptOutputs(t *testing.T) {
	s := newStore(t)
	r := begin(t, s, "r", 100)
	for n := 1; n <= 20; n++ {
		text := "run A|fail A|run B|pass B|fail "
		if n == 3 {
			text = "run A|fail A|run B|fail B|fail "
		}
		p := process(n, events(strings.Split(text, "|")...))
		p.Output = fmt.Sprintf("output %d", n)
		if _, err := r.Add(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	var kept string
	if err := s.db.QueryRow(`SELECT group_concat(output, ',' ORDER BY run) FROM process WHERE output IS NOT NULL`).Scan(&kept); err != nil {
		t.Fatal(err)
	}
	if want := "output 3,output 16,output 17,output 18,output 19,output 20"; kept != want {
		t.Errorf("%s, want %s", kept, want)
	}
}

// TestMigration brings a store of each older version to this one.
func TestMigrationOfCampaigns(t *testing.T) {
	for version := 1; version < len(migrations); version++ {
		path := filepath.Join(t.TempDir(), "old.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		old := strings.Join(migrations[:version], "\n") + fmt.Sprintf(`
			INSERT INTO setting VALUES ('prior_rate', '0.02');
			INSERT INTO run VALUES (1, x'01', 'old', 'tap', '', 'r', '', 0, 'imported', 0, 0, 0);
			INSERT INTO test VALUES (1, 's', '', 'old', '');
			INSERT INTO attempt VALUES (1, 0, 1, 0, 0, 1, 1, 0, NULL, NULL);
			PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, version)
		if _, err := db.Exec(old); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		s := open(t, path)
		if _, err := begin(t, s, "r", 1).Add(context.Background(), process(1)); err != nil {
			t.Fatal(err)
		}
		r := report(t, s, Config{})
		if len(r.Tests) != 2 || r.Tests[0].Display != "s > old" || r.PriorRate != .02 {
			t.Errorf("version %d: %+v", version, r)
		}
		list, all, err := s.Show(context.Background(), "old", 1)
		if err != nil || all != 1 || list[0].Run != "old" {
			t.Errorf("version %d: %+v, %v", version, list, err)
		}
	}
}

// TestPlannedCampaign: a report takes n as fixed for one campaign with one run a process,
// and not for two that add up to it.
func TestPlannedCampaign(t *testing.T) {
	const once, twice = "run A|pass A", "run A|pass A|run A|pass A"
	for name, tt := range map[string]struct {
		campaigns [][]string
		planned   bool
	}{
		"one":          {[][]string{{once, once, once, once}}, true},
		"not complete": {[][]string{{once, once}}, false},
		"two halves":   {[][]string{{once, once}, {once, once}}, false},
		"repeats":      {[][]string{{twice, twice}}, false},
	} {
		s := newStore(t)
		n := 0
		for i, runs := range tt.campaigns {
			r := begin(t, s, fmt.Sprint(i), 4)
			for number, text := range runs {
				n++
				p := process(number+1, events(strings.Split(text, "|")...))
				p.Time = at(n)
				if _, err := r.Add(context.Background(), p); err != nil {
					t.Fatal(err)
				}
			}
		}
		if x := find(t, report(t, s, Config{}), "A"); x.Planned != tt.planned {
			t.Errorf("%s: planned %v, %d runs", name, x.Planned, x.Runs)
		}
	}
}
