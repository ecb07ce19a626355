package simsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"exactlyone/model"
)

// genuine is what the driver returns when somebody else is in the way, or the
// disk is full. Only the driver can make its errors, so they are provoked once, on
// small files.
type genuine struct{ busy, snapshot, full error }

var provoked = sync.OnceValues(provoke)

func provoke() (g genuine, err error) {
	dir, err := os.MkdirTemp("", "simsql")
	if err != nil {
		return g, fmt.Errorf("simsql: a directory for a small database: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "a.db") + "?_pragma=journal_mode(WAL)"
	a, errA := (&sqlite.Driver{}).Open(file)
	b, errB := (&sqlite.Driver{}).Open(file)
	if err := errors.Join(errA, errB); err != nil {
		return g, fmt.Errorf("simsql: a small database: %w", err)
	}
	defer func() { err = errors.Join(err, a.Close(), b.Close()) }()
	do := func(c driver.Conn, sql string) error {
		_, err := c.(driver.ExecerContext).ExecContext(context.Background(), sql, nil)
		return err
	}
	err = errors.Join(do(a, "CREATE TABLE t (x)"), do(a, "BEGIN; SELECT * FROM t"), do(b, "BEGIN IMMEDIATE"))
	g.busy = do(a, "INSERT INTO t VALUES (1)")
	err = errors.Join(err, do(b, "INSERT INTO t VALUES (1); COMMIT"))
	g.snapshot = do(a, "INSERT INTO t VALUES (1)")
	err = errors.Join(err, do(a, "ROLLBACK; PRAGMA max_page_count = 1"))
	g.full = do(a, "CREATE TABLE u (x); INSERT INTO u VALUES (zeroblob(100000))")
	if err != nil || code(g.busy) != busy || code(g.snapshot) != busySnapshot || code(g.full) != sqlite3.SQLITE_FULL {
		return g, fmt.Errorf("simsql: a small database: %v, %v, %v: %w", g.busy, g.snapshot, g.full, err)
	}
	return g, nil
}

// refusal is the driver's error of a code.
func refusal(code int) error {
	g, err := provoked()
	switch {
	case err != nil:
		return err
	case code == busySnapshot:
		return g.snapshot
	case code == sqlite3.SQLITE_FULL:
		return g.full
	}
	return g.busy
}

// asDriver is an error as the driver would say it: faults speak of stores in
// general.
func asDriver(err error) error {
	switch {
	case errors.Is(err, model.ErrBusy):
		return refusal(busy)
	case errors.Is(err, model.ErrCommit):
		return refusal(sqlite3.SQLITE_FULL)
	}
	return err
}

// code is SQLite's code of an error, 0 if it has none.
func code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}
