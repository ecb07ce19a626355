package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"exactlyone/flake"
)

// gateFlags are the flags of gate.
type gateFlags struct {
	filterFlags
	store, format, quarantine, today string
	confidence, maxRate              float64
	all                              bool
}

func newGate() *cobra.Command {
	f := new(gateFlags)
	cmd := &cobra.Command{
		Use:   "gate --max-rate RATE",
		Short: "Pass if every test is certified to fail at most so often",
		Long: `Gate asks whether every test of the store fails in at most RATE of its runs, and
says so with its exit status:

  0  every gated test is certified, each at the full confidence: the claim is about
     all of them together
  1  a test is certain to fail more often, however often the gate is asked (Holm's
     method over anytime-valid p values)
  2  wrong usage or input
  3  there are not enough runs, or no test is gated; it says how many more are needed

Bounds hold at every number of runs at once, unless ingest --planned fixed the number
beforehand.

A suite that failed though none of its tests did, or a command that crashed, is gated like
a test, as NAME (as a whole).

--quarantine names a file of tests to leave out: on each line the last day, who mends
it, and the test as a report shows it or by its name; # begins a comment.

  2026-06-30  @payments  shop.cart > TestPay

After that day the test is gated again, by all its runs since it was last marked with
"flakestat fixed".`,
		Example: `  flakestat gate --max-rate 0.01
  flakestat gate --max-rate 0.01 --quarantine quarantine.txt
  flakestat gate --max-rate 0.05 --label os=linux --format github
  flakestat gate --max-rate 0.05 --quarantine quarantine.txt --today 2026-07-01`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.gate(cmd) },
	}
	fl := cmd.Flags()
	storeFlag(cmd, &f.store)
	f.add(cmd)
	fl.Float64Var(&f.maxRate, "max-rate", 0, "failure rate that no test may exceed, between 0 and 1")
	fl.StringVar(&f.quarantine, "quarantine", "", "file of tests to leave out: date, owner and test on each line")
	fl.StringVar(&f.today, "today", "", "the day by which a quarantine ends (default: today, UTC)")
	fl.BoolVar(&f.all, "all", false, "show certified tests, too")
	confidenceFlag(cmd, &f.confidence)
	formatFlag(cmd, &f.format, "text", "json", "github")
	_ = cmd.MarkFlagRequired("max-rate")
	_ = cmd.MarkFlagFilename("quarantine")
	return cmd
}

// config checks the flags and reads the quarantine.
func (f *gateFlags) config() (c flake.GateConfig, err error) {
	c = flake.GateConfig{MaxRate: f.maxRate, Confidence: f.confidence, Today: now()}
	if c.Filter, err = f.filter(); err != nil {
		return c, err
	}
	if err := between("max-rate", f.maxRate); err != nil {
		return c, err
	}
	if err := between("confidence", f.confidence); err != nil {
		return c, err
	}
	if f.today != "" {
		if c.Today, err = time.Parse(time.DateOnly, f.today); err != nil {
			return c, fmt.Errorf("--today %q: a date such as 2026-06-30 was expected", f.today)
		}
	}
	if f.quarantine == "" {
		return c, nil
	}
	file, err := os.Open(f.quarantine)
	if err != nil {
		return c, fmt.Errorf("--quarantine: %w", err)
	}
	c.Quarantine, err = flake.ParseQuarantine(file, f.quarantine)
	return c, errors.Join(err, file.Close())
}

func (f *gateFlags) gate(cmd *cobra.Command) error {
	c, err := f.config()
	if err != nil {
		return err
	}
	g, err := readStore(cmd, f.store, func(store *flake.Store, progress func(done, total int)) (*flake.Gate, error) {
		if err := known(cmd.Context(), store, c.Filter); err != nil {
			return nil, err
		}
		c.Progress = progress
		return store.Gate(cmd.Context(), c)
	})
	if err != nil {
		return err
	}
	if f.test != "" && len(g.Tests)+len(g.Quarantined)+len(g.NeverRan) == 0 && g.Reports > 0 {
		return fmt.Errorf("--test %q: no test of these runs has such a name", f.test)
	}
	err = writeOnce(cmd.OutOrStdout(), func(w io.Writer) error {
		switch f.format {
		case "json":
			return g.WriteJSON(w)
		case "github":
			return g.WriteGitHub(w)
		}
		return g.WriteText(w, flake.TextOptions{Color: colored(cmd.OutOrStdout()), All: f.all})
	})
	if err != nil {
		return err
	}
	switch g.Verdict {
	case flake.Certified:
		return nil
	case flake.TooFlaky:
		return exit(exitFlaky)
	}
	return exit(exitUnknown)
}
