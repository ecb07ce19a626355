package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"exactlyone/stats"
)

// planFlags are the flags of plan.
type planFlags struct {
	rate, confidence, power, baseline float64
	failures                          int
	format                            string
}

func newPlan() *cobra.Command {
	f := new(planFlags)
	cmd := &cobra.Command{
		Use:   "plan --rate RATE",
		Short: "Say how many runs it takes",
		Long: `Plan says how many runs certify that a test fails in at most RATE of them, and how
many failures among them are allowed if more runs are spent. Fix the line before
the first run: who picks it afterwards errs more often than --confidence says.

With --baseline it says how many runs it takes on each side to show that a test
that failed at the rate BASELINE now fails at RATE only (Fisher's exact test,
one-sided), with the chance --power of finding so.`,
		Example: `  flakestat plan --rate .01
  flakestat plan --rate .01 --failures 2
  flakestat plan --rate .001 --confidence 0.99 --format json
  flakestat plan --rate .01 --baseline .05 --power 0.9`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.plan(cmd) },
	}
	fl := cmd.Flags()
	fl.Float64Var(&f.rate, "rate", 0, "failure rate to certify, between 0 and 1")
	fl.IntVar(&f.failures, "failures", 0, "failures allowed among the runs (default: a table of 0 to 3)")
	fl.Float64Var(&f.baseline, "baseline", 0, "failure rate before the change, above --rate")
	fl.Float64Var(&f.power, "power", 0.8, "chance of seeing the difference from --baseline")
	confidenceFlag(cmd, &f.confidence)
	formatFlag(cmd, &f.format, "text", "json")
	_ = cmd.MarkFlagRequired("rate")
	return cmd
}

func (f *planFlags) check(cmd *cobra.Command) error {
	set := cmd.Flags().Changed
	switch {
	case set("baseline") && set("failures"):
		return fmt.Errorf("--failures and --baseline: one of them was expected")
	case set("power") && !set("baseline"):
		return fmt.Errorf("--power: it needs --baseline")
	case f.failures < 0 || f.failures > 1_000_000:
		return fmt.Errorf("--failures %d: 0 to 1000000 was expected", f.failures)
	case set("baseline") && f.baseline <= f.rate:
		return fmt.Errorf("--baseline %v: a rate above --rate %v was expected", f.baseline, f.rate)
	case set("baseline") && !(f.baseline <= 1):
		return fmt.Errorf("--baseline %v: a rate up to 1 was expected", f.baseline)
	case set("baseline") && f.rate == 0:
		// A test that was mended for good is a sensible thing to plan for.
	default:
		if err := between("rate", f.rate); err != nil {
			return err
		}
	}
	if err := between("power", f.power); err != nil {
		return err
	}
	return between("confidence", f.confidence)
}

// planned is one way to certify a rate.
type planned struct {
	Failures int `json:"failures"`
	Runs     int `json:"runs"`
	// Chances that a test passes which really fails at a tenth, at half, and at all
	// of the rate.
	Tenth float64 `json:"certified_if_a_tenth"`
	Half  float64 `json:"certified_if_half"`
	Full  float64 `json:"certified_if_at_the_rate"`
}

func (f *planFlags) plan(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	if cmd.Flags().Changed("baseline") {
		return f.compare(cmd.OutOrStdout())
	}
	allowed := []int{0, 1, 2, 3}
	if cmd.Flags().Changed("failures") {
		allowed = []int{f.failures}
	}
	var plans []planned
	for _, k := range allowed {
		n, err := stats.RunsNeeded(f.rate, f.confidence, k)
		if err != nil {
			return fmt.Errorf("--rate %v: %w", f.rate, err)
		}
		plans = append(plans, planned{k, n, stats.AtMost(k, n, f.rate/10), stats.AtMost(k, n, f.rate/2), stats.AtMost(k, n, f.rate)})
	}
	return f.write(cmd.OutOrStdout(), plans)
}

func (f *planFlags) write(w io.Writer, plans []planned) error {
	const assumes = "the line is fixed before the first run; runs are independent and alike"
	if f.format == "json" {
		return writeJSON(w, struct {
			Rate       float64   `json:"rate"`
			Confidence float64   `json:"confidence"`
			Plans      []planned `json:"plans"`
			Assumes    string    `json:"assumes"`
		}{f.rate, f.confidence, plans, assumes})
	}
	_, err := fmt.Fprintf(w, "To certify a failure rate of at most %s with confidence %s:\n\n", stats.Percent(f.rate), level(f.confidence))
	if err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintf(tw, "failures allowed\truns\tcertified if really %s\tif %s\tif %s\t\n",
		stats.Percent(f.rate/10), stats.Percent(f.rate/2), stats.Percent(f.rate))
	for p := range slices.Values(plans) {
		_, _ = fmt.Fprintf(tw, "%d\t%d\t%s\t%s\t%s\t\n", p.Failures, p.Runs, stats.Percent(p.Tenth), stats.Percent(p.Half), stats.Percent(p.Full))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "\nassumes  %s\n", assumes)
	return err
}

// compare plans two samples.
func (f *planFlags) compare(w io.Writer) error {
	alpha := stats.TailOf(f.confidence)
	n, err := stats.RunsPerSide(f.baseline, f.rate, alpha, f.power)
	if err != nil {
		return err
	}
	power := stats.Power(f.baseline, n, f.rate, n, alpha)
	const assumes = "both numbers are fixed beforehand; runs are independent and alike"
	if f.format == "json" {
		return writeJSON(w, struct {
			Baseline   float64 `json:"baseline"`
			Rate       float64 `json:"rate"`
			Confidence float64 `json:"confidence"`
			Asked      float64 `json:"power_asked"`
			Power      float64 `json:"power"`
			PerSide    int     `json:"runs_per_side"`
			Test       string  `json:"test"`
			Assumes    string  `json:"assumes"`
		}{f.baseline, f.rate, f.confidence, f.power, power, n, "Fisher, exact, one-sided", assumes})
	}
	_, err = fmt.Fprintf(w, `runs     %d before and %d after the change
shows    that a rate of %s has come down, if it is %s now
chance   %s of showing so (%s was asked for)
method   Fisher's exact test, one-sided, confidence %s
assumes  %s
`, n, n, stats.Percent(f.baseline), stats.Percent(f.rate), stats.PercentDown(power), level(f.power), level(f.confidence), assumes)
	return err
}
