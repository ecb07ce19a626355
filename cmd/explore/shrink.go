package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"exactlyone"
)

func newShrink() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "shrink FILE",
		Short: "Make a story smaller",
		Long: `Shrink makes the story in a file smaller: fewer faults, milder faults, fewer
context switches, fewer steps, in this order, as long as it breaks the same
property. It says whether the result is minimal or merely shrunk, and writes it to
another file, FILE with .min before its ending unless --out says otherwise. FILE may
be - for standard input.`,
		Example: `  explore shrink key_split.trace.json
  explore shrink key_split.trace.json --out small.json`,
		Args: oneArg("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return shrink(cmd, args[0], out) },
	}
	cmd.Flags().StringVar(&out, "out", "", `file for the smaller story; "none" writes no file`)
	return cmd
}

func shrink(cmd *cobra.Command, path, out string) error {
	t, err := readTrace(cmd.Context(), cmd.InOrStdin(), path)
	if err != nil {
		return err
	}
	sys, err := newSystem(t.System, &t.Origin)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	small, err := exactlyone.Shrink(cmd.Context(), sys, t)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if out == "" && path == "-" {
		out = t.System + ".min.json"
	} else if out == "" {
		out = strings.TrimSuffix(path, ".json") + ".min.json"
	}
	options := exactlyone.TextOptions{Color: colored(cmd.OutOrStdout())}
	if out != "none" {
		if err := small.WriteFile(out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		options.Replay = fmt.Sprintf("%s replay %s", program(), quoted(out))
	}
	if err := small.WriteText(cmd.OutOrStdout(), options); err != nil {
		return err
	}
	return exit(exitBroken)
}
