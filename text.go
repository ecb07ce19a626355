package exactlyone

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// TextOptions say how a report is written.
type TextOptions struct {
	Color  bool
	Replay string // the command that replays the story, "" if there is none
}

const (
	red   = "31"
	green = "32"
	amber = "33"
	bold  = "1"
)

func (o TextOptions) paint(color, text string) string {
	if !o.Color {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// WriteText writes the result for a person to read.
func (r *Result) WriteText(out io.Writer, o TextOptions) error {
	var b strings.Builder
	colors := map[Verdict]string{Holds: green, Violated: red, Inconclusive: amber, Vacuous: amber}
	verdict := strings.ToUpper(string(r.Verdict))
	fmt.Fprintf(&b, "%s  %s", o.paint(colors[r.Verdict]+";"+bold, verdict), r.System)
	switch r.Verdict {
	case Violated:
		fmt.Fprintf(&b, " breaks %s: %s\n\n", o.paint(bold, r.Story.Property), oneLine(r.Story.Message))
		r.Story.write(&b, o)
	case Holds:
		fmt.Fprintf(&b, ": every behaviour within these bounds was tried; no property is broken\n")
	default:
		fmt.Fprintf(&b, ": %s\n", r.Why)
	}
	b.WriteByte('\n')
	r.writeFacts(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// writeFacts writes what was tried and what was exercised.
func (r *Result) writeFacts(b *strings.Builder) {
	row := func(name, format string, args ...any) {
		fmt.Fprintf(b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("bounds", "%s", r.Bounds)
	if r.Isolation != "" && r.Isolation != Serial {
		row("isolation", "%s", r.Isolation)
	}
	for i, target := range r.JumpTargets {
		row([]string{"clock jumps", ""}[min(i, 1)], "%s", target)
	}
	if r.Reduction == "none" {
		row("searched", "%s steps in %s executions, each followed to its end; reduction none", thousands(r.Steps), thousands(r.Executions))
	} else {
		row("searched", "%s states, %s steps, %s executions, %s ends; reduction %s",
			thousands(r.States), thousands(r.Steps), thousands(r.Executions), thousands(r.Ends), r.Reduction)
	}
	switch {
	case r.Verdict == Inconclusive && r.Reduction != "none":
		row("got as far", "all executions with fewer than %d faults, and those with %d faults up to %d steps after the last fault; %s states wait",
			r.Faults, r.Faults, r.Depth, thousands(r.Queue))
	case r.Verdict == Violated:
		row("", "the search stopped at the first violation: other stories may exist")
	}
	if r.Checked > 0 {
		row("for real", "%d of these executions were run again from start to end, with the same outcome at every step", r.Checked)
	}
	for i, name := range slices.Sorted(maps.Keys(r.Exercised)) {
		row([]string{"exercised", ""}[min(i, 1)], "%s: %s", name, thousands(r.Exercised[name]))
	}
	for _, name := range r.NotApplicable {
		row("n/a", "%s: found no place to strike", name)
	}
	for i, p := range r.Properties {
		row([]string{"judged", ""}[min(i, 1)], "%s", p)
	}
	row("not tried", "interleavings of goroutines between two steps; anything beyond the bounds")
}

// String lists what the bounds allow.
func (b Bounds) String() string {
	parts := []string{count(b.Clients, "client"), count(b.Attempts, "attempt") + " each", count(b.Nodes, "node")}
	for _, f := range []struct {
		n    int
		name string
	}{
		{b.Crashes, "crash"},
		{b.LostAnswers, "lost answer"},
		{b.LostRequests, "lost request"},
		{b.Duplicates, "duplicate"},
		{b.Jumps, "clock jump"},
		{b.CommitFaults, "commit fault"},
	} {
		if f.n > 0 {
			parts = append(parts, count(f.n, f.name))
		}
	}
	return strings.Join(parts, ", ")
}

func count(n int, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "sh"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// WriteText writes the story for a person to read.
func (t *Trace) WriteText(out io.Writer, o TextOptions) error {
	var b strings.Builder
	t.write(&b, o)
	_, err := io.WriteString(out, b.String())
	return err
}

func (t *Trace) write(b *strings.Builder, o TextOptions) {
	size := fmt.Sprintf("%s, %s, %s", count(t.Faults, "fault"), count(t.Switches, "switch"), count(len(t.Steps), "step"))
	size = strings.Replace(size, "switchs", "switches", 1)
	kind := "Story"
	if t.Minimal {
		kind = "The smallest story"
		size += "; minimal, in this order"
	}
	fmt.Fprintf(b, "%s (%s):\n\n", kind, size)
	rows := strings.Split(strings.TrimRight(columnsText(t.Steps, columnsOf(t.Steps, t.clients, t.nodes, t.stores)), "\n"), "\n")
	for i, row := range rows {
		switch {
		case i == 0:
			row = o.paint(bold, row)
		case t.Steps[i-1].Fault:
			row = o.paint(red, row)
		}
		b.WriteString(row + "\n")
	}
	if t.Property != "" {
		fmt.Fprintf(b, "\n%s %s: %s\n", o.paint(red, "✗"), t.Property, oneLine(t.Message))
	}
	if t.Need != nil {
		b.WriteString("\nNecessary:\n")
		for _, n := range t.Need {
			fmt.Fprintf(b, "  %s\n", oneLine(n))
		}
		if len(t.Need) == 0 {
			b.WriteString("  nothing: it ends badly also without any of its faults and switches\n")
		}
	}
	if o.Replay != "" {
		fmt.Fprintf(b, "\nReplay:\n  %s\n", o.Replay)
	}
}
