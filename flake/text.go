package flake

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"exactlyone/stats"
)

// TextOptions say how to write a report as text.
type TextOptions struct {
	Color bool
	Top   int // tests to show at most; 0 shows those that failed, and sums up the rest
	All   bool
}

// WriteJSON writes the report as JSON, numbers unrounded and as displayed.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// WriteText writes the report for a terminal.
func (r *Report) WriteText(w io.Writer, o TextOptions) error {
	t := &text{w: w, color: o.Color}
	t.printf("%s\n\n", r.headline())
	shown := r.shown(o)
	if len(shown)+len(r.Whole) > 0 {
		t.table(r, slices.Concat(shown, r.Whole))
	}
	if rest := r.Tests[len(shown):]; len(rest) > 0 {
		t.printf("%s\n\n", restLine(rest))
	}
	for i := range shown {
		t.details(&shown[i])
	}
	for _, s := range r.Suites {
		t.suite(s)
	}
	for _, s := range r.SuiteFailure {
		t.printf("suite failed  %s: %s, in %s\n", s.Suite, s.Reason, times(s.Runs, "report"))
	}
	for _, x := range r.Warnings {
		t.printf("warning       %s, in %s\n", strings.ReplaceAll(x.Kind, "_", " "), times(x.Reports, "report"))
	}
	for i, line := range r.Assumes {
		t.printf("%-13s %s\n", []string{"assumes", ""}[min(i, 1)], line)
	}
	return t.err
}

// headline says what was read.
func (r *Report) headline() string {
	line := fmt.Sprintf("%s on %s; bounds hold with confidence %s each", times(len(r.Runs), "report"), tests(len(r.Tests)), level(r.Confidence))
	if r.Target > 0 {
		n := map[Verdict]int{}
		for _, t := range slices.Concat(r.Tests, r.Whole) {
			n[t.OnRate]++
		}
		line += fmt.Sprintf("\nat most %s: %d certified, %d too flaky, %d undecided", stats.Percent(r.Target), n[Certified], n[TooFlaky], n[Undecided])
	}
	return line
}

func level(confidence float64) string { return fmt.Sprintf("%.10g %%", 100*confidence) }

func times(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shown are the tests to list one by one: those that failed, never ended or were fixed.
func (r *Report) shown(o TextOptions) []Test {
	if o.All {
		return r.Tests
	}
	if o.Top > 0 {
		return r.Tests[:min(o.Top, len(r.Tests))]
	}
	n := 0
	for i, t := range r.Tests { // ranked, but an unfinished test may come late
		if t.Failures > 0 || t.Unfinished > 0 || t.OnRate == TooFlaky || t.FixedSince != "" && t.Runs > 0 {
			n = i + 1
		}
	}
	return r.Tests[:n]
}

// restLine sums up the tests that are not shown.
func restLine(rest []Test) string {
	least, upper, failed, silent := -1, 0.0, 0, 0
	for _, t := range rest {
		if t.silent() > 0 {
			silent++
			continue
		}
		if least < 0 || t.Runs < least {
			least = t.Runs
		}
		upper = max(upper, t.Upper)
		if t.Failures > 0 {
			failed++
		}
	}
	var lines []string
	if n := len(rest) - silent; n > 0 {
		what := "never failed"
		if failed > 0 {
			what = fmt.Sprintf("are not shown, of which %d failed", failed)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s or more each, so each fails in at most %s of its runs", tests(n), what, times(least, "run"), stats.PercentUp(upper)))
	}
	if silent > 0 {
		lines = append(lines, fmt.Sprintf("%s never ran to an end: skipped or cached", tests(silent)))
	}
	return strings.Join(lines, "; ")
}

// text is a report being written; the first error ends it.
type text struct {
	w     io.Writer
	color bool
	err   error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.w, format, args...)
	}
}

func (t *text) bold(s string) string {
	if !t.color {
		return s
	}
	return "\x1b[1m" + s + "\x1b[0m"
}

func (t *text) red(s string) string {
	if !t.color {
		return s
	}
	return "\x1b[31m" + s + "\x1b[0m"
}

func (t *text) table(r *Report, shown []Test) {
	if t.err != nil {
		return
	}
	tw := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	head := "FAILED\tRATE\tAT LEAST\tAT MOST\tRETRIES\t"
	if r.Target > 0 {
		head += "TARGET\t"
	}
	_, _ = fmt.Fprintln(tw, head+"TEST")
	for _, x := range shown {
		_, _ = fmt.Fprintf(tw, "%d/%d\t%s\t%s\t%s\t%s\t", x.Failures, x.Runs, rate(x), x.LowerShown, x.UpperShown, retries(x))
		if r.Target > 0 {
			_, _ = fmt.Fprintf(tw, "%s\t", x.OnRate)
		}
		_, _ = fmt.Fprintln(tw, printable(x.Display))
	}
	t.err = tw.Flush()
	t.printf("\n")
}

func rate(x Test) string {
	if x.Runs == 0 {
		return "-"
	}
	return stats.Percent(x.Rate)
}

func retries(x Test) string {
	if x.Retries == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d failed", x.RetryFailures, x.Retries)
}

// details are the lines about one test below the table.
func (t *text) details(x *Test) {
	t.printf("%s\n", t.bold(printable(x.Display)))
	for _, n := range notes(x) {
		t.printf("  %s\n", n)
	}
	for _, w := range x.DependenceWarnings() {
		t.printf("  %s\n", t.red(printable(w)))
	}
	const most = 3
	for _, m := range x.Messages[:min(most, len(x.Messages))] {
		t.printf("  %d×  %s\n", m.Count, clip(printable(m.Text), 100))
	}
	if more := len(x.Messages) - most; more > 0 {
		t.printf("  and %s\n", times(more, "more distinct message"))
	}
	t.printf("\n")
}

// notes say what the row of the table does not.
func notes(x *Test) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	first := x.Readings[0]
	switch {
	case x.Planned:
		add("%s, planned: the bounds are exact for this n", times(x.PlannedRuns, "run"))
	case x.PlannedRuns > 0:
		add("%d of %s planned: until then the bounds are those that hold at every n", x.Runs+x.Unfinished, times(x.PlannedRuns, "run"))
	}
	if !x.Planned && x.Runs > 0 {
		add("had n been fixed beforehand: at least %s, at most %s", first.Fixed.LowerShown, first.Fixed.UpperShown)
	}
	if len(x.Readings) > 1 {
		second := x.Readings[1]
		add("repeats or retries, the report does not tell: %d of %s failed or, with retries taken apart, %d of %d; the worse bounds are shown",
			first.Failures, times(first.Runs, "run"), second.Failures, second.Runs)
	}
	if x.Unfinished > 0 {
		add("%d unfinished: failed in the upper bound, passed in the lower one", x.Unfinished)
	}
	if x.ChildFailures > 0 {
		add("%d of %s because of a subtest", x.ChildFailures, times(x.Failures, "failure"))
	}
	if x.Skips > 0 || x.Cached > 0 {
		add("%d skipped, %d from a cache: no runs", x.Skips, x.Cached)
	}
	if c := x.Collateral; c.Runs > 0 {
		add("failed in %s: alone in %d, with %.1f other tests on average, %d at most", times(c.Runs, "report"), c.Alone, c.Mean, c.Most)
	}
	if x.Failures > 0 && x.Dependence.Why != "" {
		add("not tested for dependence: %s", x.Dependence.Why)
	}
	if x.FixedSince != "" {
		add("counted anew since %s", printable(x.FixedSince))
		if b := x.Before; b != nil {
			add("before: %d of %s failed; by chance alone it would fall so far with p = %.2g (%s's test, one-sided)", b.Failures, times(b.Runs, "run"), b.P, b.Test)
		}
	}
	return list
}

func dependent(d Dependence) string {
	return fmt.Sprintf("%s (runs test, p = %.2g, %.2g over all tests): the runs are not independent, so the bounds promise too much", d.Warning, d.P, d.Adjusted)
}

func (t *text) suite(s Suite) {
	of := ""
	if s.Labels != "" {
		of = " [" + printable(s.Labels) + "]"
	}
	if s.Tests > 0 { // else none has ended
		t.printf("a run of %s%s fails with an estimated chance of %s: 1 minus the product of the pass rates, if tests fail independently\n", tests(s.Tests), of, stats.Percent(s.Chance))
	}
	t.printf("  seen: %d of %s had a failure, so at least %s, at most %s (at every n)\n", s.Failed, times(s.Runs, "report"), s.Observed.LowerShown, s.Observed.UpperShown)
	for _, h := range s.hiding() {
		t.printf("  %s of what fails: %s, hides %s\n", retriesUpTo(h.Retries), stats.Percent(h.Chance), stats.Percent(h.Hidden))
	}
	if s.RetriesSeen > 0 {
		t.printf("  this takes a retry to fail as often as a first attempt; of the retries seen %d of %d failed\n", s.RetryFailures, s.RetriesSeen)
	}
	t.printf("\n")
}

// hiding are the retries, if there is anything to hide.
func (s Suite) hiding() []Hidden {
	if s.Chance == 0 {
		return nil
	}
	return s.Retries
}

func retriesUpTo(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("up to %d retries", n)
}

// printable keeps control characters of a report from the terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return '\ufffd'
		}
		return c
	}, s)
}

func clip(s string, runes int) string {
	r := []rune(s)
	if len(r) <= runes {
		return s
	}
	return string(r[:runes-1]) + "…"
}
