package simsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"modernc.org/sqlite"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/simsql"
)

// machine carries ops out one after another: a single request, and no scheduler.
type machine struct {
	backend         exactlyone.Backend
	shared, session exactlyone.State
	now             time.Time
	ops             []interleave.Op
	forget          bool // ops are not kept
}

func newMachine(t testing.TB, s exactlyone.Store) *machine {
	t.Helper()
	b, err := s.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	start, err := b.Start()
	if err != nil {
		t.Fatal(err)
	}
	return &machine{backend: b, shared: start, now: clock.Epoch}
}

func (m *machine) do(_ context.Context, op interleave.Op) (r exactlyone.Reply) {
	if !m.forget {
		m.ops = append(m.ops, op)
	}
	if b, ok := m.backend.(exactlyone.Refuser); ok {
		if err := b.Refuses(m.shared, m.session, op, nil); err != nil {
			return exactlyone.Reply{Err: err}
		}
	}
	if m.backend.Waits(m.shared, m.session, op, nil) {
		return exactlyone.Reply{Err: m.backend.(exactlyone.Impatient).GivesUp(op)}
	}
	m.shared, m.session, r = m.backend.Do(m.shared, m.session, op, m.now)
	return r
}

func openDB(t testing.TB, s exactlyone.Store, m *machine) *sql.DB {
	t.Helper()
	db := sql.OpenDB(s.Connector(m.do))
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

const schema = `
CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, body TEXT NOT NULL, at DATETIME, blob BLOB, price REAL, ok BOOLEAN);
CREATE TABLE log (what TEXT, n INTEGER DEFAULT 7);
CREATE TRIGGER logged AFTER INSERT ON orders BEGIN INSERT INTO log (what) VALUES ('order ' || new.key); END;
CREATE TABLE parent (id INTEGER PRIMARY KEY);
CREATE TABLE child (id INTEGER PRIMARY KEY, of INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE pairs (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
INSERT INTO parent VALUES (1), (2);
`

// told is an error as far as code can tell.
func told(err error) string {
	var e *sqlite.Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return fmt.Sprintf("sqlite %d %s", e.Code(), e)
	case errors.Is(err, sql.ErrNoRows), errors.Is(err, sql.ErrTxDone), errors.Is(err, context.Canceled):
	}
	return err.Error()
}

var modes = map[string]simsql.Options{
	"memory":   {Journal: simsql.Memory},
	"rollback": {},
	"wal":      {Journal: simsql.WAL},
}
