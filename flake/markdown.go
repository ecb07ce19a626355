package flake

import (
	"io"
	"slices"
	"strings"

	"exactlyone/stats"
)

// WriteMarkdown writes the report for a job summary or a comment.
func (r *Report) WriteMarkdown(w io.Writer, o TextOptions) error {
	t := &text{w: w}
	t.printf("## Flaky tests\n\n%s.\n\n", strings.ReplaceAll(r.headline(), "\n", "; "))
	shown := r.shown(o)
	if len(shown)+len(r.Whole) > 0 {
		t.printf("| failed | rate | at least | at most | retries | test |\n|---:|---:|---:|---:|---|---|\n")
		for _, x := range slices.Concat(shown, r.Whole) {
			t.printf("| %d/%d | %s | %s | %s | %s | %s |\n", x.Failures, x.Runs, rate(x), x.LowerShown, x.UpperShown, retries(x), escape(x.Display))
		}
		t.printf("\n")
	}
	if rest := r.Tests[len(shown):]; len(rest) > 0 {
		t.printf("%s.\n\n", restLine(rest))
	}
	for i := range shown {
		t.markdownDetails(&shown[i])
	}
	for _, s := range r.Suites {
		t.printf("**A run of %s", tests(s.Tests))
		if s.Labels != "" {
			t.printf(" (%s)", escape(s.Labels))
		}
		t.printf(" fails with an estimated chance of %s**, if tests fail independently. Seen: %d of %s had a failure, at least %s, at most %s.\n\n",
			stats.Percent(s.Chance), s.Failed, times(s.Runs, "report"), s.Observed.LowerShown, s.Observed.UpperShown)
		for _, h := range s.hiding() {
			t.printf("- %s: %s, hides %s\n", retriesUpTo(h.Retries), stats.Percent(h.Chance), stats.Percent(h.Hidden))
		}
		t.printf("\n")
	}
	for _, s := range r.SuiteFailure {
		t.printf("- suite %s failed: %s, in %s\n", escape(s.Suite), s.Reason, times(s.Runs, "report"))
	}
	for _, x := range r.Warnings {
		t.printf("- warning: %s, in %s\n", strings.ReplaceAll(x.Kind, "_", " "), times(x.Reports, "report"))
	}
	for _, line := range r.Assumes {
		t.printf("- assumes: %s\n", escape(line))
	}
	return t.err
}

func (t *text) markdownDetails(x *Test) {
	t.printf("<details><summary>%s</summary>\n\n", escape(x.Display))
	for _, n := range notes(x) {
		t.printf("- %s\n", escape(n))
	}
	for _, w := range x.DependenceWarnings() {
		t.printf("- **%s**\n", escape(w))
	}
	for _, m := range x.Messages[:min(10, len(x.Messages))] {
		t.printf("- %d× %s\n", m.Count, escape(clip(m.Text, 300)))
	}
	if more := len(x.Messages) - 10; more > 0 {
		t.printf("- and %s\n", times(more, "more distinct message"))
	}
	t.printf("\n</details>\n\n")
}

// escape keeps text of a report from being taken as Markdown or HTML.
func escape(s string) string {
	var b strings.Builder
	for _, c := range printable(s) {
		switch c {
		case '&':
			b.WriteString("&amp;")
		case '<':
			b.WriteString("&lt;")
		case '>':
			b.WriteString("&gt;")
		case '\\', '`', '*', '_', '[', ']', '|', '#', '~', '@':
			b.WriteByte('\\')
			b.WriteRune(c)
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}
