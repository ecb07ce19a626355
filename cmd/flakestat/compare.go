package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"exactlyone/flake"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	store, test, since, until, format string
	labels                            []string
	confidence                        float64
	anytime, all                      bool
}

func newCompare() *cobra.Command {
	f := new(compareFlags)
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Say whether tests fail less often on B than on A, or more often",
		Long: `Compare sets the runs of B against those of A, test by test, and says with its exit
status what B is:

  0  better: some test fails less often, and none more often
  1  worse: some test fails more often
  2  wrong usage or input
  3  the runs cannot tell; it says how many more on each side could

A and B are each a file that holds a store, a label as key=value, or a revision: as it
was stored, or as git resolves it.

Without --test all tests are compared, and corrected for by Holm's method. --test names
one beforehand, which takes fewer runs to tell. The test is Boschloo's, or Fisher's for
more than 2,000 runs: it assumes that the numbers of runs were fixed beforehand. Who
looks again after more runs needs --anytime.`,
		Example: `  flakestat compare v1.0 v1.1
  flakestat compare HEAD~1 HEAD --test TestCheckout
  flakestat compare os=linux os=windows --since 14d
  flakestat compare before.db after.db --format json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("two sides A and B were expected, found %s; see %s --help", plural(len(args), "argument"), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: f.complete,
		RunE:              f.compare,
	}
	fl := cmd.Flags()
	storeFlag(cmd, &f.store)
	fl.StringVar(&f.test, "test", "", "the one test to compare, as a report shows it or by its name")
	fl.StringArrayVar(&f.labels, "label", nil, "key=value: runs with this label only, on both sides; may be given several times")
	fl.StringVar(&f.since, "since", "", "runs at this time or later: 2026-01-31, RFC 3339, or 48h, 14d before now")
	fl.StringVar(&f.until, "until", "", "runs before this time")
	fl.BoolVar(&f.anytime, "anytime", false, "the numbers of runs were not fixed beforehand")
	fl.BoolVar(&f.all, "all", false, "show tests that never failed, too")
	fl.Float64Var(&f.confidence, "confidence", 0.95, "chance that no verdict is wrong, between 0 and 1")
	formatFlag(cmd, &f.format, "text", "json")
	return cmd
}

func (f *compareFlags) compare(cmd *cobra.Command, args []string) (err error) {
	if err := between("confidence", f.confidence); err != nil {
		return err
	}
	common := filterFlags{labels: f.labels, since: f.since, until: f.until}
	base, err := common.filter()
	if err != nil {
		return err
	}
	var sides [2]flake.Side
	for i, name := range args {
		if sides[i], err = f.side(cmd, name, base); sides[i].Store != nil {
			defer func() { err = errors.Join(err, sides[i].Store.Close()) }()
		}
		if err == nil {
			err = known(cmd.Context(), sides[i].Store, sides[i].Filter)
		}
		if err != nil {
			return err
		}
	}
	progress := newProgress(cmd.ErrOrStderr())
	out, err := flake.Compare(cmd.Context(), sides[0], sides[1], flake.CompareConfig{
		Test: f.test, Confidence: f.confidence, Anytime: f.anytime,
		Progress: func(done, total int) { progress.show("%d of %s", done, plural(total, "test")) },
	})
	progress.clear()
	if err != nil {
		return err
	}
	err = writeOnce(cmd.OutOrStdout(), func(w io.Writer) error {
		if f.format == "json" {
			return out.WriteJSON(w)
		}
		return out.WriteText(w, flake.TextOptions{Color: colored(cmd.OutOrStdout()), All: f.all})
	})
	if err != nil {
		return err
	}
	switch out.Verdict {
	case flake.Better:
		return nil
	case flake.Worse:
		return exit(exitFlaky)
	}
	return exit(exitUnknown)
}

// complete offers the revisions of the store, beside files.
func (f *compareFlags) complete(cmd *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	store, err := openStore(cmd, f.store)
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	stored, _ := store.Revisions(cmd.Context())
	_ = store.Close()
	delete(stored, "")
	return slices.Sorted(maps.Keys(stored)), cobra.ShellCompDirectiveDefault
}

// side finds what a name stands for: a store, a label or a revision.
func (f *compareFlags) side(cmd *cobra.Command, name string, base flake.Filter) (flake.Side, error) {
	s := flake.Side{Name: name, Filter: base}
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		s.Store, err = openStore(cmd, name)
		return s, err
	}
	store, err := openStore(cmd, f.store)
	if err != nil {
		return s, err
	}
	s.Store = store
	if strings.Contains(name, "=") {
		s.Filter.Labels = append(append([]string{}, base.Labels...), name)
		_, err := flake.JoinLabels(s.Filter.Labels)
		return s, err
	}
	stored, err := store.Revisions(cmd.Context())
	if err != nil {
		return s, err
	}
	for _, revision := range []string{name, resolved(cmd, name)} {
		if stored[revision] > 0 {
			s.Filter.Revisions = []string{revision}
			return s, nil
		}
	}
	return s, fmt.Errorf("%q: a store, a label as key=value, or a revision of which %s has runs was expected", name, f.store)
}

// resolved is the revision that git knows by a name, or nothing.
func resolved(cmd *cobra.Command, name string) string {
	out, err := gitCommand(cmd.Context(), "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
