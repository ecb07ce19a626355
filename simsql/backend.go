package simsql

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
)

// backend is the state machine: [exactlyone.Backend].
type backend struct {
	name    string
	options settings
	traits  traits
	first   *content

	mu       sync.Mutex // guards what follows
	worker   *worker
	at       position
	restores int
	pages    map[string]string            // each page once
	tables   map[string]map[string]*table // each content of a table once, by name and rows
	schemas  map[string]*schema
	contents map[string]*content // by id
}

// open sets a database up and makes a backend of it.
func open(name, setup string, o settings) (*backend, error) {
	w, err := newWorker(o.query)
	if err != nil {
		return nil, fmt.Errorf("%w: store %s: %w", exactlyone.ErrUsage, name, err)
	}
	b := &backend{
		name: name, options: o, worker: w, traits: traitsOf(split(setup)),
		pages: map[string]string{}, tables: map[string]map[string]*table{}, schemas: map[string]*schema{}, contents: map[string]*content{},
	}
	if err := b.setUp(setup); err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("%w: set-up of store %s: %w", exactlyone.ErrUsage, name, err)
	}
	return b, nil
}

// setUp performs the set-up, one statement after another, and keeps what it left.
func (b *backend) setUp(script string) error {
	if err := b.worker.exec(fmt.Sprintf("PRAGMA page_size=%d", pageSize)); err != nil {
		return err
	}
	if err := b.worker.setKeys(b.options.keys); err != nil {
		return err
	}
	for _, s := range split(script) {
		if s.refused != "" {
			return fmt.Errorf("%s: %s", brief(s.text), s.refused)
		}
		if s.verb == verbPragma && pragmas[s.pragma] == pragmaOwn {
			continue // settings heeds those that matter
		}
		if _, err := b.worker.do(command{sql: s}, false, clock.Epoch); err != nil {
			return fmt.Errorf("%s: %w", brief(s.text), err)
		}
	}
	if b.worker.within() {
		return errors.New("it leaves a transaction open")
	}
	s, err := b.readSchema()
	if err != nil {
		return err
	}
	c, err := b.read(&content{schema: s}, []*plan{{all: true}})
	if err != nil {
		return err
	}
	b.first, b.at, b.contents[c.id] = c, position{base: c}, c
	return b.save(c)
}

// Start is the content after set-up.
func (b *backend) Start() (exactlyone.State, error) { return b.first, nil }

// Close closes the connection.
func (b *backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.worker == nil {
		return nil
	}
	err := b.worker.close()
	b.worker = nil
	return err
}

// Failing: nobody can lose the reply of a database that is part of the process.
// A full disk makes a commit fail without effect; a file may be in use by another
// process.
func (b *backend) Failing() exactlyone.Failing {
	f := exactlyone.Failing{CommitFails: true}
	if b.options.journal != Memory {
		f.Errors = []error{model.ErrBusy}
	}
	return f
}

// Do carries out one op.
func (b *backend) Do(shared, of exactlyone.State, what interleave.Op, now time.Time) (exactlyone.State, exactlyone.State, exactlyone.Reply) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, _ := of.(*session)
	c := shared.(*content)
	switch o := what.(type) {
	case exactlyone.RollbackOp: // of everything: the request is over, or dead
		return c, nil, exactlyone.Reply{}
	case closeOp:
		conn := s.conn(o.conn)
		conn.rows--
		if conn.idle() {
			conn = connState{number: o.conn}
		}
		return c, state(s.with(conn)), exactlyone.Reply{}
	case pendingOp:
		conn := s.conn(o.conn)
		if conn.open {
			conn.lock = pending
		}
		return c, state(s.with(conn)), exactlyone.Reply{}
	case statusOp:
		conn := s.conn(o.conn)
		return c, of, exactlyone.Reply{Value: &answer{within: conn.open}}
	case prepareOp:
		return c, of, exactlyone.Reply{Err: b.canPrepare(c, s.conn(o.conn), o)}
	case op:
		conn := s.conn(o.conn)
		after, reply := b.statement(&c, conn, o, now)
		return c, state(s.with(after)), reply
	}
	panic(fmt.Sprintf("simsql: store %s cannot do %T", b.name, what))
}

// late says whether a statement gives the schema a trait that it did not have after
// the set-up, by which ops are told to be timed.
func (b *backend) late(s *statement) bool {
	return s.defines && (s.times && !b.traits.times || s.random && !b.traits.random || s.last && !b.traits.last)
}

// state is a session as the engine knows it: nil, not a nil pointer.
func state(s *session) exactlyone.State {
	if s == nil {
		return nil
	}
	return s
}

// from is the content that a connection reads on.
func (c *connState) from(shared *content) *content {
	if c.base != nil {
		return c.base
	}
	return shared
}

// canPrepare is the error of preparing a statement, nil if there is none.
func (b *backend) canPrepare(c *content, conn connState, o prepareOp) error {
	if err := b.goTo(position{conn.from(c), conn.log}, conn.keys); err != nil {
		return err
	}
	_, err := b.worker.prepare(o.sql.text)
	return err
}

// statement carries out a statement on a connection that holds conn, and returns
// what it holds then. It changes *c where something is committed.
func (b *backend) statement(c **content, conn connState, o op, now time.Time) (connState, exactlyone.Reply) {
	base := conn.from(*c)
	if !conn.open {
		conn.keys = o.keys
	}
	if err := b.goTo(position{base, conn.log}, conn.keys); err != nil {
		return conn, exactlyone.Reply{Err: err}
	}
	p := b.planIn(base.schema, conn, o.command)
	if p.all && b.late(o.sql) {
		return conn, exactlyone.Reply{Err: fmt.Errorf("simsql: %s: the schema begins to look at the clock, or to draw random numbers, while the code runs: put it into the set-up of store %s", brief(o.sql.text), b.name)}
	}
	if !o.timed {
		now = clock.Epoch
	}
	a, err := b.worker.do(o.command, o.query, now)
	after := conn
	if !o.sql.reads || p.access == accessWrite {
		after.log = conn.log.add(log{do: o.command, now: now, keys: conn.keys})
	}
	after.open = a.within
	after.plans = append(slices.Clip(conn.plans), p)
	after.takes(b.options.journal, base, p, o)
	if err == nil {
		after.savepoint(o.sql, conn.open)
	}
	a.holds = o.query && !o.sql.dml && err == nil && len(a.rows) > 0 && (p.access != accessNone || b.options.journal == Memory)
	if a.within {
		b.at = position{base, after.log}
		return after, reply(a, err)
	}
	if readErr := b.settle(c, &after, base); readErr != nil {
		b.at = position{}
		return conn, exactlyone.Reply{Err: readErr}
	}
	after.ends(conn, o, a, *c)
	return after, reply(a, err)
}

func reply(a *answer, err error) exactlyone.Reply {
	if err != nil {
		return exactlyone.Reply{Err: err}
	}
	return exactlyone.Reply{Value: a}
}

// settle finds out what a connection left behind whose transaction is over.
func (b *backend) settle(c **content, after *connState, base *content) error {
	b.at = position{base: base}
	if !slices.ContainsFunc(after.plans, func(p *plan) bool { return p.all || len(p.writes) > 0 }) {
		return nil
	}
	now, err := b.read(base, after.plans)
	if err != nil {
		return err
	}
	if now.id == base.id {
		if !now.is(base) {
			b.at = position{} // the same, but with its tables elsewhere
		}
		return nil
	}
	if known, ok := b.contents[now.id]; ok && known.is(now) {
		now = known
	} else {
		now.parent, now.made = base, after.log
		b.contents[now.id] = now
	}
	*c, b.at = now, position{base: now}
	return nil
}
