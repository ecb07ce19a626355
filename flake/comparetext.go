package flake

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// WriteJSON writes the answer as JSON.
func (out *Compared) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// WriteText writes the answer for a terminal: the tests of which the runs tell something
// or that failed, or all of them.
func (out *Compared) WriteText(w io.Writer, o TextOptions) error {
	t := &text{w: w, color: o.Color}
	t.printf("%s\n", t.bold(out.headline()))
	var shown []ComparedTest
	alike := 0
	for _, x := range out.Tests {
		if o.All || out.Test != "" || x.A.Failures+x.A.open()+x.B.Failures+x.B.open() > 0 {
			shown = append(shown, x)
		} else {
			alike++
		}
	}
	if len(shown) > 0 {
		t.printf("\n")
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(tw, "A\tB\tB IS\tP, HOLM\tMORE PER SIDE\tTEST")
		for _, x := range shown {
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\n", x.A, x.B, x.Verdict, x.p(), x.more(), printable(x.Display))
		}
		if err := tw.Flush(); t.err == nil {
			t.err = err
		}
	}
	t.printf("\n")
	if alike > 0 {
		t.printf("%s never failed on either side\n", tests(alike))
	}
	for _, side := range []ComparedSide{out.A, out.B} {
		if n := len(side.Only); n > 0 {
			t.printf("%s ran on side %s only: %s\n", tests(n), side.Name, printable(someOf(side.Only)))
		}
	}
	for i, line := range out.Assumes {
		t.printf("%-13s %s\n", []string{"assumes", ""}[min(i, 1)], line)
	}
	if m := out.advice(); m != "" {
		t.printf("%-13s %s\n", "more runs", m)
	}
	return t.err
}

// headline is the verdict in a line.
func (out *Compared) headline() string {
	n := map[Verdict]int{}
	for _, x := range out.Tests {
		n[x.Verdict]++
	}
	what := fmt.Sprintf("%d better, %d worse, %d cannot tell", n[Better], n[Worse], n[CannotTell])
	return fmt.Sprintf("%s: B (%s, %s) beside A (%s, %s): %s", out.Verdict, out.B.Name, times(out.B.Reports, "report"), out.A.Name, times(out.A.Reports, "report"), what)
}

// advice says what the proposals of more runs mean.
func (out *Compared) advice() string {
	for _, x := range out.Tests {
		if x.MorePerSide == 0 {
			continue
		}
		if out.Anytime {
			return "added to these they tell, if the rates stay as seen"
		}
		return fmt.Sprintf("fixed now, and compared by themselves with --test and --since, they tell rates such as these apart with a chance of %.0f %%", 100*power)
	}
	return ""
}

// String is 3/24, with how many never ended and how many are missing.
func (c Counts) String() string {
	text := counted(c.Failures, c.Runs, c.Unfinished)
	if c.Missing > 0 {
		text += fmt.Sprintf(" +%d missing", c.Missing)
	}
	return text
}

// p is the adjusted p value of the direction seen.
func (x *ComparedTest) p() string {
	return fmt.Sprintf("%.2g", min(x.AdjustedBetter, x.AdjustedWorse))
}

func (x *ComparedTest) more() string {
	switch {
	case x.MorePerSide < 0:
		return fmt.Sprintf("over %d", MaxPerSide)
	case x.MorePerSide > 0:
		return fmt.Sprint(x.MorePerSide)
	}
	return "-"
}

// someOf names a few.
func someOf(names []string) string {
	const few = 5
	if len(names) > few {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
	}
	return strings.Join(names, ", ")
}
