package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"exactlyone/flake"
)

func newMerge() *cobra.Command {
	var path, format string
	cmd := &cobra.Command{
		Use:   "merge STORE...",
		Short: "Unite stores, such as those of several CI jobs",
		Long: `Merge adds the runs and fixes of each STORE to the one named by --store, which is
made if it is not there. A run that is there already, by the content of its report
and its --run-id, is left as it is: merging twice changes nothing. A store that is made
takes over the prior of the others, which must be the same.

Exit status: 0 all were merged, 2 one could not be read (the others are merged),
3 interrupted.`,
		Example: `  flakestat merge linux.db windows.db
  flakestat merge --store all.db artifacts/*/.flakestat.db`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("a STORE was expected; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return merge(cmd, path, args, format == "json") },
	}
	storeFlag(cmd, &path)
	formatFlag(cmd, &format, "text", "json")
	return cmd
}

// commonPrior is the prior rate of a store that is to be made: that of all others,
// since it must have been fixed before their first runs. 0 means that the store is
// there, or that none of the others can be read.
func commonPrior(cmd *cobra.Command, path string, others []string) (rate float64, err error) {
	if _, err := os.Stat(path); err == nil {
		return 0, nil
	}
	first := ""
	for _, other := range others {
		s, err := flake.Open(cmd.Context(), other, flake.Options{})
		if err != nil {
			continue // named when it is merged
		}
		r := s.PriorRate()
		if err := s.Close(); err != nil {
			return 0, err
		}
		if first != "" && r != rate {
			return 0, fmt.Errorf("%s has prior rate %v, %s has %v: a prior cannot be chosen after the runs; merge into one of them, or make the new store beforehand with ingest --prior-rate", first, rate, other, r)
		}
		first, rate = other, r
	}
	return rate, nil
}

// merged is what became of one store.
type merged struct {
	Store string `json:"store"`
	Runs  int    `json:"runs"`
	Known int    `json:"known"`
	Error string `json:"error,omitempty"`
}

func merge(cmd *cobra.Command, path string, others []string, asJSON bool) error {
	rate, err := commonPrior(cmd, path, others)
	if err != nil {
		return err
	}
	store, err := flake.Open(cmd.Context(), path, flake.Options{Create: true, PriorRate: rate})
	if err != nil {
		return err
	}
	progress := newProgress(cmd.ErrOrStderr())
	bad := false
	done := []merged{}
	for i, other := range others {
		progress.show("%d of %s: %s", i+1, plural(len(others), "store"), other)
		got, err := store.Merge(cmd.Context(), other)
		progress.clear()
		if cmd.Context().Err() != nil {
			return errors.Join(cmd.Context().Err(), store.Close())
		}
		m := merged{Store: other, Runs: got.Runs, Known: got.Known}
		if err != nil {
			bad, m.Error = true, trimmed(err)
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "flakestat: %s\n", m.Error)
		} else if !asJSON {
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s added, %d known already\n", other, plural(got.Runs, "report"), got.Known); err != nil {
				return errors.Join(err, store.Close())
			}
		}
		done = append(done, m)
	}
	if err := store.Close(); err != nil {
		return err
	}
	if asJSON {
		if err := writeJSON(cmd.OutOrStdout(), map[string]any{"store": path, "merged": done}); err != nil {
			return err
		}
	}
	if bad {
		return exit(exitUsage)
	}
	return nil
}
