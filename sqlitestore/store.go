// Package sqlitestore answers: what do a writer's statements do on a real
// SQLite database, from any content that a search has seen?
//
// [Open] gives an [exactlyone.Backend] over one connection to a database in
// memory. Every statement is carried out by SQLite, and the content after it is
// read back from SQLite. The connection stands at one content at a time: a run
// that only moves forward just goes on, and a search that goes back makes it
// restore.
//
// Contents and replies equal those of [exactlyone.Memory], as long as times are
// whole microseconds, but for two things that SQLite refuses. It checks a unique
// constraint row by row, so an update that adds to a unique column of several
// rows may be a duplicate although no two rows would end up equal. And a sum
// beyond 64 bits is an error.
package sqlitestore

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"exactlyone"
	"exactlyone/interleave"
	"exactlyone/model"
)

// store is a state machine over one connection. States, those of sessions too,
// are [model.Tables] that hold what was read from the database: a session is
// the content as seen inside its transaction. Nothing but content is needed to
// come back to a session, and nothing else would do: a search takes sessions of
// equal content for the same, whatever content they began with.
type store struct {
	schema model.Schema
	tables []table // as in schema
	start  *model.Tables

	mu       sync.Mutex // guards what follows
	conn     *conn
	at       position
	restores int
}

// position is where the connection stands. The zero position is unknown.
type position struct {
	shared  *model.Tables // what is committed
	session *model.Tables // what the open transaction sees; nil if none is open
}

// Open opens a database in memory, sets it up as s says, and returns the
// backend that performs statements on it. It may be used by several goroutines.
//
// The backend also has a method Counts() (statements, restores int): how many
// SQL statements were performed since Open, set-up and restores included, and
// how often the connection had to be brought to another content.
func Open(s exactlyone.Store) (exactlyone.Backend, error) {
	if err := s.Tables.Validate(); err != nil {
		return nil, fmt.Errorf("store %s: %w", s.Name, err)
	}
	c, err := connect()
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", s.Name, err)
	}
	b := &store{schema: s.Tables, conn: c}
	if err := b.setUp(s.Rows); err != nil {
		_ = b.Close()
		return nil, fmt.Errorf("set-up of store %s: %w", s.Name, err)
	}
	return b, nil
}

func (s *store) setUp(rows []model.Stmt) error {
	for _, desc := range s.schema {
		t := newTable(desc)
		s.tables = append(s.tables, t)
		if _, err := s.conn.exec(t.create); err != nil {
			return err
		}
		if t.serial {
			if _, err := s.conn.exec("INSERT INTO sqlite_sequence (name, seq) VALUES (?, 0)", desc.Name); err != nil {
				return err
			}
		}
	}
	s.at = position{shared: model.NewTables(s.schema)}
	for _, st := range rows {
		if _, _, err := s.perform(s.at, exactlyone.StmtOp{Stmt: st}); err != nil {
			return err
		}
	}
	s.start = s.at.shared
	return nil
}

func (s *store) Start() (exactlyone.State, error) { return s.start, nil }

func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.close()
}

func (s *store) Counts() (statements, restores int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.statements, s.restores
}

// Waits is as in memory: transactions are serial.
func (s *store) Waits(_, session exactlyone.State, op interleave.Op, others []exactlyone.State) bool {
	return exactlyone.SerialWaits(session, op, others)
}

// Failing: an embedded database cannot lose a reply, and a commit that failed,
// as on a full disk, has no effect. Another process may be using the file.
func (s *store) Failing() exactlyone.Failing {
	return exactlyone.Failing{CommitFails: true, Errors: []error{model.ErrBusy}}
}

func (s *store) Do(shared, session exactlyone.State, op interleave.Op, _ time.Time) (exactlyone.State, exactlyone.State, exactlyone.Reply) {
	from := position{shared: shared.(*model.Tables)}
	if session != nil {
		from.session = session.(*model.Tables)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to, result, err := s.perform(from, op)
	reply := exactlyone.Reply{Result: result, Err: err}
	if to.session == nil {
		return to.shared, nil, reply
	}
	return to.shared, to.session, reply
}

// perform carries out an op and moves the connection along. What the database
// refuses leaves the states as they were; after an error that has no name in
// package model nobody knows where the connection stands.
func (s *store) perform(from position, op interleave.Op) (position, model.Result, error) {
	if st, ok := op.(exactlyone.StmtOp); ok {
		if err := s.schema.Check(st.Stmt); err != nil {
			return from, model.Result{}, fmt.Errorf("store: %w", err)
		}
	}
	to, result, err := from, model.Result{}, s.goTo(from)
	if err == nil {
		switch op := op.(type) {
		case exactlyone.BeginOp:
			_, err = s.conn.exec("BEGIN IMMEDIATE")
			to.session = from.shared
		case exactlyone.CommitOp:
			_, err = s.conn.exec("COMMIT")
			to = position{shared: from.session}
		case exactlyone.RollbackOp:
			_, err = s.conn.exec("ROLLBACK")
			to.session = nil
		case exactlyone.StmtOp:
			to, result, err = s.statement(from, op.Stmt)
		default:
			panic(fmt.Sprintf("sqlitestore: the store cannot do %T", op))
		}
	}
	if err != nil && err != model.ErrDuplicate {
		s.at = position{}
		return from, model.Result{}, fmt.Errorf("%s: %w", op, err)
	}
	s.at = to
	return to, result, err
}

// statement carries out a statement that fits the schema, and reads back the
// table that it may have changed.
func (s *store) statement(from position, st model.Stmt) (position, model.Result, error) {
	t := s.table(st.Table)
	if st.Verb == model.SelectVerb {
		text, args := t.statement(st)
		rows, err := t.rows(s.conn, text, args...)
		return from, model.Result{Rows: rows}, err
	}
	result, failed := t.change(s.conn, st, from.seen().LastSerial(st.Table))
	if failed != nil && failed != model.ErrDuplicate {
		return from, result, failed
	}
	now, err := t.read(s.conn, from.seen())
	switch {
	case err != nil:
		return from, result, err
	case from.session != nil:
		return position{from.shared, now}, result, failed
	}
	return position{shared: now}, result, failed
}

// change carries out a statement that is no Select. The last serial number that
// the table gave is last.
func (t table) change(c *conn, st model.Stmt, last int64) (model.Result, error) {
	text, args := t.statement(st)
	done, err := c.exec(text, args...)
	switch {
	case duplicate(err):
		return model.Result{}, model.ErrDuplicate
	case err != nil:
		return model.Result{}, err
	}
	n, err := done.RowsAffected()
	if err != nil || st.Verb != model.InsertVerb || !t.serial {
		return model.Result{Affected: int(n)}, err
	}
	if n == 0 {
		// The last id is now another row's, and SQLite has used up a serial
		// number for what it ignored: give it back, as no row has it.
		return model.Result{}, t.setSerial(c, last)
	}
	id, err := done.LastInsertId()
	return model.Result{Affected: int(n), ID: id}, err
}

// seen is the content that a statement meets.
func (p position) seen() *model.Tables {
	if p.session != nil {
		return p.session
	}
	return p.shared
}

func (s *store) table(name string) table {
	for _, t := range s.tables {
		if t.desc.Name == name {
			return t
		}
	}
	panic("sqlitestore: no table " + name)
}

// duplicate says whether an error is a broken unique constraint.
func duplicate(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}
