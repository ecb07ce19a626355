package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// result is all that a reader makes of a report.
type result struct {
	Summary Summary
	Records []Record
}

// readAs reads data by the reader of one format, or by Read if it is empty.
func readAs(format Format, r io.Reader) (result, error) {
	var got result
	sink := func(r Record) error {
		got.Records = append(got.Records, r)
		return nil
	}
	if format == "" {
		var err error
		got.Summary, err = Read(r, "fuzz", sink)
		return got, err
	}
	out := &output{sink: sink}
	in := bufio.NewReaderSize(r, window)
	err := map[Format]func() error{
		GoTest: func() error { return readGoTest(in, out) },
		JUnit:  func() error { return readJUnit(in, false, out) },
		TAP:    func() error { return readTAP(in, out) },
		CTRF:   func() error { return readCTRF(in, out) },
	}[format]()
	got.Summary = out.sum
	got.Summary.Warnings = out.warnings.sorted()
	return got, err
}

// checkReader reads data at once and byte by byte, and holds the results against what is
// promised of every report.
func checkReader(t *testing.T, format Format, data []byte) {
	t.Helper()
	got, err := readAs(format, bytes.NewReader(data))
	again, errAgain := readAs(format, iotest.OneByteReader(bytes.NewReader(data)))
	if (err == nil) != (errAgain == nil) || err != nil && err.Error() != errAgain.Error() {
		t.Fatalf("error %v, byte by byte %v", err, errAgain)
	}
	if diff := cmp.Diff(got, again); diff != "" {
		t.Fatalf("read at once and byte by byte (-once +byte):\n%s", diff)
	}
	if err != nil {
		var bad *Error
		if !errors.As(err, &bad) || bad.Kind == "" || bad.Text == "" || strings.Contains(bad.Text, "\n") {
			t.Fatalf("error %#v, want an *Error of one line", err)
		}
		return
	}
	if got.Summary.Records != int64(len(got.Records)) {
		t.Fatalf("%d records, Summary.Records = %d", len(got.Records), got.Summary.Records)
	}
	unfinished := false
	for i, r := range got.Records {
		for _, s := range []string{r.Test.Suite, r.Test.Class, r.Test.Name, r.Message, r.Host} {
			if !utf8.ValidString(s) {
				t.Fatalf("record %d holds %q, which is not UTF-8", i, s)
			}
		}
		switch {
		case len(r.Message) > MaxMessage:
			t.Fatalf("record %d has a message of %d bytes", i, len(r.Message))
		case r.Session < 0 || r.Session >= len(got.Summary.Sessions):
			t.Fatalf("record %d has session %d of %d", i, r.Session, len(got.Summary.Sessions))
		case r.Attempt > 0 && (i == 0 || got.Records[i-1].Attempt != r.Attempt-1 || got.Records[i-1].Test != r.Test):
			t.Fatalf("record %d is attempt %d, but does not follow the one before", i, r.Attempt)
		case r.Duration < NoDuration:
			t.Fatalf("record %d has duration %d", i, r.Duration)
		case r.ChildFailed && r.Outcome != Fail:
			t.Fatalf("record %d has a failed child and did not fail", i)
		}
		unfinished = unfinished || r.Outcome == Unfinished
	}
	if unfinished != got.Summary.Warned(WarnUnfinishedTests) {
		t.Fatalf("unfinished records: %v, warnings %v", unfinished, got.Summary.Warnings)
	}
}

// addCases adds the beginnings of the cases of a format, and those given, to the corpus.
func addCases(f *testing.F, format Format, more ...string) {
	for _, c := range expectedCases(f) {
		if c.Format != format && format != "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join("testdata", "cases", c.File))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[:min(len(data), 3000)]) // large seeds make fuzzing slow
	}
	for _, s := range more {
		f.Add([]byte(s))
	}
}

func FuzzGoJSON(f *testing.F) {
	addCases(f, GoTest,
		`{"Action":"pass","Package":"p","Test":"T\u00e9/\ud83d\ude00\n","Elapsed":1.5e-3}`,
		`{"A\u0063tion":"run","Package":"p","Test":"T","x":{"y":[1,true,null]}}`)
	f.Fuzz(func(t *testing.T, data []byte) {
		checkReader(t, GoTest, data)
		for line := range bytes.Lines(data) {
			checkLine(t, line)
		}
	})
}

// checkLine compares the reader of lines with encoding/json.
func checkLine(t *testing.T, line []byte) {
	t.Helper()
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) == nil {
		for key := range fields {
			quoted, _ := json.Marshal(key)
			if bytes.Count(line, quoted) != 1 {
				return // a key that stands there twice, or escaped, is looked at once by one and twice by the other
			}
		}
	}
	var fast, slow event
	fastOK, slowOK := fast.parse(line, false), slow.parseSlowly(line)
	if fastOK != slowOK {
		t.Fatalf("%q: taken for an event: %v; with encoding/json %v", line, fastOK, slowOK)
	}
	if !fastOK {
		return
	}
	var std struct{ Package, Test, Output, ImportPath, FailedBuild, Time string }
	for key, to := range map[string]*string{
		"Package": &std.Package, "Test": &std.Test, "Output": &std.Output,
		"ImportPath": &std.ImportPath, "FailedBuild": &std.FailedBuild, "Time": &std.Time,
	} {
		if v, ok := fields[key]; ok {
			if err := json.Unmarshal(v, to); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
	}
	for _, pair := range []struct {
		raw  []byte
		want string
	}{
		{fast.pkg, std.Package},
		{fast.test, std.Test},
		{fast.output, std.Output},
		{fast.importPath, std.ImportPath},
		{fast.failedBuild, std.FailedBuild},
		{fast.time, std.Time},
	} {
		if got := string(unquote(nil, pair.raw, len(line)*3)); got != pair.want {
			t.Fatalf("%q: read %q, with encoding/json %q", line, got, pair.want)
		}
	}
}

func FuzzJUnit(f *testing.F) {
	addCases(f, JUnit,
		"<?xml version='1.0' encoding='ISO-8859-1'?><testsuite name='caf\xe9'><testcase name='a'><failure/></testcase></testsuite>",
		"<testsuite><testcase status='notrun'/></testsuite><testsuite/>",
		"<!DOCTYPE testsuite SYSTEM 'x.dtd'><testsuite>&x;</testsuite>")
	f.Fuzz(func(t *testing.T, data []byte) { checkReader(t, JUnit, data) })
}

func FuzzTAP(f *testing.F) {
	addCases(f, TAP,
		"TAP version 14\n# Subtest: a\n    ok 1 - b\n    1..1\nnot ok 1 - a # time=3ms\n  ---\n  duration_ms: 2\n  ...\n1..1\n",
		"ok 1 - a {\n    not ok 1 - b # SKIP\n    1..1\n}\nBail out! x\n", "1..0 # skip all\n")
	f.Fuzz(func(t *testing.T, data []byte) { checkReader(t, TAP, data) })
}

func FuzzCTRF(f *testing.F) {
	addCases(f, CTRF,
		`{"reportFormat":"CTRF","results":{"summary":{"tests":1},"tests":[{"name":"a","status":"passed","duration":5,"suite":["x","y"],"flaky":true,"retries":1,"retryAttempts":[{"attempt":1,"status":"failed"}]}]}}`,
		`{"results":{"tests":[{"name":"a","status":"other","suite":"x"}]}}`)
	f.Fuzz(func(t *testing.T, data []byte) { checkReader(t, CTRF, data) })
}

// FuzzRead reads anything, compressed or not.
func FuzzRead(f *testing.F) {
	addCases(f, "", "\xff\xfe<\x00t\x00", "\x1f\x8b\x08\x00", "{\"results\":", "ok 1 - a\n", "")
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Open("-", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(io.LimitReader(r, 1<<20))
		if err != nil {
			_, err := Read(io.MultiReader(bytes.NewReader(plain), iotest.ErrReader(err)), "fuzz", func(Record) error { return nil })
			if err == nil {
				t.Fatal("damaged data read without error")
			}
			return
		}
		checkReader(t, "", plain)
	})
}
