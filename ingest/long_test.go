package ingest

import (
	"io"
	"runtime"
	"strings"
	"testing"
)

// repeat is the text between two others, a hundred thousand times, made up while it is read.
func repeat(before, text, after string) io.Reader {
	const times = 100_000
	return io.MultiReader(strings.NewReader(before), &generator{parts: times, part: func(b []byte, _ int) []byte {
		return append(b, text...)
	}}, strings.NewReader(after))
}

// TestLong reads reports with a single line, text or value of 100 MB in a few MB of memory.
func TestLong(t *testing.T) {
	long := strings.Repeat("x", 1000)
	output := strings.TrimSuffix(goEvents("out A y"), "\"}\n")
	for _, test := range []struct {
		name   string
		report io.Reader
		want   string
	}{
		{
			"output", repeat(goEvents("start", "run A")+output, long, "\\n\"}\n"+goEvents("fail A", "fail")),
			"p||A runs=1 failures=1",
		},
		{
			"cut output", repeat(goEvents("start", "run A")+output, long, ""),
			"p||A unfinished=1\n!p no_end\n~truncated_line\n~unfinished_tests",
		},
		{
			"noise", repeat(goEvents("start", "run A"), long, "\n"+goEvents("pass A", "pass")),
			"p||A runs=1\n~non_event_lines",
		},
		{
			"many lines of output", repeat(goEvents("start", "run A"), goEvents("out A "+long+"\n"), goEvents("fail A", "fail")),
			"p||A runs=1 failures=1",
		},
		{
			"a blank line", repeat(goEvents("start", "run A"), strings.Repeat(" ", 1000), "\n"+goEvents("pass A", "pass")),
			"p||A runs=1",
		},
		{"text", repeat(`<testsuite name="s"><testcase name="t" classname="c"><failure>`, long, `</failure></testcase></testsuite>`), "s|c|t runs=1 failures=1"},
		{"CDATA", repeat(`<testsuite name="s"><testcase name="t" classname="c"><system-out><![CDATA[`, long, `]]></system-out></testcase></testsuite>`), "s|c|t runs=1"},
		{"a value", repeat(`<testsuite name="s"><testcase name="t" classname="c"><failure message="`, long, `"/></testcase></testsuite>`), "s|c|t runs=1 failures=1"},
		{"a comment", repeat(`<testsuite name="s"><testcase name="t" classname="c"/><!--`, long, `--></testsuite>`), "s|c|t runs=1"},
		{"TAP", repeat("1..1\nok 1 - a\n# ", long, "\n"), "||a runs=1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := countReader(test.report)
			runtime.ReadMemStats(&after)
			if got != test.want {
				t.Errorf("counts %q, want %q", got, test.want)
			}
			if limit := uint64(64 << 20); after.Sys-before.Sys > limit {
				t.Errorf("reading took %d bytes from the system, want at most %d", after.Sys-before.Sys, limit)
			}
		})
	}
}

// TestTail keeps both ends of a long log.
func TestTail(t *testing.T) {
	var log tail
	log.write([]byte(`first\n`))
	for range 1000 {
		log.write([]byte(strings.Repeat("m", 99) + `\n`))
	}
	log.write([]byte(`last \u00e9\n`))
	text := log.text()
	if !strings.HasPrefix(text, "first\nm") || !strings.HasSuffix(text, "m\nlast é") || strings.Count(text, gap) != 1 || len(text) > MaxMessage {
		t.Errorf("%d bytes: %.20q ... %q", len(text), text, text[len(text)-20:])
	}
	log.reset()
	log.write([]byte(`a`))
	if got := log.text(); got != "a" {
		t.Errorf("after reset %q, want a", got)
	}
	log.reset()
	log.write([]byte(strings.Repeat("m", 3000)))
	if got := log.text(); got != strings.Repeat("m", 3000) {
		t.Errorf("a message that fits has %d bytes, want 3000", len(got))
	}
}
