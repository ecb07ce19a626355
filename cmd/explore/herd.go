package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"exactlyone/herd"
	"exactlyone/internal/wholefile"
	"exactlyone/retry"
)

// herdFlags are flags that herd and its subcommands share.
type herdFlags struct {
	clients                       []int
	strategies                    []string
	repetitions                   int
	base, cap, delayMean, delaySD time.Duration
	firstRetry, workers           int
	seed                          uint64
	format, show, out             string
}

// herdReport is a result that can be shown.
type herdReport interface {
	WriteText(w io.Writer, show string) error
	WriteJSON(w io.Writer) error
	WriteCSV(w io.Writer, show string) error
	WriteSVG(w io.Writer, show string) error
}

var herdFormats = []string{"text", "json", "csv", "svg"}

func newHerd() *cobra.Command {
	f := new(herdFlags)
	cmd := &cobra.Command{
		Use:   "herd",
		Short: "Simulate many clients that retry at once",
		Long: `Herd lets clients write one row under optimistic concurrency, on virtual time:
read the version, write with it, and if somebody else wrote meanwhile wait and
begin again. It shows how many write calls that takes and how long, by backoff
strategy, next to the published means.

Of a server of limited capacity see "explore herd capacity", of layers that each
retry the one below "explore herd layers".`,
		Example: `  explore herd
  explore herd --show arrivals
  explore herd --clients 10000 --repetitions 1
  explore herd --strategies none,full --repetitions 1000 --format csv
  explore herd --format svg --out herd.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.race(cmd) },
	}
	f.sweepFlags(cmd, 100)
	f.outputFlags(cmd, herd.Means, herd.Arrivals)
	cmd.AddCommand(newCapacity(), newLayers())
	return cmd
}

// sweepFlags are those of a sweep over strategies and numbers of clients.
func (f *herdFlags) sweepFlags(cmd *cobra.Command, repetitions int) {
	var names []string
	for _, s := range herd.Published {
		names = append(names, string(s))
	}
	fl := cmd.Flags()
	fl.IntSliceVar(&f.clients, "clients", []int{10, 50, 100}, "numbers of clients")
	fl.StringSliceVar(&f.strategies, "strategies", names, "backoff strategies; also jitter25")
	fl.IntVar(&f.repetitions, "repetitions", repetitions, "of each strategy with each number of clients")
	fl.DurationVar(&f.base, "base", 5*time.Millisecond, "base of the backoff")
	fl.DurationVar(&f.cap, "cap", 2*time.Second, "cap of the backoff, before jitter10")
	fl.IntVar(&f.firstRetry, "first-retry", 2, "number of a client's first retry: 1 waits the base, 2 twice the base, as the published simulation")
	fl.IntVar(&f.workers, "workers", 0, "worker threads (default: one a core); the result does not depend on it")
	f.networkFlags(cmd)
	complete(cmd, "strategies", append(names, string(retry.Jitter25))...)
}

func (f *herdFlags) networkFlags(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.DurationVar(&f.delayMean, "delay-mean", 10*time.Millisecond, "one-way delay of a message: |N(mean, sd)|")
	fl.DurationVar(&f.delaySD, "delay-sd", 2*time.Millisecond, "its standard deviation")
	fl.Uint64Var(&f.seed, "seed", 1, "of all that is drawn")
}

// outputFlags are the flags of what is shown, and where.
func (f *herdFlags) outputFlags(cmd *cobra.Command, shows ...string) {
	cmd.Flags().StringVar(&f.format, "format", "text", strings.Join(herdFormats, ", "))
	cmd.Flags().StringVar(&f.out, "out", "", "file for the report (default: standard output)")
	complete(cmd, "format", herdFormats...)
	if len(shows) > 0 {
		cmd.Flags().StringVar(&f.show, "show", shows[0], strings.Join(shows, " or ")+"; json has both")
		complete(cmd, "show", shows...)
	}
}

// check refuses what no simulation takes. A list of shows that is empty means
// that the command has no --show.
func (f *herdFlags) check(shows ...string) error {
	if !slices.Contains(herdFormats, f.format) {
		return fmt.Errorf("--format %q: one of %s was expected", f.format, strings.Join(herdFormats, ", "))
	}
	if len(shows) > 0 && !slices.Contains(shows, f.show) {
		return fmt.Errorf("--show %q: %s was expected", f.show, strings.Join(shows, " or "))
	}
	if f.workers < 0 {
		return fmt.Errorf("--workers %d: 0 or more was expected", f.workers)
	}
	if f.delayMean < 0 || f.delaySD < 0 {
		return errors.New("--delay-mean, --delay-sd: 0 or more was expected")
	}
	if f.out == "" {
		return nil
	}
	if _, err := os.Stat(filepath.Dir(f.out)); err != nil { // before the work, not after it
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// checkSweep refuses what sweeps do not take, and reads the strategies.
func (f *herdFlags) checkSweep(shows ...string) ([]retry.Strategy, error) {
	if f.repetitions < 1 || f.firstRetry < 1 {
		return nil, errors.New("--repetitions, --first-retry: 1 or more was expected")
	}
	if f.base <= 0 || f.cap <= 0 {
		return nil, errors.New("--base, --cap: more than 0 was expected")
	}
	if len(f.clients) == 0 || len(f.strategies) == 0 {
		return nil, errors.New("--clients, --strategies: one or more was expected")
	}
	var strategies []retry.Strategy
	for _, name := range f.strategies {
		s, err := retry.ParseStrategy(name)
		if err != nil {
			return nil, err
		}
		strategies = append(strategies, s)
	}
	return strategies, f.check(shows...)
}

// orNone is d, or what herd takes for none at all.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

func (f *herdFlags) race(cmd *cobra.Command) error {
	strategies, err := f.checkSweep(herd.Means, herd.Arrivals)
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr())
	result, err := herd.Race{
		Clients: f.clients, Strategies: strategies, Repetitions: f.repetitions, Base: f.base, Cap: f.cap,
		DelayMean: orNone(f.delayMean), DelaySD: orNone(f.delaySD), FirstRetry: f.firstRetry,
		Seed: f.seed, Workers: f.workers, Progress: progress.repetitions,
	}.Run(cmd.Context())
	progress.clear()
	if err != nil {
		return err
	}
	return f.report(cmd, result, result.Interrupted)
}

// report shows a result in the format and place asked for.
func (f *herdFlags) report(cmd *cobra.Command, result herdReport, interrupted bool) error {
	write := func(w io.Writer) error {
		switch f.format {
		case "json":
			return result.WriteJSON(w)
		case "csv":
			return result.WriteCSV(w, f.show)
		case "svg":
			return result.WriteSVG(w, f.show)
		}
		return result.WriteText(w, f.show)
	}
	var err error
	if f.out == "" {
		err = write(cmd.OutOrStdout())
	} else if err = wholefile.Write(f.out, write); err != nil {
		err = fmt.Errorf("--out: %w", err)
	}
	if err == nil && interrupted {
		err = exit(exitUnknown)
	}
	return err
}
