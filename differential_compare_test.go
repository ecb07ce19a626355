package exactlyone

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"testing"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// compareSeed compares the programs of one seed: larger ones only with the
// unreduced search, until one is small enough to be compared with all its
// executions.
func compareSeed(t *testing.T, seed uint64, count *tally) {
	var p *program
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v\n%s\n%s", r, p, debug.Stack())
		}
	}()
	for level := 0; ; level++ {
		p = newProgram(seed, level)
		small, err := compareProgram(p, count)
		if err != nil {
			t.Errorf("%v\n%s\nrerun: go test -run TestDifferential . -args -programs 1 -seed %d -cap %d", err, p, seed, *capFlag)
			return
		}
		if small {
			return
		}
		count.regenerated++
	}
}

// compareProgram compares the searches with all executions or, where they are
// too many, with a search that takes no two states for one another.
func compareProgram(p *program, count *tally) (small bool, err error) {
	tab, err := newTables(p.system(), p.bounds)
	if err != nil {
		return false, err
	}
	all := newFacts(len(tab.props))
	tree := interleave.Naive(context.Background(), interleave.Config{},
		&follower{world: newWorld(tab, reductions{}), f: all, limit: *capFlag}, true)
	if small = tree.Executions() < *capFlag; !small {
		all = newFacts(len(tab.props))
		if !p.large || statesUpTo(newWorld(tab, reductions{}), all, maxStates()) >= maxStates() {
			return false, nil
		}
	}
	if p.confined != unconfined {
		p.confine(all)
		if tab, err = newTables(p.system(), p.bounds); err != nil {
			return false, err
		}
	}
	want, err := searched(tab, reductions{}, true)
	if err != nil {
		return false, fmt.Errorf("every state for itself: %w", err)
	}
	if small {
		exact := want
		if want, err = compareSmall(p, tab, exact); err != nil {
			return false, err
		}
		count.program(p, want, exact, tree.States)
	} else {
		count.unreduced++
	}
	return small, compareReduced(p, tab, want)
}

// compareReduced compares the searches with reductions, none of which may visit
// more states than the search without.
func compareReduced(p *program, tab *tables, want *facts) error {
	var most int
	for i, reduce := range allReductions {
		got, err := searched(tab, reduce, false)
		if err == nil {
			err = got.compare(want, reduce.takes(p.symmetric()), len(p.clients))
		}
		switch {
		case err != nil:
		case i == 0:
			most = got.states
		case got.states > most:
			err = fmt.Errorf("%d states, %d without a reduction", got.states, most)
		}
		if err != nil {
			return fmt.Errorf("%+v: %w", reduce, err)
		}
	}
	return nil
}

// compareSmall compares the search's world, with a set of states seen and
// without, with all executions run for real.
func compareSmall(p *program, tab *tables, exact *facts) (want *facts, err error) {
	if want, err = naively(p, 2**capFlag); err != nil {
		return nil, err
	}
	memo := newFacts(len(tab.props))
	r := interleave.Naive(context.Background(), interleave.Config{}, &follower{world: newWorld(tab, reductions{}), f: memo}, true)
	if r.Executions() != want.executions {
		return nil, fmt.Errorf("naive search: %d executions, want %d", r.Executions(), want.executions)
	}
	memo.first = want.first // a naive search looks for no minimal violation
	if err := memo.compare(want, under{}, len(p.clients)); err != nil {
		return nil, fmt.Errorf("naive search: %w", err)
	}
	if err := exact.compare(want, under{}, len(p.clients)); err != nil {
		return nil, fmt.Errorf("every state for itself: %w", err)
	}
	return want, nil
}

// maxStates is up to how many states a program that is too large to follow all
// its executions is searched.
func maxStates() int { return 8 * *capFlag }

// statesUpTo searches at most about limit states and says how many it found.
func statesUpTo(w *world, f *facts, limit int) int {
	fw := &follower{world: w, f: f, limit: limit}
	interleave.Explore(context.Background(), interleave.Config{Workers: 1, Visit: func([]uint32) { fw.visited++ }}, fw)
	return fw.visited
}

// confine gives the program a single property: that the stores end as p.confined
// faults at most can bring about, or never in one of the ways in which they can
// end. So more faults and switches are needed to break it.
func (p *program) confine(f *facts) {
	listed := map[string]bool{}
	claim := fmt.Sprintf("the stores end as they can with at most %d faults", p.confined)
	if p.confined == avoiding {
		texts := slices.Sorted(maps.Keys(f.ends))
		if p.seed%2 == 0 { // one that takes many faults
			slices.SortStableFunc(texts, func(a, b string) int { return f.ends[a].faults - f.ends[b].faults })
			texts = texts[len(texts)/2:]
		}
		e := f.ends[texts[p.seed%uint64(len(texts))]]
		for i, perm := range permutations(len(p.clients)) {
			if i == 0 || p.symmetric() {
				listed[renumber(rename(fmt.Sprint(e.effects), perm))] = true
			}
		}
		claim = fmt.Sprint("the stores do not end as ", e.effects)
	} else {
		for _, e := range f.ends {
			if e.faults <= p.confined {
				listed[renumber(fmt.Sprint(e.effects))] = true
			}
		}
	}
	confined := props.New("confined", claim,
		func(struct{}, model.Told) (s struct{}) { return s },
		func(_ struct{}, v props.View) (bool, string) {
			return v.End, broken(v.End && listed[renumber(fmt.Sprint(v.Effects))] == (p.confined == avoiding))
		})
	p.props = []props.Property{confined}
}
