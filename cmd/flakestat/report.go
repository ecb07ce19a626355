package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"exactlyone/flake"
	"exactlyone/internal/wholefile"
)

// reportFlags are the flags of report.
type reportFlags struct {
	filterFlags
	store, format, out string
	confidence, target float64
	retries, top       int
	all                bool
}

func newReport() *cobra.Command {
	f := new(reportFlags)
	cmd := &cobra.Command{
		Use:   "report",
		Short: "Rank tests by how flaky they are for certain",
		Long: `Report ranks the tests of the store by the lower bound on their failure rate: the
first one is the one that is flaky for certain. Each comes with its failures and
runs, exact bounds, how retries ended, a warning if its runs depend on one another,
what failed together with it, and its distinct failure messages, numbers, addresses,
hexadecimal digits, paths and UUIDs masked. Then comes the chance that a run of the
whole suite fails, and what retries would hide.

With --target the exit status is 0 if every test is certified to fail at most so
often, 1 if one fails more often, and 3 if there are too few runs to tell. Without,
it is 0. It is 3 if no run is in the store, or none passes the filters.`,
		Example: `  flakestat report
  flakestat report --target 0.01 --label os=linux
  flakestat report --since 14d --test 'shop/cart'
  flakestat report --format html --out flaky.html
  flakestat report --format markdown >> "$GITHUB_STEP_SUMMARY"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.report(cmd) },
	}
	fl := cmd.Flags()
	storeFlag(cmd, &f.store)
	f.add(cmd)
	fl.Float64Var(&f.target, "target", 0, "failure rate that no test may exceed, between 0 and 1")
	fl.IntVar(&f.retries, "retries", 3, "up to how many retries to say what they would hide")
	fl.IntVar(&f.top, "top", 0, "show this many tests (default: those that failed)")
	fl.BoolVar(&f.all, "all", false, "show all tests")
	fl.StringVar(&f.out, "out", "", "file to write to (default: standard output)")
	confidenceFlag(cmd, &f.confidence)
	formatFlag(cmd, &f.format, "text", "json", "markdown", "html")
	return cmd
}

// config checks the flags.
func (f *reportFlags) config(cmd *cobra.Command) (c flake.Config, err error) {
	c = flake.Config{Confidence: f.confidence, Target: f.target, Retries: f.retries}
	if c.Filter, err = f.filter(); err != nil {
		return c, err
	}
	if err := between("confidence", f.confidence); err != nil {
		return c, err
	}
	if cmd.Flags().Changed("target") {
		if err := between("target", f.target); err != nil {
			return c, err
		}
	}
	if f.retries < 1 || f.retries > 100 {
		return c, fmt.Errorf("--retries %d: 1 to 100 was expected", f.retries)
	}
	if f.top < 0 || f.top > 0 && f.all {
		return c, fmt.Errorf("--top %d: 1 or more was expected, without --all", f.top)
	}
	return c, nil
}

func (f *reportFlags) report(cmd *cobra.Command) error {
	c, err := f.config(cmd)
	if err != nil {
		return err
	}
	r, err := readStore(cmd, f.store, func(store *flake.Store, progress func(done, total int)) (*flake.Report, error) {
		c.Progress = progress
		return store.Report(cmd.Context(), c)
	})
	if err != nil {
		return err
	}
	if err := f.write(cmd, r); err != nil {
		return err
	}
	return f.code(r)
}

// readStore reads from a store that must exist, and shows how many runs were read.
func readStore[T any](cmd *cobra.Command, path string, read func(*flake.Store, func(done, total int)) (T, error)) (T, error) {
	store, err := openStore(cmd, path)
	if err != nil {
		var none T
		return none, err
	}
	progress := newProgress(cmd.ErrOrStderr())
	got, err := read(store, func(done, total int) { progress.show("%d of %s", done, plural(total, "run")) })
	progress.clear()
	return got, errors.Join(err, store.Close())
}

// openStore opens a store that must exist.
func openStore(cmd *cobra.Command, path string) (*flake.Store, error) {
	store, err := flake.Open(cmd.Context(), path, flake.Options{})
	if errors.Is(err, flake.ErrNoStore) {
		return nil, fmt.Errorf(`%s: no store is there; "flakestat ingest" makes one, --store names another`, path)
	}
	return store, err
}

func (f *reportFlags) write(cmd *cobra.Command, r *flake.Report) error {
	o := flake.TextOptions{Color: f.out == "" && colored(cmd.OutOrStdout()), Top: f.top, All: f.all}
	to := func(w io.Writer) error {
		switch f.format {
		case "json":
			return r.WriteJSON(w)
		case "markdown":
			return r.WriteMarkdown(w, o)
		case "html":
			return r.WriteHTML(w)
		}
		return r.WriteText(w, o)
	}
	if f.out != "" {
		if err := wholefile.Write(f.out, to); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		return nil
	}
	return writeOnce(cmd.OutOrStdout(), to)
}

// writeOnce writes at once, so that no half an answer appears.
func writeOnce(out io.Writer, to func(io.Writer) error) error {
	var b bytes.Buffer
	if err := to(&b); err != nil {
		return err
	}
	_, err := out.Write(b.Bytes())
	return err
}

// code is the exit code of a report.
func (f *reportFlags) code(r *flake.Report) error {
	ran, flaky, undecided := false, false, false
	for _, t := range slices.Concat(r.Tests, r.Whole) {
		ran = ran || t.Runs > 0
		flaky = flaky || t.OnRate == flake.TooFlaky
		undecided = undecided || t.OnRate == flake.Undecided
	}
	switch {
	case !ran:
		return exit(exitUnknown)
	case flaky:
		return exit(exitFlaky)
	case undecided:
		return exit(exitUnknown)
	}
	return nil
}
