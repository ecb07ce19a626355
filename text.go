package exactlyone

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"exactlyone/stats"
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
	default:
		b.WriteString(r.outcome() + "\n")
	}
	b.WriteByte('\n')
	r.writeFacts(&b)
	_, err := io.WriteString(out, b.String())
	return err
}

// outcome is what came of a check that found no story.
func (r *Result) outcome() string {
	if r.Verdict == Holds {
		return ": every behaviour within these bounds was tried; no property is broken"
	}
	return ": " + r.Why
}

// writeFacts writes what drawing executions has shown.
func (r *Random) writeFacts(row func(name, format string, args ...any)) {
	switch {
	case r == nil:
		return
	case r.Pilot:
		row("drawn", "the violation was found while parameters were learned; seed %d", r.Seed)
		return
	case r.Again:
		row("drawn", "the violation was in a fail file that an earlier search wrote")
		return
	}
	var shares []string
	for _, d := range r.Strategies {
		shares = append(shares, fmt.Sprintf("%s %s", thousands(d.Executions), d.Strategy))
	}
	row("drawn", "%s executions (%s), %s steps, the longest %d; seed %d",
		thousands(r.Executions), strings.Join(shares, ", "), thousands(r.Steps), r.Longest, r.Seed)
	row("", "%s distinct ends, %s of them seen once: one more execution ends in a way not seen with a chance of about %s (Good-Turing; executions are independent and drawn alike)",
		thousands(r.Outcomes), thousands(r.Once), stats.Percent(r.Unseen))
	for _, d := range r.Strategies {
		if d.Bound > 0 {
			row("", "one more execution drawn by %s fails with a chance of at most %s (95 %%, one-sided, none of %s failed)", d.Strategy, stats.PercentUp(d.Bound), thousands(d.Executions))
		}
	}
	if r.File != "" {
		row("fail file", "%s, which the next search with fail files tries first", r.File)
	}
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
	switch {
	case r.States == 0: // nothing but drawn executions
	case r.Reduction == "none":
		row("searched", "%s steps in %s executions, each followed to its end; reduction none", thousands(r.Steps), thousands(r.Executions))
	default:
		row("searched", "%s states, %s steps, %s executions, %s ends; reduction %s",
			thousands(r.States), thousands(r.Steps), thousands(r.Executions), thousands(r.Ends), r.Reduction)
	}
	r.Random.writeFacts(row)
	switch {
	case r.States == 0:
	case r.Verdict == Inconclusive && r.Reduction != "none":
		row("got as far", "all executions with fewer than %d faults, and those with %d faults up to %d steps after the last fault; %s states wait",
			r.Faults, r.Faults, r.Depth, thousands(r.Queue))
	case r.Verdict == Violated:
		row("", "the search stopped at the first violation: other stories may exist")
	}
	if r.Checked > 0 {
		row("for real", "%d executions that begin as some of these were run from start to end, with the same outcome at every step", r.Checked)
	}
	for i, name := range slices.Sorted(maps.Keys(r.Exercised)) {
		row([]string{"exercised", ""}[min(i, 1)], "%s: %s", name, thousands(r.Exercised[name]))
	}
	for _, name := range r.NotApplicable {
		row("n/a", "%s: found no place to strike", name)
	}
	for i, stack := range r.Left {
		row([]string{"left behind", ""}[min(i, 1)], "a goroutine that waits for ever after its handler has returned, %s", stack)
	}
	for i, p := range r.Properties {
		row([]string{"judged", ""}[min(i, 1)], "%s", p)
	}
	row("not tried", "interleavings of goroutines between two steps; anything beyond the bounds")
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

// size says how long a story is, and whether it is the smallest.
func (t *Trace) size() string {
	size := fmt.Sprintf("%s, %s, %s", count(t.Faults, "fault"), count(t.Switches, "switch"), count(len(t.Steps), "step"))
	size = strings.Replace(size, "switchs", "switches", 1)
	kind := "Story"
	switch {
	case t.Minimal:
		kind = "The smallest story"
		if size += "; minimal, in this order"; t.Milder && t.Faults > 0 {
			size += ", of the mildest faults"
		}
	case t.Shrunk:
		size += "; shrunk, a smaller one may exist"
	}
	return kind + " (" + size + ")"
}

func (t *Trace) write(b *strings.Builder, o TextOptions) {
	fmt.Fprintf(b, "%s:\n\n", t.size())
	for i, row := range columnsText(t.Steps, columnsOf(t.Steps, t.clients, t.nodes, t.stores)) {
		switch {
		case i == 0:
			row = o.paint(bold, row)
		case t.Steps[i-1].Fault:
			row = o.paint(red, row)
		}
		b.WriteString(row + "\n")
	}
	if t.Edits != nil {
		fmt.Fprintf(b, "\nThe code has changed since: %s more, %s fewer than in the trace.\n", count(t.Edits.Added, "step"), count(t.Edits.LeftOut, "step"))
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
