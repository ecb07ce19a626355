package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"exactlyone/flake"
)

// filterFlags choose runs and tests of a store.
type filterFlags struct {
	labels, revs       []string
	since, until, test string
}

func (f *filterFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringArrayVar(&f.labels, "label", nil, "key=value: runs with this label only; may be given several times")
	fl.StringArrayVar(&f.revs, "rev", nil, "runs of this revision only; may be given several times")
	fl.StringVar(&f.since, "since", "", "runs at this time or later: 2026-01-31, RFC 3339, or 48h, 14d before now")
	fl.StringVar(&f.until, "until", "", "runs before this time")
	fl.StringVar(&f.test, "test", "", "tests whose name, as shown, matches this regular expression")
}

// filter checks the flags.
func (f *filterFlags) filter() (c flake.Filter, err error) {
	if _, err := flake.JoinLabels(f.labels); err != nil {
		return c, fmt.Errorf("--label: %w", err)
	}
	c = flake.Filter{Labels: f.labels, Revisions: f.revs}
	if c.Since, err = moment("since", f.since); err != nil {
		return c, err
	}
	if c.Until, err = moment("until", f.until); err != nil {
		return c, err
	}
	if f.test != "" {
		pattern, err := regexp.Compile(f.test)
		if err != nil {
			return c, fmt.Errorf("--test %q: a regular expression was expected: %w", f.test, err)
		}
		c.Match = func(t flake.Identity) bool { return pattern.MatchString(t.String()) }
	}
	return c, nil
}

// known says which label or revision of a filter no run of the store has: it is mistyped.
func known(ctx context.Context, store *flake.Store, c flake.Filter) error {
	for _, l := range c.Labels {
		if n, err := store.Count(ctx, flake.Filter{Labels: []string{l}}); err != nil || n == 0 {
			return cmp.Or(err, fmt.Errorf("label %s: no run of the store has it", l))
		}
	}
	for _, r := range c.Revisions {
		if n, err := store.Count(ctx, flake.Filter{Revisions: []string{r}}); err != nil || n == 0 {
			return cmp.Or(err, fmt.Errorf("--rev %s: no run of the store is of this revision", r))
		}
	}
	return nil
}
