package flake

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"

	"modernc.org/sqlite" // the driver; pure Go, so that the command stays one file
	sqlite3 "modernc.org/sqlite/lib"
)

// DefaultPriorRate is the rate at which the anytime-valid bounds of a store are
// narrow, unless Options say otherwise.
const DefaultPriorRate = 0.01

// ErrNoStore says that there is no file where a store was to be opened.
var ErrNoStore = errors.New("no store")

// Options say how to open a store. The zero value opens an existing one.
type Options struct {
	Create    bool    // make the file if there is none
	PriorRate float64 // of a store that is made, between 0 and 1; 0 means DefaultPriorRate
}

// Store is an open store. Close it. Its methods may be called from one goroutine at
// a time; any number of processes may have the file open.
type Store struct {
	db        *sql.DB
	path      string
	priorRate float64
}

// Open opens the store at path and brings it to the current version.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	info, err := os.Stat(path)
	switch {
	case o.Create:
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("flake: %s: %w", path, ErrNoStore)
	case err == nil && info.Mode().IsRegular() && info.Size() == 0:
		return nil, fmt.Errorf("flake: opening %s: this file is no store of flakestat", path)
	}
	if o.PriorRate == 0 {
		o.PriorRate = DefaultPriorRate
	}
	if !(o.PriorRate > 0 && o.PriorRate < 1) {
		return nil, fmt.Errorf("flake: a prior rate of %v: a number between 0 and 1 was expected", o.PriorRate)
	}
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, fmt.Errorf("flake: opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db: db, path: path}
	if err := s.prepare(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("flake: opening %s: %w", path, err), db.Close())
	}
	return s, nil
}

// dsn names the database to the driver. Writers wait for one another for ten
// seconds at a time, see Store.write.
func dsn(path string) string {
	file := (&url.URL{Path: path}).EscapedPath()
	return "file:" + file + "?_pragma=busy_timeout(10000)&_pragma=foreign_keys(0)&_txlock=immediate"
}

func (s *Store) prepare(ctx context.Context, o Options) error {
	// Going over to WAL does not wait for others, so wait for them before.
	for tries := 1; ; tries++ {
		_, err := s.db.ExecContext(ctx, "PRAGMA journal_mode = WAL")
		if err == nil {
			break
		}
		if !busy(err) || tries == 100 {
			return plain(err)
		}
		if err := s.write(ctx, func(*sql.Tx) error { return nil }); err != nil {
			return err
		}
	}
	var version, application int
	err := s.db.QueryRowContext(ctx, `SELECT user_version, application_id FROM pragma_user_version, pragma_application_id`).Scan(&version, &application)
	if err != nil {
		return plain(err)
	}
	if version != len(migrations) || application != applicationID {
		if err := s.write(ctx, func(tx *sql.Tx) error { return migrate(ctx, tx, o.PriorRate) }); err != nil {
			return err
		}
	}
	var rate string
	if err := s.db.QueryRowContext(ctx, `SELECT value FROM setting WHERE key = 'prior_rate'`).Scan(&rate); err != nil {
		return plain(err)
	}
	s.priorRate, err = strconv.ParseFloat(rate, 64)
	return err
}

// Close closes the store.
func (s *Store) Close() error { return s.db.Close() }

// PriorRate is the rate at which the anytime-valid bounds are narrow. It was fixed
// when the store was made, before its first run.
func (s *Store) PriorRate() float64 { return s.priorRate }

// write runs f in a transaction of its own: all of it counts, or nothing does. It
// waits for other writers until ctx ends.
func (s *Store) write(ctx context.Context, f func(*sql.Tx) error) error {
	var tx *sql.Tx
	for {
		var err error
		if tx, err = s.db.BeginTx(ctx, nil); err == nil {
			break
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !busy(err) {
			return plain(err)
		}
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return plain(err)
	}
	return plain(tx.Commit())
}

// busy says whether err means that another process holds a lock.
func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// taken says whether err means that a unique value is there already.
func taken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// plain says in plain words what SQLite says in its own.
func plain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		return errors.New("this file is no store of flakestat")
	case sqlite3.SQLITE_READONLY:
		return errors.New("the store may not be written to")
	case sqlite3.SQLITE_CANTOPEN:
		return errors.New("the store cannot be opened or made")
	case sqlite3.SQLITE_IOERR:
		return errors.New("the disk cannot be read or written, or is full")
	case sqlite3.SQLITE_FULL:
		return errors.New("the disk is full")
	case sqlite3.SQLITE_CORRUPT:
		return errors.New("the store is damaged")
	}
	return err
}
