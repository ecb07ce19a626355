package exactlyone

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// tally counts what the random programs exercised, so that the comparison
// cannot pass because nothing happened.
type tally struct {
	programs, regenerated, unreduced   int
	executions, states, ends           int
	crashed, jumped, stored, remembers int
	mattered, merged, opaque           int
	violated                           [4]int // by the least number of faults
	holds                              int
}

func (c *tally) fields() []*int {
	return []*int{
		&c.programs, &c.regenerated, &c.unreduced, &c.executions, &c.states, &c.ends, &c.crashed, &c.jumped, &c.stored,
		&c.remembers, &c.mattered, &c.merged, &c.opaque, &c.violated[0], &c.violated[1], &c.violated[2], &c.violated[3], &c.holds,
	}
}

func (c *tally) add(o tally) {
	for i, f := range c.fields() {
		*f += *o.fields()[i]
	}
}

func (c tally) String() string {
	return fmt.Sprintf("%d programs followed, %d executions, %d ends; %d were too large, of which %d compared with the unreduced search\n"+
		"crash changed an outcome %d, jump changed an outcome %d, tokens in rows %d, node memory %d, it changed an outcome %d, merged states %d, interchangeable %d\n"+
		"broken with 0, 1, 2, more faults %d, held %d",
		c.programs, c.executions, c.ends, c.regenerated, c.unreduced,
		c.crashed, c.jumped, c.stored, c.remembers, c.mattered, c.merged, c.opaque, c.violated, c.holds)
}

// program counts one program that was compared with all its executions; tree
// is the number of states in the tree of executions.
func (c *tally) program(p *program, all, plain *facts, tree int) {
	c.programs++
	c.executions += all.executions
	c.ends += len(all.ends)
	c.states += plain.states
	if all.first.faults < 0 {
		c.holds++
	} else {
		c.violated[min(all.first.faults, 3)]++
	}
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	count(&c.merged, plain.states < tree)
	count(&c.opaque, p.symmetric() && len(p.clients) > 1)
	count(&c.crashed, p.bounds.Crashes > 0 && differs(p, all, func(o *program) { o.bounds.Crashes = 0 }))
	count(&c.jumped, p.bounds.Jumps > 0 && differs(p, all, func(o *program) { o.bounds.Jumps = 0 }))
	stored := false
	for _, e := range all.ends {
		stored = stored || strings.Contains(strings.Join(e.stores, ""), "~c")
	}
	count(&c.stored, stored)
	count(&c.remembers, p.remembers)
	count(&c.mattered, p.remembers && differs(p, all, func(o *program) { o.amnesia = true }))
}

// differs says whether a changed program has other ends.
func differs(p *program, all *facts, change func(*program)) bool {
	other := *p
	change(&other)
	tab, err := newTables(other.system(), other.bounds)
	if err != nil {
		return false
	}
	f := newFacts(len(tab.props))
	if statesUpTo(newWorld(tab, reductions{}), f, maxStates()) >= maxStates() {
		return true // it was small before
	}
	return !maps.Equal(f.classes(under{}, 0), all.classes(under{}, 0))
}

// check fails the test where too little was exercised.
func (c tally) check(t *testing.T) {
	t.Helper()
	for _, part := range []struct {
		what      string
		n, of1000 int
	}{
		{"crashes that changed an outcome", c.crashed, 50},
		{"jumps that changed an outcome", c.jumped, 50},
		{"tokens in rows", c.stored, 200},
		{"node memory that changed an outcome", c.mattered, 50},
		{"merged states", c.merged, 500},
		{"interchangeable clients", c.opaque, 200},
		{"violations without a fault", c.violated[0], 100},
		{"violations with one fault", c.violated[1], 40},
		{"violations with two faults", c.violated[2], 5},
		{"programs that hold", c.holds, 100},
	} {
		if part.n*1000 < part.of1000*c.programs {
			t.Errorf("%s: %d of %d programs, at least %d in 1000 were expected", part.what, part.n, c.programs, part.of1000)
		}
	}
}
