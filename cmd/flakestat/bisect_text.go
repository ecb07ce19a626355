package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"exactlyone/stats"
)

// Verdicts of a bisection.
const (
	bisectFound       = "found"
	bisectUndecided   = "undecided"
	bisectInterrupted = "interrupted"
)

// bisectReport is what a bisection found. Its JSON is versioned by Schema.
type bisectReport struct {
	Schema     int           `json:"schema"` // 1
	Verdict    string        `json:"verdict"`
	Confidence float64       `json:"confidence"`
	Suspects   []string      `json:"suspects"`  // the commit, or those that nothing tells apart
	Chance     float64       `json:"chance"`    // posterior, that it is one of them
	NoChange   float64       `json:"no_change"` // posterior, that no commit changed the rate
	Runs       int           `json:"runs"`
	Resumed    int           `json:"runs_of_earlier_sessions"`
	Before     bisectCounts  `json:"before"` // the suspects
	After      bisectCounts  `json:"after"`  // from the last suspect on
	Commits    []bisectTried `json:"commits"`
	Assumes    []string      `json:"assumes"`
}

type bisectCounts struct {
	Failures int `json:"failures"`
	Runs     int `json:"runs"`
}

// bisectTried is one commit; the first is the good one.
type bisectTried struct {
	Commit  string `json:"commit"`
	Subject string `json:"subject"`
	bisectCounts
	Skipped   string  `json:"skipped,omitempty"` // why it cannot be run
	Posterior float64 `json:"posterior"`         // that it changed the rate; 0 for the good one
}

// report sums up.
func (s *session) report(interrupted bool) *bisectReport {
	posterior := s.search.Posterior()
	first, last, chance := s.search.Suspects()
	r := &bisectReport{
		Schema: 1, Verdict: bisectUndecided, Confidence: s.flags.confidence, Suspects: []string{}, Chance: chance, NoChange: posterior[0],
		Runs: s.search.Runs(), Resumed: s.resumed,
		Assumes: []string{
			"the rate at which the command fails changed once at most; runs are independent and alike on each side",
			"rates before and after are unknown, each with the prior Beta(1/2, 1/2); no change has the prior chance 1/2, each commit the same share of the rest",
			fmt.Sprintf("found means a posterior of %s at least, so that at single rates, too, the confidence of %s is kept", level((1+s.flags.confidence)/2), level(s.flags.confidence)),
		},
	}
	switch {
	case s.search.Found(s.flags.confidence):
		r.Verdict = bisectFound
	case interrupted:
		r.Verdict = bisectInterrupted
	}
	for i, c := range s.commits {
		failures, runs := s.search.Counts(i)
		t := bisectTried{c.id, c.subject, bisectCounts{failures, runs}, c.why, posterior[i]}
		switch {
		case i == 0:
			t.Posterior = 0
		case i >= first && i <= last:
			r.Suspects = append(r.Suspects, c.id)
		}
		if i < first {
			r.Before.add(t.bisectCounts)
		}
		if i >= last {
			r.After.add(t.bisectCounts)
		}
		r.Commits = append(r.Commits, t)
	}
	return r
}

func (c *bisectCounts) add(o bisectCounts) { c.Failures += o.Failures; c.Runs += o.Runs }

func (c bisectCounts) rate() float64 { return float64(c.Failures) / float64(max(1, c.Runs)) }

// String is 3 of 40 runs failed (7.50 %).
func (c bisectCounts) String() string {
	if c.Runs == 0 {
		return "no run"
	}
	return fmt.Sprintf("%d of %s failed (%s)", c.Failures, plural(c.Runs, "run"), stats.Percent(c.rate()))
}

// headline is the verdict in a line.
func (r *bisectReport) headline() string {
	after := fmt.Sprintf("after %s on %s", plural(r.Runs, "run"), plural(len(r.Commits), "commit"))
	if r.Resumed > 0 {
		after += fmt.Sprintf(", %d of them made before", r.Resumed)
	}
	switch r.Verdict {
	case bisectFound:
		how := "more often"
		if r.After.rate() < r.Before.rate() {
			how = "less often"
		}
		if len(r.Suspects) > 1 {
			return fmt.Sprintf("found: since one of %d commits it fails %s, %s; nothing can tell them apart", len(r.Suspects), how, after)
		}
		return fmt.Sprintf("found: since %s it fails %s, %s", commit{id: r.Suspects[0]}.short(), how, after)
	case bisectInterrupted:
		return fmt.Sprintf("interrupted %s; the same command goes on", after)
	}
	return fmt.Sprintf("undecided %s; the same command with a higher --max-runs goes on", after)
}

// Of commits between the ends the most probable ones are shown, up to shownCommits with a
// posterior of shownPosterior or more.
const (
	shownCommits   = 20
	shownPosterior = 0.001
)

// shown says which commits to show.
func (r *bisectReport) shown(all bool) map[int]bool {
	order := make([]int, len(r.Commits))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(r.Commits[j].Posterior, r.Commits[i].Posterior) })
	show := map[int]bool{0: true, len(order) - 1: true}
	for rank, i := range order {
		if all || rank < shownCommits && r.Commits[i].Posterior >= shownPosterior {
			show[i] = true
		}
	}
	return show
}

// writeText writes the report for a terminal.
func (r *bisectReport) writeText(w io.Writer, all bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.headline())
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "POSTERIOR\tFAILED\tCOMMIT")
	show := r.shown(all)
	for i, c := range r.Commits {
		failed := fmt.Sprintf("%d/%d", c.Failures, c.Runs)
		if c.Skipped != "" {
			failed = "-"
		}
		chance := stats.Percent(c.Posterior)
		if i == 0 {
			chance = "-"
		}
		if !show[i] {
			continue
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%s %s\n", chance, failed, commit{id: c.Commit}.short(), clipped(c.Subject))
	}
	_, _ = fmt.Fprintf(tw, "%s\t\tnone of them\n", stats.Percent(r.NoChange))
	_ = tw.Flush()
	if hidden := len(r.Commits) - len(show); hidden > 0 {
		fmt.Fprintf(&b, "\n%s less probable: --all shows them\n", plural(hidden, "commit"))
	}
	fmt.Fprintf(&b, "\n%-13s %s\n%-13s %s\n", "before", r.Before, "after", r.After)
	for _, c := range r.Commits {
		if c.Skipped != "" {
			fmt.Fprintf(&b, "%-13s %s: %s\n", "left out", commit{id: c.Commit}.short(), c.Skipped)
		}
	}
	for i, line := range r.Assumes {
		fmt.Fprintf(&b, "%-13s %s\n", []string{"assumes", ""}[min(i, 1)], line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// clipped keeps a text of somebody else to one short line.
func clipped(text string) string {
	const most = 60
	r := []rune(strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 {
			return '\ufffd'
		}
		return c
	}, text))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}
