package ingest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJUnitRules(t *testing.T) {
	one := func(attributes, content string) string {
		return `<testsuite name="s"><testcase name="t" classname="c" ` + attributes + `>` + content + `</testcase></testsuite>`
	}
	testRules(t, []rule{
		{"several failures are one", one("", "<failure/><error/><failure/>"), []string{"s|c|t runs=1 failures=1"}},
		{"a failure that was skipped", one("", "<skipped/><error/>"), []string{"s|c|t runs=1 failures=1"}},
		{"disabled", one("", "<disabled/>"), []string{"s|c|t skips=1"}},
		{"not run", one(`status="notrun"`, ""), []string{"s|c|t skips=1"}},
		{"skipped by result", one(`status="run" result="skipped"`, ""), []string{"s|c|t skips=1"}},
		{"failed by status", one(`status="failed"`, ""), []string{"s|c|t runs=1 failures=1"}},
		{"passed by status", one(`status="passed" result="completed"`, ""), []string{"s|c|t runs=1"}},
		{"a warning is no failure", one("", "<warning/>"), []string{"s|c|t runs=1"}},
		{"what others print is no element", one("", "<system-out>x<failure/></system-out>"), []string{"s|c|t runs=1"}},
		{
			"m failed attempts before a pass", one("", "<flakyFailure/><flakyError/><flakyFailure/>"),
			[]string{"s|c|t runs=1 failures=1 retries=3 retryfailures=2", "~retries_present"},
		},
		{
			"the same, declared a failure", one("", `<failure type="flaky failure"/><flakyFailure/>`),
			[]string{"s|c|t runs=1 failures=1 retries=1", "~retries_present"},
		},
		{
			"failed attempts after the first", one("", "<failure/><rerunFailure/><rerunError/>"),
			[]string{"s|c|t runs=1 failures=1 retries=2 retryfailures=2", "~retries_present"},
		},
		{
			"failed to the end after all", one("", "<flakyFailure/><failure/>"),
			[]string{"s|c|t runs=1 failures=1 retries=1 retryfailures=1", "~retries_present"},
		},
		{
			"the chain of suites",
			`<testsuites name="all"><testsuite name="a"><testsuite name=""><testsuite name="b"><testcase name="t" classname="c"/></testsuite></testsuite><testcase name="u" classname="c"/></testsuite></testsuites>`,
			[]string{"a > b|c|t runs=1", "a|c|u runs=1"},
		},
		{
			"class",
			`<testsuite name="s"><testcase name="a" class="k" classname="c"/><testcase name="b" class="k"/><testcase name="c"/></testsuite>`,
			[]string{"s|c|a runs=1", "s|k|b runs=1", "s||c runs=1", "~missing_classname"},
		},
		{
			"repetition indices are no identity, and make no duplicates",
			`<testsuites><testsuite name="s@stress-0"><testcase name="t@stress-0" classname="c@stress-0"/></testsuite><testsuite name="s@stress-12"><testcase name="t@stress-0" classname="c@stress-12"/></testsuite></testsuites>`,
			[]string{"s|c|t@stress-0 runs=2"},
		},
		{
			"what only looks like one",
			`<testsuite name="s@stress-x"><testcase name="t" classname="c@stress-"/></testsuite>`,
			[]string{"s@stress-x|c@stress-|t runs=1"},
		},
		{
			"duplicates", `<testsuite name="s"><testcase name="t" classname="c"/><testcase name="t" classname="c"/></testsuite>`,
			[]string{"s|c|t runs=2", "~duplicate_testcase"},
		},
		{
			"several roots", `<testsuite name="s"><testcase name="t" classname="c"/></testsuite><?xml version="1.0"?><testsuite name="s"/>`,
			[]string{"s|c|t runs=1", "~multiple_roots"},
		},
		{"too few testcases", `<testsuite name="s" tests="2"><testcase name="t" classname="c"/></testsuite>`, []string{"s|c|t runs=1", "~count_mismatch"}},
		{"too many failures", `<testsuite name="s" tests="1" failures="1"><testcase name="t" classname="c"/></testsuite>`, []string{"s|c|t runs=1", "~count_mismatch"}},
		{"too few errors", `<testsuite name="s" errors="0"><testcase name="t" classname="c"><error/></testcase></testsuite>`, []string{"s|c|t runs=1 failures=1", "~count_mismatch"}},
		{"too few skips", `<testsuite name="s" skipped="0"><testcase name="t" classname="c"><skipped/></testcase></testsuite>`, []string{"s|c|t skips=1", "~count_mismatch"}},
		{"a failure that was skipped is no skip", `<testsuite name="s" failures="1" skipped="0"><testcase name="t" classname="c"><skipped/><failure/></testcase></testsuite>`, []string{"s|c|t runs=1 failures=1"}},
		{"a root's totals", `<testsuites tests="2"><testsuite name="s" tests="1"><testcase name="t" classname="c"/></testsuite></testsuites>`, []string{"s|c|t runs=1", "~count_mismatch"}},
		{"totals of all kinds", `<testsuites tests="1" failures="1" errors="0" skipped="0"><testsuite name="s" tests="1" failures="1"><testcase name="t" classname="c"><failure/></testcase></testsuite></testsuites>`, []string{"s|c|t runs=1 failures=1"}},
		{"a prefix", `<j:testsuite xmlns:j="urn:j" name="s"><j:testcase name="t" classname="c"><j:failure/></j:testcase></j:testsuite>`, []string{"s|c|t runs=1 failures=1"}},
		{"an ampersand alone", `<testsuite name="a & b"><testcase name="&nbsp;" classname="c"/></testsuite>`, []string{"a & b|c|&nbsp; runs=1", "~invalid_characters"}},
		{"a control character in a name", "<testsuite name=\"s\"><testcase name=\"a\x01\xff\" classname=\"c\"/></testsuite>", []string{"s|c|a\ufffd\ufffd runs=1", "~invalid_characters"}},
		{"no tests", "<testsuites/>", nil},
	})
}

// inUTF16 encodes ASCII.
func inUTF16(mark, text string, bigEndian bool) string {
	var b strings.Builder
	b.WriteString(mark)
	for _, c := range []byte(text) {
		if bigEndian {
			b.Write([]byte{0, c})
		} else {
			b.Write([]byte{c, 0})
		}
	}
	return b.String()
}

func TestEncodings(t *testing.T) {
	doc := func(encoding, name string) string {
		return `<?xml version="1.0" encoding="` + encoding + `"?><testsuite name="` + name + `"><testcase name="t" classname="c"/></testsuite>`
	}
	stream := goEvents("start", "run A", "pass A", "pass")
	testRules(t, []rule{
		{"UTF-16LE", inUTF16("\xff\xfe", doc("UTF-16", "s"), false), []string{"s|c|t runs=1"}},
		{"UTF-16BE", inUTF16("\xfe\xff", doc("utf-16", "s"), true), []string{"s|c|t runs=1"}},
		{"UTF-16LE without a mark", inUTF16("", doc("UTF-16", "s"), false), []string{"s|c|t runs=1"}},
		{"UTF-16BE without a mark", inUTF16("", doc("UTF-16", "s"), true), []string{"s|c|t runs=1"}},
		{"UTF-8 that claims to be UTF-16", doc("UTF-16", "é"), []string{"é|c|t runs=1"}},
		{"Latin 1", doc("ISO-8859-1", "caf\xe9"), []string{"café|c|t runs=1"}},
		{"Windows 1252", doc("windows-1252", "\x80\x92"), []string{"€’|c|t runs=1"}},
		{"Latin 9", doc("iso-8859-15", "\xa4"), []string{"€|c|t runs=1"}},
		{"a mark beats a declaration", "\ufeff" + doc("ISO-8859-1", "é"), []string{"é|c|t runs=1"}},
		{"one that is not known", doc("EBCDIC-CP-US", "s"), []string{"encoding"}},
		{"UTF-32", "\xff\xfe\x00\x00<\x00\x00\x00", []string{"encoding"}},
		{"a Go stream in UTF-16, as PowerShell writes it", inUTF16("\xff\xfe", stream, false), []string{"p||A runs=1"}},
		{"a Go stream with a mark", "\ufeff" + stream, []string{"p||A runs=1"}},
		{"TAP with a mark", "\ufeff1..1\nok 1 - a\n", []string{"||a runs=1"}},
	})
}

// TestErrors lists reports of which nothing counts, with the line of the fault.
func TestErrors(t *testing.T) {
	const head = "<testsuite name=\"s\">\n<testcase name=\"t\" classname=\"c\"/>\n"
	for _, test := range []struct {
		name, report string
		kind         ErrorKind
		text         string // a part of the message
	}{
		{"empty", "", KindEmpty, "r: the report is empty"},
		{"white space", " \r\n\t", KindEmpty, "empty"},
		{"a mark alone", "\ufeff", KindEmpty, "empty"},
		{"text", "hello\nworld\n", KindNotAReport, "expected go test -json, JUnit XML, TAP or CTRF"},
		{"other JSON", `{"a":1}`, KindNotAReport, "expected"},
		{"go test without -json", "=== RUN   A\n--- PASS: A (0.00s)\nok  \tp\t0.1s\n", KindNotAReport, "without -json"},
		{"other XML", "<html><body/></html>", KindNotAReport, "r:1: the root element is <html>"},
		{"a second root of another kind", head + "</testsuite><x/>", KindNotAReport, "r:3: the root element is <x>"},
		{"within an element", head, KindTruncated, "r:3: the document ends within the element testsuite"},
		{"within a tag", head + "<testcase na", KindTruncated, "r:3: the document ends within a name"},
		{"within a value", head + "<testcase name=\"a", KindTruncated, "a quoted value"},
		{"within CDATA", head + "<![CDATA[x]]", KindTruncated, "a CDATA section"},
		{"within a comment", head + "<!-- --", KindTruncated, "a comment"},
		{"within the prologue", "<?xml version=\"1.0\"?>\n", KindTruncated, "prologue"},
		{"within a document type", "<!DOCTYPE testsuite [", KindTruncated, "a document type"},
		{"crossed tags", head + "<system-out></testsuite>", KindNotAReport, "r:3: </testsuite> where </system-out> must stand"},
		{"an end too many", head + "</testsuite>\n</testsuite>", KindNotAReport, "r:4: </testsuite> closes no element"},
		{"text after the end", head + "</testsuite>\nx", KindNotAReport, "text outside the root element"},
		{"no quotes", "<testsuite name=s/>", KindNotAReport, "a quoted value must stand"},
		{"entities", "<!DOCTYPE a [ <!-- \" --> <!ENTITY b 'c'> ]><testsuite/>", KindDoctype, "refused"},
		{"an external subset that may declare entities", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><testsuite name=\"&b;\"/>", KindDoctype, "&b;"},
		{"an entity in text", "<!DOCTYPE a SYSTEM \"b\"><testsuite>&b;</testsuite>", KindDoctype, "&b;"},
		{"too deep", strings.Repeat("<testsuite>", 10_001), KindNotAReport, "more than 10000 elements"},
		{"a name without end", "<testsuite name=\"" + strings.Repeat("x", 3<<20) + "\"/>", KindNotAReport, "a name of more than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sum, err := Read(strings.NewReader(test.report), "r", func(Record) error { return nil })
			var bad *Error
			if !errors.As(err, &bad) || sum.Failed != bad || bad.Kind != test.kind || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v (%+v), want kind %s and %q", err, sum.Failed, test.kind, test.text)
			}
		})
	}
	if sum, err := Read(strings.NewReader("<!DOCTYPE testsuite SYSTEM 'x.dtd'><testsuite/>"), "r", nil); err != nil {
		t.Errorf("a document type without entities: %v, %v", sum, err)
	}
}

func TestSinkError(t *testing.T) {
	stop := errors.New("stop")
	for _, report := range []string{
		`<testsuite name="s"><testcase name="t"/></testsuite>`, "1..1\nok 1\n", goEvents("start", "run A"),
		`{"results":{"tests":[{"name":"a","status":"passed"}]}}`,
	} {
		if sum, err := Read(strings.NewReader(report), "r", func(Record) error { return stop }); err != stop || sum.Failed != nil {
			t.Errorf("%s: error %v, want that of the sink", report, err)
		}
	}
}

// TestRecords looks at what counts do not show: messages, durations, order, times.
func TestRecords(t *testing.T) {
	records := func(report string) (all []Record) {
		if _, err := Read(strings.NewReader(report), "r", func(r Record) error { all = append(all, r); return nil }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	at := time.Date(2026, 11, 30, 17, 18, 47, 0, time.UTC)
	got := records(`<testsuite name="s@stress-1" hostname="h" timestamp="2026-11-30T17:18:47"><testcase classname="c" name="t" time="1,201.5">` +
		`<flakyFailure message="m&lt;" type="T" time="0.25"><stackTrace>at <![CDATA[<x>]]></stackTrace><system-out>no</system-out></flakyFailure></testcase></testsuite>`)
	test := Test{"s", "c", "t"}
	want := []Record{
		{Test: test, Outcome: Fail, Ordered: true, Duration: 250 * time.Millisecond, Time: at, Host: "h", Message: "m<\nat <x>"},
		{Test: test, Attempt: 1, Ordered: true, Duration: 1201500 * time.Millisecond, Time: at, Host: "h"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if got := records(`<testsuite><testcase name="t"><failure type="test timeout"/></testcase></testsuite>`); got[0].Message != "test timeout" || got[0].Ordered || got[0].Duration != NoDuration {
		t.Errorf("record %+v, want the type as its message, no order and no duration", got[0])
	}
	got = records("1..1\nnot ok 1 - a # time=1500ms\n# one\n  ---\n  two: 2\n  ...\n")
	if got[0].Message != "one\ntwo: 2" || got[0].Duration != 1500*time.Millisecond {
		t.Errorf("record %+v, want diagnostics and duration", got[0])
	}
}

// TestRepeatsUnclear tells formats and reports that leave open what a repetition is from those
// that do not.
func TestRepeatsUnclear(t *testing.T) {
	const twice = `<testcase name="t" classname="c"/><testcase name="t" classname="c"/>`
	for report, want := range map[string]bool{
		"<testsuite>" + twice + "</testsuite>": true,
		`<testsuites><testsuite name="s@stress-0"><testcase name="t"/></testsuite><testsuite name="s@stress-1"><testcase name="t"/></testsuite></testsuites>`: false,
		"1..2\nok 1 - a\nok 2 - a\n": true,
		"1..2\nok 1 - a\nok 2 - b\n": false,
		`{"results":{"tests":[{"name":"a","status":"passed"},{"name":"a","status":"passed"}]}}`: true,
		`{"results":{"tests":[{"name":"a","status":"passed","retries":1}]}}`:                    false,
		goEvents("start", "run A", "pass A", "run A", "pass A", "pass"):                         false,
	} {
		sum, err := Read(strings.NewReader(report), "r", func(Record) error { return nil })
		if err != nil || sum.RepeatsUnclear != want {
			t.Errorf("%s: RepeatsUnclear = %v, error %v, want %v", report, sum.RepeatsUnclear, err, want)
		}
	}
}

func TestParseSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1.5": 1500 * time.Millisecond, "1,204.317": 1204317 * time.Millisecond, "1.204,317": 1204317 * time.Millisecond,
		"0,5": 500 * time.Millisecond, "0,123": 123 * time.Millisecond, "1,201": 1201 * time.Second,
		"1,234,567": 1234567 * time.Second, "12,34": 12340 * time.Millisecond, " 2 ": 2 * time.Second,
		"": NoDuration, "x": NoDuration, "-1": NoDuration, "NaN": NoDuration, "1e300": NoDuration,
	} {
		if got := parseSeconds([]byte(text)); got != want {
			t.Errorf("parseSeconds(%q) = %v, want %v", text, got, want)
		}
	}
}
