package exactlyone

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// ending is the state in which an execution ends. Left out are only the time
// and the budgets: how late it is, and what else could have gone wrong, is of
// no consequence once everybody is done. What the time did is in the stores.
type ending struct {
	stores  []string
	clients []string
	props   string
	effects []model.Effect
	serial  bool // an execution comes here without faults, one client after the other
	faults  int  // in the execution that comes here with fewest
}

// end notes the state in which an execution ends.
func (f *facts) end(w *world, v []uint32, s story) {
	id := fmt.Append(nil, v[atProps], w.shared(v))
	for c := range w.clients {
		p := w.clientStands(v, c)
		id = fmt.Append(id, " ", p.OpID, p.ResultID)
	}
	if had, ok := f.known[string(id)]; ok {
		had.faults = min(had.faults, s.faults)
		had.serial = had.serial || serially(w, s)
		return
	}
	e := &ending{props: w.values.Key(v[atProps]), faults: s.faults, serial: serially(w, s), effects: w.effectsIn(w.shared(v))}
	for _, id := range w.shared(v) {
		e.stores = append(e.stores, w.values.Value(id).(State).String())
	}
	for c := range w.clients {
		p := w.clientStands(v, c)
		e.clients = append(e.clients, p.String())
	}
	f.known[string(id)] = e
	f.ends[e.String()] = e
}

// serial confines a program to what comes about without faults and with one
// switch for each client but the first.
const serial = 100

func serially(w *world, s story) bool {
	return w.live != nil && s.faults == 0 && s.switches < w.clients
}

func (e *ending) String() string {
	return strings.Join(e.stores, "") + strings.Join(e.clients, "\n") + "\n" + e.props
}

// under says which endings a reduction takes for one another.
type under struct {
	// Exchanging clients, and with them their names in every token.
	exchange bool
	// Numbering the tokens of one client differently. A crash that is moved
	// before a silent step comes before the ids that the dead request drew
	// after that step, and so do all numbers drawn later. A fresh id can only be
	// compared for equality, so which number it has says nothing.
	renumber bool
}

func (r reductions) takes(opaque bool) under {
	return under{exchange: r.symmetry && opaque, renumber: r.crashes}
}

// classes is the endings, one text for those that are one, each with the
// smallest number of faults.
func (f *facts) classes(u under, clients int) map[string]int {
	all := map[string]int{}
	for text, e := range f.ends {
		if u != (under{}) {
			text = e.class(u, clients)
		}
		if had, ok := all[text]; !ok || e.faults < had {
			all[text] = e.faults
		}
	}
	return all
}

// class is the least text among those of the endings that are taken for e.
func (e *ending) class(u under, clients int) string {
	perms := permutations(clients)
	if !u.exchange {
		perms = perms[:1]
	}
	var least string
	for i, perm := range perms {
		other := ending{clients: make([]string, clients), props: sortLines(rename(e.props, perm))}
		for _, s := range e.stores {
			other.stores = append(other.stores, rename(s, perm))
		}
		for c, text := range e.clients {
			other.clients[perm[c]] = rename(text, perm)
		}
		text := other.String()
		if u.renumber {
			text = renumber(text)
		}
		if i == 0 || text < least {
			least = text
		}
	}
	return least
}

var (
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	tokened = regexp.MustCompile(`~c(\d)\.\d+~`)
)

// sortLines sorts the lines in every string of a property state: sets are kept
// sorted, and exchanging names spoils the order.
func sortLines(text string) string {
	return quoted.ReplaceAllStringFunc(text, func(s string) string {
		lines := strings.Split(s[1:len(s)-1], `\n`)
		slices.Sort(lines)
		return strings.Join(lines, `\n`)
	})
}

// renumber numbers the tokens of each client in the order in which they appear.
func renumber(text string) string {
	names, next := map[string]string{}, map[string]int{}
	return tokened.ReplaceAllStringFunc(text, func(s string) string {
		if names[s] == "" {
			c := s[2:3]
			next[c]++
			names[s] = fmt.Sprintf("~c%s.%d~", c, next[c])
		}
		return names[s]
	})
}

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

// compareProgram compares the unreduced search with all executions, unless
// they are too many, and then every reduced search.
func compareProgram(p *program, count *tally) (small bool, err error) {
	tab, err := newTables(p.system(), p.bounds)
	if err != nil {
		return false, err
	}
	memo := newFacts(len(tab.props))
	tree := interleave.Naive(context.Background(), interleave.Config{},
		&follower{world: newWorld(tab, reductions{}), f: memo, limit: *capFlag}, true)
	if small = tree.Executions() < *capFlag; !small {
		memo = newFacts(len(tab.props))
		if !p.large || statesUpTo(newWorld(tab, reductions{}), memo, maxStates()) >= maxStates() {
			return false, nil
		}
	}
	if p.confined >= 0 && (small || p.confined < serial) {
		if p.confined == serial {
			if memo, err = naively(p, 2**capFlag); err != nil {
				return false, err
			}
		}
		p.confine(memo)
		if tab, err = newTables(p.system(), p.bounds); err != nil {
			return false, err
		}
	}
	want, err := searched(tab, reductions{})
	if err != nil {
		return false, fmt.Errorf("no reduction: %w", err)
	}
	if small {
		plain := want
		if want, err = compareSmall(p, tab, plain); err != nil {
			return false, err
		}
		count.program(p, want, plain, tree.States)
	} else {
		count.unreduced++
	}
	for _, reduce := range allReductions {
		got, err := searched(tab, reduce)
		if err == nil {
			err = got.compare(want, reduce.takes(p.opaque), len(p.clients))
		}
		if err != nil {
			return false, fmt.Errorf("%+v: %w", reduce, err)
		}
	}
	return small, nil
}

// compareSmall compares two searches without reductions, with and without a set
// of states seen, with all executions run for real.
func compareSmall(p *program, tab *tables, plain *facts) (want *facts, err error) {
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
	if err := plain.compare(want, under{}, len(p.clients)); err != nil {
		return nil, fmt.Errorf("no reduction: %w", err)
	}
	return want, nil
}

// maxStates is up to how many states a program that is too large to follow all
// its executions is searched.
func maxStates() int { return 3 * *capFlag }

// statesUpTo searches at most about limit states and says how many it found.
func statesUpTo(w *world, f *facts, limit int) int {
	fw := &follower{world: w, f: f, limit: limit}
	interleave.Explore(context.Background(), interleave.Config{Workers: 1, Visit: func([]uint32) { fw.visited++ }}, fw)
	return fw.visited
}

// compare says how f differs from want.
func (f *facts) compare(want *facts, u under, clients int) error {
	got, wanted := f.classes(u, clients), want.classes(u, clients)
	for _, text := range slices.Sorted(maps.Keys(wanted)) {
		faults, ok := got[text]
		if !ok {
			return fmt.Errorf("this end is missing, reached with %d faults:\n%s", wanted[text], text)
		}
		if faults != wanted[text] {
			return fmt.Errorf("this end was reached with %d faults, want %d:\n%s", faults, wanted[text], text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(got)) {
		if _, ok := wanted[text]; !ok {
			return fmt.Errorf("this end cannot be reached:\n%s", text)
		}
	}
	if !slices.Equal(f.least, want.least) {
		return fmt.Errorf("properties are broken with %d faults, want %d", f.least, want.least)
	}
	if f.first != want.first {
		return fmt.Errorf("the minimal violation is %+v, want %+v", f.first, want.first)
	}
	return nil
}

// confine makes it the program's only property to end with nothing in the
// stores that p.confined faults cannot bring about, or one client after the
// other. So more faults or switches are needed to break it.
func (p *program) confine(f *facts) {
	allowed := map[string]bool{}
	for _, e := range f.ends {
		if e.serial || e.faults <= p.confined && p.confined < serial {
			allowed[renumber(fmt.Sprint(e.effects))] = true
		}
	}
	confined := props.New("confined", fmt.Sprintf("the stores end as they can with at most %d faults (%d: in series)", p.confined, serial),
		func(struct{}, model.Told) (s struct{}) { return s },
		func(_ struct{}, v props.View) (bool, string) {
			return v.End, broken(v.End && !allowed[renumber(fmt.Sprint(v.Effects))])
		})
	p.props = []props.Property{confined}
}
