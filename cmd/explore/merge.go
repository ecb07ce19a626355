package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"exactlyone"
)

func newMerge() *cobra.Command {
	f := new(reportFlags)
	cmd := &cobra.Command{
		Use:   "merge FILE...",
		Short: "Make one report of the shards of a search",
		Long: `Merge reads the files that "explore check --shard i/n --checkpoint FILE" has
written on n machines, and reports what the search in one piece would have. It
refuses files of another build, of different searches, and shards that are missing
or there twice. A search of which a shard was cut short is at best inconclusive.`,
		Example: `  explore check key_atomic --search random --shard 1/2 --checkpoint one
  explore check key_atomic --search random --shard 2/2 --checkpoint two
  explore merge one two`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("merge: the files of all shards were expected; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.merge(cmd, args) },
	}
	f.add(cmd)
	return cmd
}

func (f *reportFlags) merge(cmd *cobra.Command, paths []string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	var files []*exactlyone.Saved
	for _, path := range paths {
		s, err := exactlyone.ReadSaved(path)
		if err != nil {
			return err
		}
		files = append(files, s)
	}
	sys, err := newSystem(files[0].System, &files[0].Origin)
	if err != nil {
		return fmt.Errorf("%s: %w", paths[0], err)
	}
	progress := newProgress(cmd.ErrOrStderr())
	o.Progress = progress.show
	result, err := exactlyone.Merge(cmd.Context(), sys, files, o)
	progress.clear()
	if err != nil {
		return err
	}
	return f.report(cmd, result, files[0].Origin, progress.seconds())
}
