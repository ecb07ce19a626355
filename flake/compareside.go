package flake

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Side is one of two groups of runs to compare.
type Side struct {
	Name   string // as shown
	Store  *Store
	Filter Filter // its runs; Match is not looked at
}

// subject is what is compared.
func (c *comparand) subject() Subject { return Subject{c.test, c.whole} }

// comparand is what one side has of a test, in both readings.
type comparand struct {
	test       Identity
	whole      bool
	readings   [2]counts
	unfinished int
	missing    int // runs that it lacks because its suite or command failed as a whole
}

// read counts the runs of one side, test by test in order of their names. A report that
// was seen on the other side is an error: it would count for both.
func (s Side) read(ctx context.Context, without []string, seen map[string]bool, to *ComparedSide) ([]comparand, error) {
	f := s.Filter
	f.Match = nil
	an := newAnalysis(Config{Filter: f, ignoreFixes: true}, s.Store.priorRate)
	if err := an.load(ctx, s.Store); err != nil {
		return nil, fmt.Errorf("flake: reading %s: %w", s.Store.path, plain(err))
	}
	for _, r := range an.runs {
		if seen[r.uid] {
			return nil, fmt.Errorf("flake: report %s is on both sides", r.name)
		}
	}
	for _, r := range an.runs {
		seen[r.uid] = true
	}
	to.Reports = len(an.runs)
	byTest := map[Subject]*comparand{}
	var list []*comparand
	wholes := an.wholeTallies()
	for i, t := range slices.Concat(an.order, wholes) {
		whole := i >= len(an.order)
		if t.asRuns.runs+t.unfinished == 0 {
			continue
		}
		test := t.test
		test.Labels = strings.Join(slices.DeleteFunc(strings.Split(test.Labels, ","), func(l string) bool {
			key, _, _ := strings.Cut(l, "=")
			return slices.Contains(without, key)
		}), ",")
		c := byTest[Subject{test, whole}]
		if c == nil {
			c = &comparand{test: test, whole: whole}
			byTest[Subject{test, whole}] = c
			list = append(list, c)
		}
		c.readings[0].add(t.asRuns)
		c.readings[1].add(t.asRetries)
		c.unfinished += t.unfinished
		if !whole {
			c.missing += an.missing(t)
		}
	}
	slices.SortStableFunc(list, func(x, y *comparand) int { return compareTests(x.test, y.test) })
	out := make([]comparand, len(list))
	for i, c := range list {
		out[i] = *c
	}
	return out, nil
}

// chosen keeps a test, in all its labels.
func chosen(first, second []comparand, name string) (a, b []comparand, err error) {
	known := map[Identity]bool{}
	var tests []Identity
	for _, c := range slices.Concat(first, second) {
		if !known[c.test] && !c.whole {
			known[c.test] = true
			tests = append(tests, c.test)
		}
	}
	at, err := match(tests, name)
	if err != nil {
		return nil, nil, fmt.Errorf("flake: %w", err)
	}
	if len(at) == 0 {
		return nil, nil, fmt.Errorf("flake: test %q: it ran on neither side", name)
	}
	others := func(c comparand) bool {
		return c.whole || !slices.ContainsFunc(at, func(i int) bool { return tests[i] == c.test })
	}
	return slices.DeleteFunc(first, others), slices.DeleteFunc(second, others), nil
}
