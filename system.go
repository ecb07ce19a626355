package exactlyone

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"exactlyone/interleave"
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

	// Follows is the kinds of effect that follow from each operation that
	// succeeds, sooner or later, exactly once: the messages of an outbox.
	Follows []string

	// Success says which answers tell the client that its operation was done;
	// nil means a status of 200 to 299.
	Success func(a model.Answer) bool

	// ID is the id that an answer names; nil means that answers name none.
	ID func(a model.Answer) string

	// Claims reads who holds which claim, for the property that an owner whose
	// claim was taken over commits nothing; nil means that there are no claims.
	Claims func(c Contents) []Claim

	// Services are third parties that the writer calls.
	Services []Service

	// Background are actors beside the requests: sweepers, relays, renewers.
	Background []Background

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

	// MaxSkew is how far the clock of a node may be off; 0 means one minute.
	MaxSkew time.Duration

	// Retention is for how long idempotency keys are kept, as published: clients
	// send nothing after that, and no request is in flight for so long. 0 means
	// for ever.
	Retention time.Duration

	// Driver is what the writer reaches a server database through, DriverPgx or
	// DriverLibPQ; "" means that it must bear both.
	Driver string

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

	tuning   tuning
	ordinary bool        // its code runs in a bubble; see Goroutines
	seeded   bool        // what it draws from crypto/rand can be made deterministic
	wakes    *sync.Map   // of hosted processes
	left     *leftBehind // by them
	// Its code has been seen to wait for a mutex: then bubbles poll from the start,
	// which only takes longer.
	contended *atomic.Bool
}

// Store declares one store of a system.
type Store struct {
	Name   string
	Tables model.Schema
	Rows   []model.Stmt // carried out once, before the first step

	// Open opens the backend of this store; nil means that of the system.
	Open func(s Store) (Backend, error)
	// Connector is how database/sql connects to the store, given what carries
	// out ops, for [Env.DB]; nil means that it cannot.
	Connector func(do func(context.Context, interleave.Op) Reply) sqldriver.Connector

	service *Service // it is a third party
}

// Claim is a claim that somebody holds, such as the lease of a key.
type Claim struct{ Key, Owner string }

// Background is an actor that works in rounds beside the requests. A round may
// begin at any time, runs in one of the server processes, and dies with it.
type Background struct {
	Name string
	// Run is one round, given the server that [System.Start] returned.
	Run func(ctx context.Context, s model.Server)
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
	case s.MaxSkew < 0:
		return lacks("MaxSkew is negative")
	case s.Retention < 0:
		return lacks("Retention is negative")
	case s.Driver != "" && s.Driver != DriverPgx && s.Driver != DriverLibPQ:
		return lacks(fmt.Sprintf("driver %q: %s or %s was expected", s.Driver, DriverPgx, DriverLibPQ))
	case len(s.Stores)+len(s.Services) > maxStores:
		return lacks(fmt.Sprintf("at most %d stores and services were expected, found %d", maxStores, len(s.Stores)+len(s.Services)))
	}
	seen := map[string]bool{}
	for _, st := range slices.Concat(s.Stores, s.servicesAsStores()) {
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

// prepared is a valid system with its services among its stores.
func (s System) prepared() (*System, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	s.Stores = slices.Concat(s.Stores, s.servicesAsStores())
	s.ordinary, s.wakes = isOrdinary(&s), new(sync.Map)
	s.left, s.contended = new(leftBehind), new(atomic.Bool)
	return &s, nil
}

func (s *System) servicesAsStores() []Store {
	var all []Store
	for _, service := range s.Services {
		all = append(all, Store{Name: service.Name, Tables: ServiceTables, service: &service})
	}
	return all
}

// properties is what must hold.
func (s *System) properties() []props.Property {
	if s.Properties == nil {
		return props.Pack()
	}
	return s.Properties
}

func (s *System) maxSkew() time.Duration {
	if s.MaxSkew == 0 {
		return time.Minute
	}
	return s.MaxSkew
}

func (s *System) maxDelay() time.Duration {
	if s.MaxDelay == 0 {
		return time.Minute
	}
	return s.MaxDelay
}
