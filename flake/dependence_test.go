package flake

import (
	"context"
	"math"
	"strings"
	"testing"
)

// stream makes a store of runs: each the tests of one process in the order in which they
// ran, -a where a failed.
func stream(t *testing.T, runs ...string) *Store {
	t.Helper()
	s := newStore(t)
	r := begin(t, s, "r", len(runs))
	for n, text := range runs {
		var lines []string
		for word := range strings.FieldsSeq(text) {
			name, failed := strings.CutPrefix(word, "-")
			lines = append(lines, "run "+name, map[bool]string{true: "fail ", false: "pass "}[failed]+name)
		}
		if _, err := r.Add(context.Background(), process(n+1, events(lines...))); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// times n of a text.
func each(n int, text string) (list []string) {
	for range n {
		list = append(list, text)
	}
	return list
}

func TestLeak(t *testing.T) {
	repeats := func(pass, fail int) string { return strings.Repeat("a ", pass) + strings.Repeat("-a ", fail) }
	for _, tt := range []struct {
		name  string
		runs  []string
		want  string // in the warning
		leakP float64
	}{
		// P = 1/C(10,3) = 1/120
		{"from run 8 on", []string{repeats(7, 3)}, "it fails from run 8 of a process on, every time, in 1 of 1 process", 1. / 120},
		{"twice", []string{repeats(7, 3), repeats(10, 0), repeats(8, 2)}, "from run 8 to 9 of a process on, every time, in 2 of 3 processes", 1. / 120 / 45},
		{"it recovers", []string{repeats(7, 3) + "a"}, "", 1},
		{"too few to tell", []string{repeats(9, 1)}, "", .1},
		{"the first fails", append(each(12, "-a a a"), "a a a"), "repeats within a process are unlike fresh processes: 0 of 26 failed against 12 of 13", 1},
		{"no repeats", append(each(9, "a"), "-a"), "-", 0},
	} {
		x := find(t, report(t, stream(t, tt.runs...), Config{}), "a")
		if tt.want == "-" {
			if x.Repeats != nil {
				t.Errorf("%s: %+v", tt.name, x.Repeats)
			}
			continue
		}
		if math.Abs(x.Repeats.LeakP-tt.leakP) > 1e-9 || !strings.Contains(x.Repeats.Warning, tt.want) || tt.want == "" && x.Repeats.Warning != "" {
			t.Errorf("%s: %+v", tt.name, x.Repeats)
		}
	}
}

func TestOrder(t *testing.T) {
	x := report(t, stream(t, append(each(6, "p q -v"), each(6, "v q p")...)...), Config{})
	v := find(t, x, "v")
	// 6 of 6 against 0 of 6: p = 2/C(12,6) = 2/924, of two pairs; p was the more telling by name.
	if o := v.Order; o == nil || o.Other.Name != "p" || o.Kind != "victim" || math.Abs(o.P-2./924) > 1e-9 || math.Abs(o.Adjusted-4./924) > 1e-9 {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(v.Order.Warning, "it failed in 6 of 6 runs in which x > p had run before it in the same process, and in 0 of 6 others") {
		t.Error(v.Order.Warning)
	}
	if find(t, x, "p").Order != nil {
		t.Error("p is none's victim")
	}
	x = report(t, stream(t, append(each(6, "s v"), each(6, "-v s")...)...), Config{})
	if o := find(t, x, "v").Order; o == nil || o.Kind != "brittle" || o.AfterFailures != 0 || o.WithoutFailure != 6 {
		t.Errorf("%+v", o)
	}
	// One order tells nothing, nor does a flake that fails in any order.
	for _, runs := range [][]string{append(each(6, "p -v"), each(6, "p v")...), {"p -v", "v p", "-v p", "p v", "p -v", "v p", "-v p", "p v"}} {
		if o := find(t, report(t, stream(t, runs...), Config{}), "v").Order; o != nil {
			t.Errorf("%+v", o)
		}
	}
	// A subtest comes before its parent, always.
	x = report(t, stream(t, append(each(6, "v/sub v p"), each(6, "p -v/sub -v")...)...), Config{})
	if o := find(t, x, "v").Order; o == nil || o.Other.Name != "p" {
		t.Errorf("%+v", o)
	}
}

func TestTogether(t *testing.T) {
	x := report(t, stream(t, append(each(3, "-a -b c"), append(each(17, "a b c"), "a b -c")...)...), Config{})
	// 3 of 3 against 0 of 18: p = 1/C(21,3) = 1/1330, of three pairs.
	a := find(t, x, "a").Together
	if a == nil || a.Other.Name != "b" || a.Both != 3 || a.Runs != 21 || math.Abs(a.P-1./1330) > 1e-9 || math.Abs(a.Adjusted-3./1330) > 1e-9 {
		t.Errorf("%+v", a)
	}
	if find(t, x, "b").Together.Other.Name != "a" || find(t, x, "c").Together != nil {
		t.Error("b fails with a, and c by itself")
	}
	// A parent fails with its subtest: that says nothing.
	x = report(t, stream(t, append(each(3, "-a/s -a"), each(17, "a/s a")...)...), Config{})
	if find(t, x, "a").Together != nil || find(t, x, "a/s").Together != nil {
		t.Error("a parent and its subtest")
	}
}

func TestChange(t *testing.T) {
	for want, runs := range map[string][]string{
		"it fails from run 8 on, every time: something changed then":            append(each(7, "a"), each(7, "-a")...),
		"it failed in the first 7 runs and never since: something changed then": append(each(7, "-a"), each(7, "a")...),
	} {
		x := find(t, report(t, stream(t, runs...), Config{}), "a")
		if x.Dependence.Warning != want {
			t.Errorf("%+v", x.Dependence)
		}
	}
}

// TestFewFalseAlarms: among independent flakes that are shuffled, hardly any report warns.
func TestFewFalseAlarms(t *testing.T) {
	const reports, runs = 40, 40
	alarms := 0
	for i := range reports {
		var list []string
		for j := range runs {
			order := []string{"a", "b", "c", "d"}
			for k := range order {
				x := hash(uint64((i*runs+j)*8 + k))
				at := int(x >> 40 % uint64(len(order)))
				order[k], order[at] = order[at], order[k]
			}
			for k := range order {
				if hash(uint64((i*runs+j)*8+k)+1<<40)%5 == 0 {
					order[k] = "-" + order[k]
				}
			}
			list = append(list, strings.Join(order, " "))
		}
		var warnings []string
		for _, x := range report(t, stream(t, list...), Config{}).Tests {
			warnings = append(warnings, x.DependenceWarnings()...)
		}
		if len(warnings) > 0 {
			alarms++
			t.Logf("report %d: %s", i, strings.Join(warnings, "\n"))
		}
	}
	// Each of three kinds warns in at most 5 % of the reports, so of 40 at most six are
	// expected to have a warning; eleven or more have a chance of 3 %.
	if alarms > 10 {
		t.Errorf("false alarms in %d of %d reports", alarms, reports)
	}
}
