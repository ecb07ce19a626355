package flake

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"exactlyone/stats"
)

// WriteJSON writes the answer as JSON, numbers unrounded and as displayed.
func (g *Gate) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(g)
}

// headline is the verdict in a line.
func (g *Gate) headline() string {
	what := fmt.Sprintf("fail in at most %s of their runs, with confidence %s", stats.Percent(g.MaxRate), level(g.Confidence))
	switch g.Verdict {
	case Certified:
		return fmt.Sprintf("certified: all of %s %s", g.Why, what)
	case TooFlaky:
		return fmt.Sprintf("too flaky: %s than in %s of their runs, with confidence %s", g.Why, stats.Percent(g.MaxRate), level(g.Confidence))
	}
	return fmt.Sprintf("undecided: %s; asked is whether all %s", g.Why, what)
}

// counted writes failures and runs, and how many never ended.
func counted(failures, runs, unfinished int) string {
	text := fmt.Sprintf("%d/%d", failures, runs)
	if unfinished > 0 {
		text += fmt.Sprintf(" +%d unfinished", unfinished)
	}
	return text
}

// need says what a test lacks.
func (t *GateTest) need() string {
	switch {
	case t.Verdict == TooFlaky:
		return "too flaky"
	case t.MoreRuns > 0:
		return fmt.Sprint(t.MoreRuns)
	}
	return "-"
}

// WriteText writes the answer for a terminal or a log: the tests that keep the gate shut,
// or all of them.
func (g *Gate) WriteText(w io.Writer, o TextOptions) error {
	t := &text{w: w, color: o.Color}
	t.printf("%s\n", t.bold(g.headline()))
	shown := g.Tests
	if !o.All {
		shown = nil
		for _, x := range g.Tests {
			if x.Verdict != Certified {
				shown = append(shown, x)
			}
		}
	}
	if len(shown) > 0 {
		t.gateTable(shown)
	}
	if n := len(g.Tests) - len(shown); n > 0 && len(shown) > 0 {
		t.printf("\n%s certified\n", tests(n))
	}
	t.printf("\n")
	for _, x := range g.Tests {
		if x.Why != "" {
			t.printf("undecided     %s: %s\n", printable(x.Display), x.Why)
		}
		if x.Expired != nil {
			t.printf("released      %s: its quarantine ended with %s (%s, %s), it is gated again\n", printable(x.Display), x.Expired.Until, x.Expired.Owner, x.Expired.At)
		}
		if x.Warning != "" {
			t.printf("warning       %s: %s; the bound promises too much\n", printable(x.Display), x.Warning)
		}
	}
	for _, x := range g.Quarantined {
		t.printf("quarantined   %s: until %s, %s; %s failed, at most %s", printable(x.Display), x.Until, x.Owner, counted(x.Failures, x.Runs, 0), x.UpperShown)
		if x.Certified {
			t.printf(": it could be gated")
		}
		t.printf("\n")
	}
	for _, x := range g.Unknown {
		t.printf("unknown       %s: %q is no test of the store\n", x.At, x.Test)
	}
	if n := len(g.NeverRan); n > 0 {
		t.printf("not gated     %s never ran to an end, skipped or cached: %s\n", tests(n), printable(someOf(g.NeverRan)))
	}
	for i, line := range g.Assumes {
		t.printf("%-13s %s\n", []string{"assumes", ""}[min(i, 1)], line)
	}
	return t.err
}

func (t *text) gateTable(shown []GateTest) {
	t.printf("\n")
	tw := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "FAILED\tAT MOST\tMORE RUNS\tTEST")
	for _, x := range shown {
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\n", counted(x.Failures, x.Runs, x.Unfinished), x.UpperShown, x.need(), printable(x.Display))
	}
	if err := tw.Flush(); t.err == nil {
		t.err = err
	}
}

// WriteGitHub writes the answer as workflow commands, which GitHub shows as annotations:
// an error for each test that is too flaky, a warning for each that lacks runs, and the
// verdict.
func (g *Gate) WriteGitHub(w io.Writer) error {
	t := &text{w: w}
	kind := map[Verdict]string{TooFlaky: "error", Undecided: "warning", Certified: "notice"}
	for _, x := range g.Tests {
		switch x.Verdict {
		case TooFlaky:
			t.annotate("error", "too flaky", fmt.Sprintf("%s: %s failed, more than %s for certain (p = %.2g, Holm)", x.Display, counted(x.Failures, x.Runs, x.Unfinished), stats.Percent(g.MaxRate), x.Adjusted))
		case Undecided:
			t.annotate("warning", "not certified", fmt.Sprintf("%s: %s failed, at most %s; %s would certify it, if all pass", x.Display, counted(x.Failures, x.Runs, x.Unfinished), x.UpperShown, times(x.MoreRuns, "more run"))+strings.TrimSuffix(". "+x.Why, ". "))
		}
		if x.Expired != nil {
			t.annotate("warning", "quarantine over", fmt.Sprintf("%s: since %s (%s, %s)", printable(x.Display), x.Expired.Until, x.Expired.Owner, x.Expired.At))
		}
	}
	for _, x := range g.Unknown {
		t.annotate("warning", "quarantine", fmt.Sprintf("%s: %q is no test of the store", x.At, x.Test))
	}
	t.annotate(kind[g.Verdict], "flakestat gate", g.headline())
	return t.err
}

// annotate writes a workflow command, escaped as actions/toolkit does.
func (t *text) annotate(kind, title, message string) {
	message = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(message)
	t.printf("::%s title=%s::%s\n", kind, title, message)
}
