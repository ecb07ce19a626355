package flake

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"exactlyone/stats"
)

// Summary is what a campaign says. Its JSON is versioned by Schema.
type Summary struct {
	Schema   int     `json:"schema"` // 1
	Command  string  `json:"command"`
	Revision string  `json:"revision,omitempty"`
	Plan     Plan    `json:"plan"`
	Seed     int64   `json:"seed"`
	Verdict  Verdict `json:"verdict"` // holds, violated or inconclusive
	Runs     int     `json:"runs"`
	Failed   int     `json:"failed_runs"`
	// CutShort are runs that were ended from outside before their own end. They count
	// for nothing.
	CutShort   int             `json:"cut_short,omitempty"`
	LeftBehind int             `json:"left_behind,omitempty"` // runs that left processes behind
	Earlier    *Earlier        `json:"earlier,omitempty"`     // on the same revision, if any
	Tests      []SubjectResult `json:"tests"`                 // the worst first
	Claims     string          `json:"claims"`
	Methods    []string        `json:"methods"`
	Assumes    []string        `json:"assumes"`
}

// The verdicts on a campaign.
const (
	Holds        Verdict = "holds"        // certified or, without a rate, nothing failed
	Violated     Verdict = "violated"     // something fails more often or, without a rate, failed
	Inconclusive Verdict = "inconclusive" // too few runs to tell
)

// SubjectResult is what a campaign says of one test.
type SubjectResult struct {
	Subject
	Display    string  `json:"display"`
	Verdict    Verdict `json:"verdict"`
	Runs       int     `json:"runs"` // of this campaign, in which it ran
	Failures   int     `json:"failures"`
	Unfinished int     `json:"unfinished,omitempty"`
	// The bounds count these runs too, which were made before on the same revision.
	EarlierRuns     int    `json:"earlier_runs,omitempty"`
	EarlierFailures int    `json:"earlier_failures,omitempty"`
	Method          string `json:"method"` // fixed_n or anytime
	Bounds
	Needed int `json:"runs_needed,omitempty"` // to certify it, if it does not fail again
}

// Conditions is what a summary tells beside the outcomes.
type Conditions struct {
	Command, Revision string
	Seed              int64
	Interrupted       bool // the plan was not carried out
	CutShort          int
	LeftBehind        int
}

// Summary sums up the campaign so far.
func (c *Campaign) Summary(o Conditions) *Summary {
	s := &Summary{
		Schema: 1, Command: o.Command, Revision: o.Revision, Plan: c.plan, Seed: o.Seed,
		Runs: c.runs, Failed: c.failed, CutShort: o.CutShort, LeftBehind: o.LeftBehind, Tests: []SubjectResult{},
	}
	if c.earlier.Runs+c.earlier.UnderWay > 0 {
		s.Earlier = &c.earlier
	}
	complete := !o.Interrupted && c.Done()
	for _, m := range c.ranked() {
		r := SubjectResult{
			Subject: m.Subject, Display: m.String(), Verdict: c.verdict(m), Runs: m.runs, Failures: m.failures, Unfinished: m.unfinished,
			EarlierRuns: m.before.runs, EarlierFailures: m.before.failures, Method: "anytime",
		}
		fixed := false
		if r.Bounds, fixed = c.bounds(m, complete); fixed {
			r.Method = "fixed_n"
		}
		if c.plan.Mode == Certify {
			r.Needed = c.needed(m)
		}
		s.Tests = append(s.Tests, r)
	}
	s.Verdict = c.overall(s, o.Interrupted)
	s.explain(c, o)
	return s
}

// overall is the verdict on the campaign.
func (c *Campaign) overall(s *Summary, interrupted bool) Verdict {
	n := map[Verdict]int{}
	for _, t := range s.Tests {
		n[t.Verdict]++
	}
	switch {
	case c.plan.Mode == Certify && n[TooFlaky] > 0, c.plan.Mode != Certify && c.failed > 0:
		return Violated
	case interrupted, c.runs == 0, n[Undecided] > 0:
		return Inconclusive
	}
	return Holds
}

// explain says what is claimed, by which method, and what that rests on.
func (s *Summary) explain(c *Campaign, o Conditions) {
	fixed, anytime, again, inverse, mixture := 0, 0, 0, false, false
	for _, t := range s.Tests {
		switch {
		case s.again(t):
			again++
		case t.Method == "fixed_n":
			fixed++
		default:
			anytime++
		}
		inverse = inverse || t.Verdict == TooFlaky && !s.again(t)
		mixture = mixture || t.Verdict == TooFlaky && s.again(t)
	}
	s.Claims = fmt.Sprintf("each bound by itself with confidence %s, not all of them at once", level(c.plan.Confidence))
	if c.plan.Mode == Certify {
		s.Claims = fmt.Sprintf("of each test by itself: should it fail in more than %s of its runs, the chance to certify it was at most %s",
			stats.Percent(c.plan.Rate), level(c.alpha))
	}
	if again > 0 {
		s.Claims += fmt.Sprintf("; a first try and all that follow err with chance %s each", level(c.alpha))
	}
	add := func(format string, args ...any) { s.Methods = append(s.Methods, fmt.Sprintf(format, args...)) }
	if fixed > 0 {
		add("Clopper-Pearson, one-sided: the number of runs, %d, was fixed before the first", c.plan.Runs)
	}
	sequence := fmt.Sprintf("confidence sequence, prior Beta(1, %.6g)", 1/c.plan.PriorRate)
	if anytime > 0 {
		add("%s, of %s: the number of runs depended on how they ended", sequence, tests(anytime))
	}
	switch {
	case again > 0 && c.earlier.UnderWay > 0:
		add("%s, of %s: %s of the same test had begun on this revision and not ended, and a number of runs is fixed beforehand but once; earlier runs count too", sequence, tests(again), times(c.earlier.UnderWay, "campaign"))
	case again > 0:
		add("%s, of %s tried before on this revision: the earlier runs count too, and a number of runs is fixed beforehand but once", sequence, tests(again))
	}
	if inverse {
		add("too flaky: failure %d came so early that at %s it would have with chance %s at most; of each test by itself, not corrected for their number. The bounds shown hold at every n and are wider: AT LEAST may be below that rate", c.plan.Allowed+1, stats.Percent(c.plan.Rate), level(c.alpha))
	}
	if mixture {
		add("too flaky, where tried before: by a test that holds at every n (mixture of that prior and the uniform one), p at most %s; of each test by itself, not corrected for their number. AT LEAST goes by the prior alone and may be below that rate", level(c.alpha))
	}
	s.Assumes = []string{"runs are independent and alike; each was a process of its own, and a run in which a test failed at all counts once"}
	if again > 0 && o.Revision == "" {
		s.Assumes = append(s.Assumes, "no revision is known: the earlier runs without one are taken to be of the same code (--rev tells them apart)")
	}
	if o.CutShort > 0 {
		s.Assumes = append(s.Assumes, fmt.Sprintf("%s cut short would have ended as the others: if failing takes longer, the bounds promise too much", times(o.CutShort, "run")))
	}
}

// WriteJSON writes the summary as JSON, numbers unrounded and as displayed.
func (s *Summary) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(s)
}

// WriteText writes the summary for a terminal.
func (s *Summary) WriteText(w io.Writer, o TextOptions) error {
	t := &text{w: w, color: o.Color}
	t.printf("%s: %s, %d failed", t.bold(string(s.Verdict)), times(s.Runs, "run"), s.Failed)
	if s.Earlier != nil && s.Earlier.Runs > 0 {
		t.printf("; %d earlier on this revision", s.Earlier.Runs)
	}
	if n := s.failedBefore(); n > 0 {
		t.printf("; in these runs alone: in earlier ones %s failed", tests(n))
	}
	if s.CutShort > 0 {
		t.printf("; %d cut short and not counted", s.CutShort)
	}
	t.printf("\n")
	switch {
	case s.Plan.Mode == Certify && s.fresh() == 0 && s.Runs > 0:
		t.printf("to certify a rate of at most %s, at any number of runs\n", stats.Percent(s.Plan.Rate))
	case s.Plan.Mode == Certify:
		t.printf("plan: at most %s in %s, to certify a rate of at most %s\n", times(s.Plan.Allowed, "failure"), times(s.Plan.Runs, "run"), stats.Percent(s.Plan.Rate))
	}
	t.printf("\n")
	shown := s.shown(o)
	if len(shown) > 0 {
		t.subjects(shown)
	}
	if rest := s.Tests[len(shown):]; len(rest) > 0 {
		t.printf("%s\n\n", restOf(rest))
	}
	if s.LeftBehind > 0 {
		t.printf("warning   %s left processes behind, which were killed\n", times(s.LeftBehind, "run"))
	}
	t.printf("claims    %s\n", s.Claims)
	for i, line := range s.Methods {
		t.printf("%-9s %s\n", []string{"method", ""}[min(i, 1)], line)
	}
	for i, line := range s.Assumes {
		t.printf("%-9s %s\n", []string{"assumes", ""}[min(i, 1)], line)
	}
	return t.err
}

// failedBefore is how many tests failed in earlier runs, where the verdict is about these
// runs alone.
func (s *Summary) failedBefore() (n int) {
	for _, t := range s.Tests {
		if s.Plan.Mode != Certify && t.EarlierFailures > 0 {
			n++
		}
	}
	return n
}

// again says whether a test was tried before on the revision, or is being tried.
func (s *Summary) again(t SubjectResult) bool {
	return t.EarlierRuns > 0 || s.Earlier != nil && s.Earlier.UnderWay > 0
}

// fresh is how many tests are tried for the first time on the revision.
func (s *Summary) fresh() (n int) {
	for _, t := range s.Tests {
		if !s.again(t) {
			n++
		}
	}
	return n
}

// shown are the tests to list: those that failed and, if there are few, all.
func (s *Summary) shown(o TextOptions) []SubjectResult {
	const few = 5
	if o.All || len(s.Tests) <= few {
		return s.Tests
	}
	n := 0
	for i, t := range s.Tests {
		if t.Failures+t.Unfinished+t.EarlierFailures > 0 {
			n = i + 1
		}
	}
	return s.Tests[:n]
}

func (t *text) subjects(shown []SubjectResult) {
	if t.err != nil {
		return
	}
	tw := tabwriter.NewWriter(t.w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "FAILED\tAT LEAST\tAT MOST\tVERDICT\tTEST")
	for _, x := range shown {
		_, _ = fmt.Fprintf(tw, "%d/%d\t%s\t%s\t%s\t%s\n", x.Failures+x.Unfinished+x.EarlierFailures, x.Runs+x.EarlierRuns,
			x.LowerShown, x.UpperShown, x.words(), printable(x.Display))
	}
	t.err = tw.Flush()
	t.printf("\n")
}

// words is the verdict as shown.
func (r *SubjectResult) words() string {
	if r.Verdict == Undecided && r.Needed > 0 {
		return fmt.Sprintf("undecided, %d more", r.Needed)
	}
	return string(r.Verdict)
}

// restOf sums up tests that never failed.
func restOf(rest []SubjectResult) string {
	least, upper, certified := rest[0].Runs, 0.0, 0
	for _, t := range rest {
		least, upper = min(least, t.Runs), max(upper, t.Upper)
		if t.Verdict == Certified {
			certified++
		}
	}
	line := fmt.Sprintf("%s never failed: %s or more each, so each fails in at most %s of its runs", tests(len(rest)), times(least, "run"), stats.PercentUp(upper))
	if certified > 0 {
		line += fmt.Sprintf("; %d certified", certified)
	}
	return line
}
