package main

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"exactlyone/flake"
)

func newShow() *cobra.Command {
	var path, format string
	var last int
	var whole bool
	cmd := &cobra.Command{
		Use:   "show TEST",
		Short: "Show what a test printed when it failed",
		Long: fmt.Sprintf(`Show prints what is stored of the latest failures of a test: which run it was, when, how
its process ended, and what the test printed, up to 4 KiB. With --whole it prints what the
command printed, up to 64 KiB of each run, which flakestat run keeps of the latest %d
failing runs of each test. TEST is the test as a report shows it, or its name alone if no
other has it.`, flake.KeptOutputs),
		Example: `  flakestat show TestCheckout
  flakestat show 'example.test/shop/cart > TestTotals' --last 1 --whole
  flakestat show TestCheckout --format json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("one TEST was expected, found %d arguments; see %s --help", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if last < 1 {
				return fmt.Errorf("--last %d: 1 or more was expected", last)
			}
			store, err := openStore(cmd, path)
			if err != nil {
				return err
			}
			list, all, err := store.Show(cmd.Context(), args[0], last)
			if err := errors.Join(err, store.Close()); err != nil {
				return err
			}
			var b bytes.Buffer
			if format == "json" {
				err = writeJSON(&b, struct {
					Failures int             `json:"failing_runs"`
					Latest   []flake.Failure `json:"latest"`
				}{all, append([]flake.Failure{}, list...)})
			} else {
				err = showText(&b, list, all, whole, flake.TextOptions{Color: colored(cmd.OutOrStdout())})
			}
			_, e := cmd.OutOrStdout().Write(b.Bytes())
			return errors.Join(err, e)
		},
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		store, err := openStore(cmd, path)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		tests, err := store.Tests(cmd.Context())
		if err := errors.Join(err, store.Close()); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for _, t := range tests {
			names = append(names, t.String())
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	storeFlag(cmd, &path)
	cmd.Flags().IntVar(&last, "last", 3, "how many failing runs to show, the latest first")
	cmd.Flags().BoolVar(&whole, "whole", false, "show what the whole command printed")
	formatFlag(cmd, &format, "text", "json")
	return cmd
}

func showText(b *bytes.Buffer, list []flake.Failure, all int, whole bool, o flake.TextOptions) error {
	if all == 0 {
		b.WriteString("it never failed\n")
	}
	for _, x := range list {
		if err := x.WriteText(b, o, whole); err != nil {
			return err
		}
	}
	if more := all - len(list); more > 0 {
		fmt.Fprintf(b, "and %s, see --last\n", plural(more, "earlier failing run"))
	}
	return nil
}
