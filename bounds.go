package exactlyone

import (
	"fmt"
	"strings"
)

// None stands for zero in [Bounds], where 0 means the default.
const None = -1

// Bounds is how much may go wrong, and how many take part. A zero field means
// its default; None means none. A fault that was asked for, by a number above
// zero, and found no place to strike makes the verdict vacuous.
type Bounds struct {
	Clients  int `json:"clients"`  // default 2
	Attempts int `json:"attempts"` // of each client; default 2
	Nodes    int `json:"nodes"`    // server processes; default 1
	Rounds   int `json:"rounds"`   // of each background actor; default 1

	LostAnswers      int `json:"lost_answers"`      // default 1
	CommitFaults     int `json:"commit_faults"`     // commits that err, in effect or not; default none
	StatementAnswers int `json:"statement_answers"` // replies to single statements that are lost; default none
	StoreErrors      int `json:"store_errors"`      // default none
	Calls            int `json:"calls"`             // to third parties that fail; default none
	Cancels          int `json:"cancels"`           // callers that go away; default none
	LostRequests     int `json:"lost_requests"`     // default none
	Duplicates       int `json:"duplicates"`        // requests that arrive twice; default none
	Crashes          int `json:"crashes"`           // of a server process; default 1
	Jumps            int `json:"jumps"`             // of the clock; default 2
	Skews            int `json:"skews"`             // nodes whose clock is off; default none
}

// fault is one kind of thing that can go wrong. Each has a file of its own,
// fault_*.go, and its place in [faults]. Who, slot and arg are its own: which
// client or node, which delivery, which of its variants.
type fault interface {
	// about is the field of Bounds that is its budget, and what it is called.
	about(b *Bounds) faultInfo
	// offer calls put for everything that this fault can strike in a state.
	// There is budget left.
	offer(w *world, v []uint32, put func(who, slot, arg int))
	// strike carries it out; the budget has been taken.
	strike(w *world, v []uint32, who, slot, arg int)
	// label names it, for stories and replays.
	label(w *world, v []uint32, who, slot, arg int) string
	// tell says what it did to whom. State v is the one before it struck.
	tell(w *world, v []uint32, who, slot, arg int, log *stepLog, add func(who, what string))
}

// faultInfo is what reports and commands know of a fault.
type faultInfo struct {
	budget *int
	def    int    // the budget that a zero field stands for
	json   string // as JSON spells the budget
	flag   string // "" means as JSON, with hyphens
	one    string // one of them
	usage  string // for --help: so many … at most
	// nobodys says that no task has to make a step for it to strike.
	nobodys bool
	// severity ranks it for shrinking: 3 for what kills a process, 2 for what
	// loses, repeats or refuses something, 1 for what only delays.
	severity int
}

// Budgets, each a byte in the budget words; the order in which faults are
// tried.
const (
	budgetLost = iota
	budgetCommit
	budgetStatement
	budgetStore
	budgetCall
	budgetCancel
	budgetLostRequest
	budgetDuplicate
	budgetCrash
	budgetJump
	budgetSkew
	budgets
)

// faults are all that can go wrong.
var faults = [budgets]fault{
	budgetLost:        lostAnswer{},
	budgetCommit:      commitFault{},
	budgetStatement:   statementAnswer{},
	budgetStore:       storeError{},
	budgetCall:        failedCall{},
	budgetCancel:      cancel{},
	budgetLostRequest: lostRequest{},
	budgetDuplicate:   sentTwice{},
	budgetCrash:       crash{},
	budgetJump:        jump{},
	budgetSkew:        skew{},
}

// Limit is one field of [Bounds], for commands and reports.
type Limit struct {
	Name, Flag, Usage string // as JSON spells it, as a command does, what it is
	N                 *int   // the field
	Default           int    // what 0 stands for
	Least, Most       int    // what it may be
	one               string
	fault             bool
}

// Limits of what a state has room for.
const (
	maxClients  = 8
	maxAttempts = 20
	maxNodes    = 8
	maxRounds   = 20
	maxBudget   = 20
	maxSlots    = 8 // deliveries of one client at a time
)

// Limits lists the fields of b.
func (b *Bounds) Limits() []Limit {
	all := []Limit{
		{"clients", "clients", "clients", &b.Clients, 2, 1, maxClients, "client", false},
		{"attempts", "attempts", "requests each client sends at most", &b.Attempts, 2, 1, maxAttempts, "attempt", false},
		{"nodes", "nodes", "server processes", &b.Nodes, 1, 1, maxNodes, "node", false},
		{"rounds", "rounds", "rounds of each background actor", &b.Rounds, 1, 1, maxRounds, "round", false},
	}
	for _, f := range faults {
		i := f.about(b)
		if i.flag == "" {
			i.flag = strings.ReplaceAll(i.json, "_", "-")
		}
		all = append(all, Limit{i.json, i.flag, i.usage + " at most", i.budget, i.def, 0, maxBudget, i.one, true})
	}
	return all
}

// named is the budgets that the caller asked for, as JSON spells them: one that
// has no place to strike makes the verdict vacuous.
func (b Bounds) named() []string {
	var names []string
	for _, l := range b.Limits() {
		if l.fault && *l.N > 0 {
			names = append(names, l.Name)
		}
	}
	return names
}

// withDefaults fills zero fields and turns None into 0.
func (b Bounds) withDefaults() (Bounds, error) {
	for _, l := range b.Limits() {
		switch *l.N {
		case 0:
			*l.N = l.Default
		case None:
			*l.N = 0
		}
		if *l.N < l.Least || *l.N > l.Most {
			return b, fmt.Errorf("%w: %s: %d to %d was expected, not %d", ErrUsage, strings.ReplaceAll(l.Name, "_", " "), l.Least, l.Most, *l.N)
		}
	}
	if n := 1 + b.Duplicates + b.Cancels; n > maxSlots {
		return b, fmt.Errorf("%w: duplicates and cancels: at most %d together were expected, not %d", ErrUsage, maxSlots-1, n-1)
	}
	return b, nil
}

// exact reads bounds in which every budget was written out, 0 meaning none.
func (b Bounds) exact() (Bounds, error) {
	for _, l := range b.Limits() {
		if l.fault && *l.N == 0 {
			*l.N = None
		}
	}
	return b.withDefaults()
}

// String lists what the bounds allow.
func (b Bounds) String() string {
	parts := []string{count(b.Clients, "client"), count(b.Attempts, "attempt") + " each", count(b.Nodes, "node")}
	for _, l := range b.Limits() {
		if l.fault && *l.N > 0 {
			parts = append(parts, count(*l.N, l.one))
		}
	}
	return strings.Join(parts, ", ")
}

func budgetWords(b Bounds) (words [budgetLen]uint32) {
	for i, f := range faults {
		words[i/4] |= uint32(*f.about(&b).budget) << (8 * (i % 4))
	}
	return words
}

func left(v []uint32, budget int) int {
	return int(v[atBudgets+budget/4] >> (8 * (budget % 4)) & 0xff)
}

func spend(v []uint32, budget int) { v[atBudgets+budget/4] -= 1 << (8 * (budget % 4)) }
