package ingest

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// countText writes down the counts of a report in one line per fact, for tables of what a rule
// means: a test's counts without those that are zero, suite failures, warnings.
func countText(report string) string { return countReader(strings.NewReader(report)) }

func countReader(report io.Reader) string {
	c, err := Count(report, "r")
	if err != nil {
		return string(c.Error)
	}
	var lines []string
	for _, test := range c.Tests {
		var line strings.Builder
		fmt.Fprintf(&line, "%s|%s|%s", test.Suite, test.Class, test.Name)
		for _, n := range []struct {
			name  string
			count int64
		}{
			{"runs", test.Runs},
			{"failures", test.Failures},
			{"skips", test.Skips},
			{"unfinished", test.Unfinished},
			{"cached", test.Cached},
			{"child", test.ChildFailures},
			{"retries", test.Retries},
			{"retryfailures", test.RetryFailures},
		} {
			if n.count > 0 {
				fmt.Fprintf(&line, " %s=%d", n.name, n.count)
			}
		}
		lines = append(lines, line.String())
	}
	for _, f := range c.SuiteFailures {
		lines = append(lines, fmt.Sprintf("!%s %s", f.Suite, f.Reason))
	}
	for _, w := range c.Warnings {
		lines = append(lines, "~"+string(w))
	}
	return strings.Join(lines, "\n")
}

// rule is a report and what countText makes of it, line by line.
type rule struct {
	name   string
	report string
	want   []string
}

func testRules(t *testing.T, rules []rule) {
	t.Helper()
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Join(r.want, "\n"), countText(r.report)); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}

// goEvents writes a Go stream of package p: "run T", "pass T", "out T text", or a package event
// without a test.
func goEvents(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		words := strings.SplitN(e, " ", 3)
		fmt.Fprintf(&b, `{"Action":%q,"Package":"p"`, map[string]string{"out": "output"}[words[0]]+strings.TrimPrefix(words[0], "out"))
		if len(words) > 1 && words[1] != "-" {
			fmt.Fprintf(&b, `,"Test":%q`, words[1])
		}
		if len(words) > 2 {
			fmt.Fprintf(&b, `,"Output":%q`, words[2])
		}
		b.WriteString("}\n")
	}
	return b.String()
}

func TestGoRules(t *testing.T) {
	testRules(t, []rule{
		{
			"cached results are no runs",
			goEvents("start", "run A", "pass A", "run B", "skip B", "out - ok  \tp\t(cached)\n", "pass"),
			[]string{"p||A cached=1", "p||B cached=1", "~cached_results"},
		},
		{
			"a cached session beside one that ran",
			goEvents("start", "run A", "pass A", "out - ok  \tp\t(cached)\tcoverage: 1%\n", "pass", "start", "run A", "pass A", "pass"),
			[]string{"p||A runs=1 cached=1", "~cached_results"},
		},
		{
			"what a test prints is no word of go",
			goEvents("start", "run A", "out A ok  \tp\t(cached)\n", "pass A", "out - ok  \tq\t(cached)\n", "pass"),
			[]string{"p||A runs=1"},
		},
		{
			"the nearest running ancestor had the failing child",
			goEvents("start", "run A", "run A/b", "run A/b/c/d", "fail A/b/c/d", "fail A/b", "fail A", "fail"),
			[]string{"p||A/b/c/d runs=1 failures=1", "p||A/b runs=1 failures=1 child=1", "p||A runs=1 failures=1 child=1"},
		},
		{
			"a child that failed in another run does not count",
			goEvents("start", "run A", "run A/b", "fail A/b", "fail A", "run A", "run A/b", "pass A/b", "fail A", "fail"),
			[]string{"p||A/b runs=2 failures=1", "p||A runs=2 failures=2 child=1"},
		},
		{
			"a name is no ancestor for its beginning alone",
			goEvents("start", "run A", "run AB/c", "fail AB/c", "fail A", "fail"),
			[]string{"p||AB/c runs=1 failures=1", "p||A runs=1 failures=1"},
		},
		{
			"begun twice",
			goEvents("start", "run A", "run A", "pass A", "pass"),
			[]string{"p||A runs=1 unfinished=1", "~unfinished_tests"},
		},
		{
			"a pass that leaves tests unfinished",
			goEvents("start", "run A", "pass"),
			[]string{"p||A unfinished=1", "!p exit", "~unfinished_tests"},
		},
		{
			"a result without a start or a run",
			goEvents("pass A", "pass"),
			[]string{"p||A runs=1"},
		},
		{
			"a timeout",
			goEvents("start", "run A", "out A panic: test timed out after 1s\n", "fail"),
			[]string{"p||A unfinished=1", "!p timeout", "~unfinished_tests"},
		},
		{
			"a panic that the failing test explains",
			goEvents("start", "run A", "out A panic: oh\n", "fail A", "fail"),
			[]string{"p||A runs=1 failures=1"},
		},
		{
			"a panic beside a failing test, with another unfinished",
			goEvents("start", "run B", "run A", "fail A", "out B fatal error: oh\n", "fail"),
			[]string{"p||A runs=1 failures=1", "p||B unfinished=1", "!p panic", "~unfinished_tests"},
		},
		{
			"a failure that nothing explains",
			goEvents("start", "run A", "pass A", "out - exit status 3\n", "fail"),
			[]string{"p||A runs=1", "!p exit"},
		},
		{
			"an old build failure, in words only",
			goEvents("start", "out - FAIL\tp [build failed]\n", "fail"),
			[]string{"!p build"},
		},
		{
			"a build failure, by its field",
			goEvents("start") + `{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}` + "\n",
			[]string{"!p build"},
		},
		{
			"setup",
			goEvents("start", "out - FAIL\tp [setup failed]\n", "fail"),
			[]string{"!p setup"},
		},
		{
			"a package begun again before its end",
			goEvents("start", "run A", "start", "run A", "pass A", "pass"),
			[]string{"p||A runs=1 unfinished=1", "!p no_end", "~unfinished_tests"},
		},
		{
			"a failing benchmark explains nothing",
			goEvents("start", "run BenchmarkA", "fail BenchmarkA", "fail"),
			[]string{"!p exit", "~benchmarks_ignored"},
		},
		{
			"a last line without line feed",
			strings.TrimSuffix(goEvents("start", "run A", "pass A", "pass"), "\n"),
			[]string{"p||A runs=1"},
		},
		{
			"noise, and a last line of it",
			goEvents("start", "pass") + "null\n\n  \t\n{}\n{\"Action\":3}\nmake: stop",
			[]string{"~non_event_lines"},
		},
		{
			"a cut last line",
			goEvents("start", "pass") + `{"Action":"ru`,
			[]string{"~truncated_line"},
		},
		{
			"actions to come",
			goEvents("start", "run A", "pass A", "pass") + `{"Action":"new","Package":"p"}` + "\n",
			[]string{"p||A runs=1"},
		},
	})
}

func TestGoSessions(t *testing.T) {
	report := goEvents("start", "out - -test.shuffle 17\n", "run A", "fail A", "fail", "start", "run A", "pass A", "pass")
	sum, err := Read(strings.NewReader(report), "r", func(Record) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := []Session{{Suite: "p", Seed: 17}, {Suite: "p", MayBeRetry: true}}
	if diff := cmp.Diff(want, sum.Sessions); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
	report = goEvents("start", "run A", "pass A", "pass", "start", "run A", "fail A", "fail")
	if sum, _ = Read(strings.NewReader(report), "r", func(Record) error { return nil }); sum.Sessions[1].MayBeRetry {
		t.Error("a session after one that passed is called a possible retry")
	}
}

func TestTAPRules(t *testing.T) {
	testRules(t, []rule{
		{
			"subtests, named by the parent that follows",
			"TAP version 14\n1..2\n# Subtest: other name\n    ok 1 - b\n    not ok 2 - c\n    1..2\nnot ok 1 - a\nok 2 - d\n",
			[]string{"||a > b runs=1", "||a > c runs=1 failures=1", "||a runs=1 failures=1 child=1", "||d runs=1"},
		},
		{
			"a parent that fails for its own reason",
			"1..1\n    ok 1 - b\n    1..1\nnot ok 1 - a\n",
			[]string{"||a > b runs=1", "||a runs=1 failures=1"},
		},
		{
			"three deep",
			"1..1\n        ok 1 - c\n        1..1\n    ok 1 - b\n    1..1\nok 1 - a\n",
			[]string{"||a > b > c runs=1", "||a > b runs=1", "||a runs=1"},
		},
		{
			"braces",
			"1..2\nnot ok 1 - a # time=5ms {\n    not ok 1 - b\n    1..1\n}\nok 2 - c\n",
			[]string{"||a > b runs=1 failures=1", "||a runs=1 failures=1 child=1", "||c runs=1"},
		},
		{
			"a number that is not the ordinal", "1..1\nok 7\n",
			[]string{"||#7 runs=1"},
		},
		{
			"names", "1..6\nok 1 - a \\# b \\\\ c\nok 2 - issue #12\nok 3 - -\nok\nok 5 - x # time=3.5ms\nok 6 d # SKIPPED\n",
			[]string{`||a # b \ c runs=1`, "||issue #12 runs=1", "||- runs=1", "||#4 runs=1", "||x runs=1", "||d skips=1"},
		},
		{
			"TODO never counts", "1..2\nnot ok 1 - a # TODO\nok 2 - b # todo\n",
			[]string{"||a skips=1", "||b skips=1"},
		},
		{"all skipped", "1..0 # SKIP no network\n", nil},
		{
			"fewer than planned", "1..3\nok 1 - a\n",
			[]string{"||a runs=1", "! no_end", "~plan_mismatch"},
		},
		{
			"more than planned", "1..1\nok 1 - a\nok 2 - b\n",
			[]string{"||a runs=1", "||b runs=1", "~plan_mismatch"},
		},
		{
			"no plan", "TAP version 13\nok 1 - a\n",
			[]string{"||a runs=1", "! no_end", "~plan_mismatch"},
		},
		{
			"a subtest's plan", "1..1\n    ok 1 - b\n    1..2\nok 1 - a\n",
			[]string{"||a > b runs=1", "||a runs=1", "~plan_mismatch"},
		},
		{
			"bail out", "1..3\nok 1 - a\nBail out! no disk\nok 2 - b\n",
			[]string{"||a runs=1", "! bail_out", "~bail_out"},
		},
		{
			"two streams", "TAP version 13\n1..1\nok 1 - a\nTAP version 13\n1..1\nok 1 - a\n",
			[]string{"||a runs=2", "~duplicate_testcase"},
		},
		{
			"a YAML block that never ends", "1..2\nnot ok 1 - a\n  ---\n  x: 1\nok 2 - b\n",
			[]string{"||a runs=1 failures=1", "||b runs=1"},
		},
	})
}

func TestCTRFRules(t *testing.T) {
	test := func(fields string) string {
		return `{"reportFormat":"CTRF","specVersion":"0.0.0","results":{"tool":{"name":"x"},"tests":[` + fields + `],"environment":{"extra":[1,{"a":[]}]}}}`
	}
	testRules(t, []rule{
		{
			"statuses",
			test(`{"name":"a","status":"passed"},{"name":"b","status":"failed"},{"name":"c","status":"skipped"},{"name":"d","status":"pending"},{"name":"e","status":"other"}`),
			[]string{"||a runs=1", "||b runs=1 failures=1", "||c skips=1", "||d skips=1", "||e unfinished=1", "~unfinished_tests"},
		},
		{
			"identity", test(`{"name":"a","status":"passed","suite":["x","y"],"filePath":"f.js"},{"name":"a","status":"passed","suite":"x"}`),
			[]string{"x > y|f.js|a runs=1", "x||a runs=1"},
		},
		{
			"retries by number", test(`{"name":"a","status":"passed","retries":2},{"name":"b","status":"failed","retries":1}`),
			[]string{"||a runs=1 failures=1 retries=2 retryfailures=1", "||b runs=1 failures=1 retries=1 retryfailures=1", "~retries_present"},
		},
		{
			"flaky alone", test(`{"name":"a","status":"passed","flaky":true}`),
			[]string{"||a runs=1 failures=1 retries=1", "~retries_present"},
		},
		{
			"attempts before the last",
			test(`{"name":"a","status":"passed","retries":1,"retryAttempts":[{"attempt":1,"status":"failed"}]}`),
			[]string{"||a runs=1 failures=1 retries=1", "~retries_present"},
		},
		{
			"the same without a number",
			test(`{"name":"a","status":"passed","retryAttempts":[{"attempt":1,"status":"failed"}]}`),
			[]string{"||a runs=1 failures=1 retries=1", "~retries_present"},
		},
		{
			"all attempts",
			test(`{"name":"a","status":"passed","retries":1,"retryAttempts":[{"attempt":1,"status":"failed"},{"attempt":2,"status":"passed"}]}`),
			[]string{"||a runs=1 failures=1 retries=1", "~retries_present"},
		},
		{
			"the retries",
			test(`{"name":"a","status":"failed","retries":2,"retryAttempts":[{"attempt":2,"status":"failed"},{"attempt":3,"status":"failed"}]}`),
			[]string{"||a runs=1 failures=1 retries=2 retryfailures=2", "~retries_present"},
		},
		{
			"one identity twice", test(`{"name":"a","status":"passed"},{"name":"a","status":"failed"}`),
			[]string{"||a runs=2 failures=1", "~duplicate_testcase"},
		},
		{
			"totals that disagree", `{"results":{"summary":{"tests":1,"passed":0,"failed":1},"tests":[{"name":"a","status":"passed"}]}}`,
			[]string{"||a runs=1", "~count_mismatch"},
		},
		{
			"totals that agree", `{"results":{"summary":{"tests":1,"passed":1,"failed":0},"tests":[{"name":"a","status":"passed"}]}}`,
			[]string{"||a runs=1"},
		},
		{"a status of its own", test(`{"name":"a","status":"green"}`), []string{"not_a_report"}},
		{"cut", `{"reportFormat":"CTRF","results":{"tests":[{"name":"a"`, []string{"truncated"}},
		{"without results", `{"reportFormat":"CTRF"}`, []string{"not_a_report"}},
	})
}
