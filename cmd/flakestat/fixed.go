package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newFixed() *cobra.Command {
	var path, rev, when string
	cmd := &cobra.Command{
		Use:   "fixed TEST",
		Short: "Count a test anew, from the revision that mended it on",
		Long: `Fixed starts the count of a test anew: reports count it from the first stored run of
the revision on or, if there is none yet, from now on. What came before stays in the
store. TEST is the test as a report shows it, or its name alone if no other has it.`,
		Example: `  flakestat fixed TestCheckout --rev v1.2
  flakestat fixed 'example.test/shop/cart > TestTotals/two_items'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("one TEST was expected, found %d arguments; see %s --help", len(args), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := moment("time", when)
			if err != nil {
				return err
			}
			if when == "" {
				at = now()
			}
			revision := revision(cmd, rev)
			if revision == "" {
				return errors.New("--rev: a revision was expected; git does not tell one here")
			}
			store, err := openStore(cmd, path)
			if err != nil {
				return err
			}
			tests, err := store.Fix(cmd.Context(), args[0], revision, at)
			if err := errors.Join(err, store.Close()); err != nil {
				return err
			}
			for _, t := range tests {
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: counted anew since %s\n", t, revision); err != nil {
					return err
				}
			}
			return nil
		},
	}
	storeFlag(cmd, &path)
	cmd.Flags().StringVar(&rev, "rev", "", "revision that mended the test (default: HEAD of git)")
	cmd.Flags().StringVar(&when, "time", "", "time of the mark (default: now)")
	return cmd
}
