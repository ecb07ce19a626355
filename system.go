package exactlyone

import (
	"errors"
	"fmt"
	"time"

	"exactlyone/model"
	"exactlyone/props"
)

// System is a writer with everything around it: its stores, its clients, what
// counts as an effect, and what must be true of them.
type System struct {
	// Name is how reports and traces call the system.
	Name string

	// Stores are set up once, before the first step.
	Stores []Store

	// Start starts a server process: at the beginning, and again after each
	// crash. It keeps nothing but what env gives it; it may not use the stores
	// before the first request.
	Start func(env *Env) model.Server

	// Client is what client i (0-based) submits. All are given the same number
	// of attempts by the bounds.
	Client func(i int) model.Client

	// Effects reads the effects from the stores. An effect whose Operation is
	// "" is taken for that of the operation whose body it holds.
	Effects func(c Contents) []model.Effect

	// Success says which answers tell the client that its operation was done;
	// nil means a status of 200 to 299.
	Success func(a model.Answer) bool

	// ID is the id that an answer names; nil means that answers name none.
	ID func(a model.Answer) string

	// Properties must hold; nil means props.Pack().
	Properties []props.Property

	// Durations are leases, time-outs and retentions of the writer. A clock
	// jump may go to just before, to, or just past the moment when one that
	// began now would end. If none is declared, jumps of 1 s, 1 min, 1 h and
	// 25 h are tried instead.
	Durations []time.Duration

	// MaxDelay is how long after the first delivery a duplicate may arrive;
	// 0 means one minute. Keep it below the time for which keys are kept.
	MaxDelay time.Duration

	// Stateless declares that a server process keeps nothing in its memory
	// between two requests or for the use of two at once. It saves many
	// states. A sample of executions is checked against it.
	Stateless bool

	// OpaqueIDs declares that clients are interchangeable: the writer compares
	// callers and ids for equality at most. It saves many states.
	OpaqueIDs bool

	// Backend opens the store that carries out the statements; nil means
	// Memory.
	Backend func(s Store) (Backend, error)

	tuning tuning
}

// Store declares one store of a system.
type Store struct {
	Name   string
	Tables model.Schema
	Rows   []model.Stmt // carried out once, before the first step
}

// tuning makes a System what no user may: the benchmark system w has no sending
// step, one jump, and one node for each client; tests of clients look at what
// they ask for.
type tuning struct {
	sendIsNoStep bool
	jump         time.Duration // the only jump there is, whatever is pending
	nodeOf       func(client int) int
	run          clientRun // instead of model.Client.Run
}

// Contents is what is stored at one moment.
type Contents struct {
	names  []string
	states []State
}

// Rows is the rows of a table in committed state, oldest first.
func (c Contents) Rows(store, table string) []model.Row {
	if t, ok := c.State(store).(interface{ Rows(string) []model.Row }); ok {
		return t.Rows(table)
	}
	return nil
}

// State is the committed state of a store, nil if there is no such store.
func (c Contents) State(store string) State {
	for i, name := range c.names {
		if name == store {
			return c.states[i]
		}
	}
	return nil
}

// None stands for zero in [Bounds], where 0 means the default.
const None = -1

// Bounds is how much may go wrong, and how many take part. A zero field means
// its default; None means none. A fault that was asked for, by a number above
// zero, and found no place to strike makes the verdict vacuous.
type Bounds struct {
	Clients      int `json:"clients"`       // default 2
	Attempts     int `json:"attempts"`      // of each client; default 2
	Nodes        int `json:"nodes"`         // server processes; default 1
	Crashes      int `json:"crashes"`       // of a server process; default 1
	LostAnswers  int `json:"lost_answers"`  // default 1
	LostRequests int `json:"lost_requests"` // default none
	Duplicates   int `json:"duplicates"`    // requests that arrive twice; default none
	Jumps        int `json:"jumps"`         // of the clock; default 2
	CommitFaults int `json:"commit_faults"` // commits that err, in effect or not; default none
}

// named is the budgets that the caller asked for, as JSON spells them: one that
// has no place to strike makes the verdict vacuous.
func (b Bounds) named() []string {
	var names []string
	for _, f := range []struct {
		n    int
		name string
	}{
		{b.Crashes, "crashes"},
		{b.LostAnswers, "lost_answers"},
		{b.LostRequests, "lost_requests"},
		{b.Duplicates, "duplicates"},
		{b.Jumps, "jumps"},
		{b.CommitFaults, "commit_faults"},
	} {
		if f.n > 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// Limits of what a state has room for.
const (
	maxClients  = 8
	maxAttempts = 20
	maxNodes    = 8
	maxBudget   = 20
)

// withDefaults fills zero fields and turns None into 0.
func (b Bounds) withDefaults() (Bounds, error) {
	fields := []struct {
		name            string
		n               *int
		def, least, top int
	}{
		{"clients", &b.Clients, 2, 1, maxClients},
		{"attempts", &b.Attempts, 2, 1, maxAttempts},
		{"nodes", &b.Nodes, 1, 1, maxNodes},
		{"crashes", &b.Crashes, 1, 0, maxBudget},
		{"lost answers", &b.LostAnswers, 1, 0, maxBudget},
		{"lost requests", &b.LostRequests, 0, 0, maxBudget},
		{"duplicates", &b.Duplicates, 0, 0, maxBudget},
		{"jumps", &b.Jumps, 2, 0, maxBudget},
		{"commit faults", &b.CommitFaults, 0, 0, maxBudget},
	}
	for _, f := range fields {
		switch *f.n {
		case 0:
			*f.n = f.def
		case None:
			*f.n = 0
		}
		if *f.n < f.least || *f.n > f.top {
			return b, fmt.Errorf("%w: %s: %d to %d was expected, not %d", ErrUsage, f.name, f.least, f.top, *f.n)
		}
	}
	return b, nil
}

// ErrUsage is a system, a bound or an option that cannot be used.
var ErrUsage = errors.New("usage")

// validate says what a System lacks.
func (s *System) validate() error {
	lacks := func(what string) error { return fmt.Errorf("%w: system %q: %s", ErrUsage, s.Name, what) }
	switch {
	case s.Start == nil:
		return lacks("Start is missing")
	case s.Client == nil:
		return lacks("Client is missing")
	case s.Effects == nil:
		return lacks("Effects is missing")
	case s.Properties != nil && len(s.Properties) == 0:
		return lacks("Properties is empty; nil means props.Pack()")
	case s.MaxDelay < 0:
		return lacks("MaxDelay is negative")
	case len(s.Stores) > maxStores:
		return lacks(fmt.Sprintf("at most %d stores were expected, found %d", maxStores, len(s.Stores)))
	}
	seen := map[string]bool{}
	for _, st := range s.Stores {
		if seen[st.Name] {
			return lacks(fmt.Sprintf("two stores are named %q", st.Name))
		}
		seen[st.Name] = true
		if err := st.Tables.Validate(); err != nil {
			return lacks(err.Error())
		}
	}
	for _, d := range s.Durations {
		if d <= 0 {
			return lacks(fmt.Sprintf("declared duration %v: more than zero was expected", d))
		}
	}
	return nil
}

// properties is what must hold.
func (s *System) properties() []props.Property {
	if s.Properties == nil {
		return props.Pack()
	}
	return s.Properties
}

func (s *System) maxDelay() time.Duration {
	if s.MaxDelay == 0 {
		return time.Minute
	}
	return s.MaxDelay
}
