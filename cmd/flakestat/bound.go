package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"exactlyone/stats"
)

// boundFlags are the flags of bound.
type boundFlags struct {
	failures, runs    int
	confidence, prior float64
	anytime           bool
	format            string
}

func newBound() *cobra.Command {
	f := new(boundFlags)
	cmd := &cobra.Command{
		Use:   "bound -k FAILURES -n RUNS",
		Short: "Bound the failure rate of a test that failed k times in n runs",
		Long: `Bound prints the exact one-sided bounds (Clopper and Pearson, 1934) on the rate at
which a test fails, from k failures in n runs. Each bound holds with the chance
--confidence, if n was fixed beforehand and the runs are independent and alike.

Who looked at the results and stopped when pleased needs --anytime: a bound that
holds at every n at once (a beta-binomial confidence sequence with the prior
Beta(1, 1/R), R from --prior-rate, fixed before the first run).`,
		Example: `  flakestat bound -k 0 -n 6
  flakestat bound -k 2 -n 500 --confidence 0.99
  flakestat bound -k 0 -n 299 --anytime
  flakestat bound -k 0 -n 6 --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.bound(cmd) },
	}
	fl := cmd.Flags()
	fl.IntVarP(&f.failures, "failures", "k", 0, "runs that failed")
	fl.IntVarP(&f.runs, "runs", "n", 0, "runs, failed ones included, up to a billion")
	fl.BoolVar(&f.anytime, "anytime", false, "n was not fixed beforehand")
	fl.Float64Var(&f.prior, "prior-rate", 0.01, "the rate at which --anytime is narrow, between 0 and 1")
	confidenceFlag(cmd, &f.confidence)
	formatFlag(cmd, &f.format, "text", "json")
	_ = cmd.MarkFlagRequired("failures")
	_ = cmd.MarkFlagRequired("runs")
	return cmd
}

// maxRuns is what bound takes.
const maxRuns = 1_000_000_000

func (f *boundFlags) check() error {
	switch {
	case f.runs < 0 || f.runs > maxRuns:
		return fmt.Errorf("--runs %d: 0 to %d was expected", f.runs, maxRuns)
	case f.failures < 0 || f.failures > f.runs:
		return fmt.Errorf("--failures %d: 0 to the number of runs, %d, was expected", f.failures, f.runs)
	}
	if err := between("confidence", f.confidence); err != nil {
		return err
	}
	return between("prior-rate", f.prior)
}

func (f *boundFlags) bound(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	alpha := stats.TailOf(f.confidence)
	lower, upper := stats.Lower(f.failures, f.runs, alpha), stats.Upper(f.failures, f.runs, alpha)
	method, assumes := "Clopper-Pearson, one-sided", "n was fixed beforehand; runs are independent and alike"
	if f.anytime {
		a, b := stats.Prior(f.prior)
		lower, upper = stats.Sequence(a, b, f.failures, f.runs, alpha)
		method = fmt.Sprintf("beta-binomial confidence sequence, prior Beta(1, 1/%v)", f.prior)
		assumes = "the prior was fixed beforehand, n need not be; runs are independent and alike"
	}
	shownLower, shownUpper := stats.PercentDown(lower), stats.PercentUp(upper)
	out := cmd.OutOrStdout()
	if f.format == "json" {
		return writeJSON(out, struct {
			Failures   int     `json:"failures"`
			Runs       int     `json:"runs"`
			Confidence float64 `json:"confidence"`
			Lower      float64 `json:"lower"`
			Upper      float64 `json:"upper"`
			LowerShown string  `json:"lower_shown"`
			UpperShown string  `json:"upper_shown"`
			Anytime    bool    `json:"anytime"`
			Method     string  `json:"method"`
			Assumes    string  `json:"assumes"`
		}{f.failures, f.runs, f.confidence, lower, upper, shownLower, shownUpper, f.anytime, method, assumes})
	}
	rate := "no run, no rate"
	if f.runs > 0 {
		rate = stats.Percent(float64(f.failures) / float64(f.runs))
	}
	_, err := fmt.Fprintf(out, `failed   %d of %d runs (%s)
upper    %s: with confidence %s it fails no more often
lower    %s: with confidence %s it fails no less often
method   %s
assumes  %s
`, f.failures, f.runs, rate, shownUpper, level(f.confidence), shownLower, level(f.confidence), method, assumes)
	return err
}
