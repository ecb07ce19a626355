package exactlyone

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"exactlyone/model"
)

// ending is the state in which an execution ends. Left out are only the time
// and the budgets: how late it is, and what else could have gone wrong, is of
// no consequence once everybody is done. What the time did is in the stores.
type ending struct {
	stores  []string
	clients []string
	props   string
	effects []model.Effect
	faults  int // in the execution that comes here with fewest
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
		return
	}
	e := &ending{props: w.values.Key(v[atProps]), faults: s.faults, effects: effectsOf(w, v)}
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

func (r reductions) takes(symmetric bool) under {
	return under{exchange: r.symmetry && symmetric, renumber: r.crashes}
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
