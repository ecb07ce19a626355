package simsql

import (
	"context"
	"database/sql/driver"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"exactlyone"
	"exactlyone/interleave"
)

// Journal is where a database lives and how its file is locked.
type Journal int

// The journals. Rollback is what modernc.org/sqlite gives for a plain file name.
const (
	Rollback Journal = iota // a file with a rollback journal: readers and a committing writer exclude each other
	WAL                     // a file with a write-ahead log: readers see a snapshot, one writes at a time
	Memory                  // a database in memory, with SetMaxOpenConns(1): who finds the connection taken waits for it
)

// TxLock is how BeginTx begins a transaction.
type TxLock string

// The locks of transactions; "" means Deferred.
const (
	Deferred  TxLock = "deferred"  // it takes locks when it needs them
	Immediate TxLock = "immediate" // it takes the lock to write at once
	Exclusive TxLock = "exclusive" // nobody else may read; in WAL mode as Immediate
)

// Options say how the program opens its database. The zero value is
// sql.Open("sqlite", "app.db"): a file with a rollback journal, deferred
// transactions, and no waiting for locks: SQLITE_BUSY at once.
type Options struct {
	Journal Journal

	// BusyTimeout is for how long a statement waits for a lock. How long it is
	// does not matter: while others can go on it waits, and when nobody can, it
	// errs with SQLITE_BUSY. 0 means that it does not wait.
	BusyTimeout time.Duration

	// TxLock is how BeginTx begins a transaction that is not read-only; "" means
	// Deferred.
	TxLock TxLock

	// DSN is what follows the "?" in the name that the program opens, such as
	// "_pragma=foreign_keys(1)&_time_format=sqlite". Its journal_mode,
	// busy_timeout and _txlock count where the fields above are zero.
	DSN string
}

// settings are Options after a look at the DSN.
type settings struct {
	journal Journal
	wait    bool
	timeout time.Duration
	txLock  TxLock
	keys    bool   // foreign keys are enforced
	numbers bool   // times are stored as numbers
	format  bool   // times are stored in a format that was chosen
	query   string // the rest of the DSN, for the worker
}

// settings checks the options.
func (o Options) settings() (settings, error) {
	s := settings{journal: o.Journal, timeout: o.BusyTimeout, txLock: o.TxLock}
	if o.Journal < Rollback || o.Journal > Memory {
		return s, fmt.Errorf("journal %d: Rollback, WAL or Memory was expected", o.Journal)
	}
	if o.BusyTimeout < 0 {
		return s, fmt.Errorf("busy timeout %v: zero or more was expected", o.BusyTimeout)
	}
	values, err := url.ParseQuery(strings.TrimPrefix(o.DSN, "?"))
	if err != nil {
		return s, fmt.Errorf("DSN %q: %w", o.DSN, err)
	}
	rest := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			keep, err := s.heed(name, v, o)
			if err != nil {
				return s, fmt.Errorf("DSN: %s=%s: %w", name, v, err)
			}
			if keep {
				rest.Add(name, v)
			}
		}
	}
	switch s.txLock = TxLock(strings.ToLower(string(s.txLock))); s.txLock {
	case "", Deferred, Immediate, Exclusive:
	default:
		return s, fmt.Errorf("transaction lock %q: deferred, immediate or exclusive was expected", s.txLock)
	}
	s.wait = s.timeout > 0
	if len(rest) > 0 {
		s.query = "&" + rest.Encode()
	}
	return s, nil
}

// heed takes one parameter of a DSN into account. keep says that the worker needs
// it as well.
func (s *settings) heed(name, value string, o Options) (keep bool, err error) {
	switch name {
	case "_pragma":
		sql := split("PRAGMA " + value)
		if len(sql) != 1 || sql[0].verb != verbPragma || sql[0].refused != "" {
			return false, fmt.Errorf("one PRAGMA that simsql knows was expected")
		}
		return s.pragma(sql[0].pragma, sql[0].argument, o)
	case "_busy_timeout", "_timeout", "_foreign_keys", "_fk", "_journal_mode", "_journal":
		pragma := map[string]string{
			"_timeout": "busy_timeout", "_fk": "foreign_keys", "_journal": "journal_mode",
		}[name]
		if pragma == "" {
			pragma = name[1:]
		}
		return s.pragma(pragma, value, o)
	case "_txlock":
		if o.TxLock == "" {
			s.txLock = TxLock(value)
		}
		return false, nil
	case "_time_format":
		s.format = true
	case "_time_integer_format":
		s.numbers = true
	case "vfs", "mode", "cache", "immutable", "nolock":
		return false, nil
	}
	return true, nil
}

func (s *settings) pragma(name, value string, o Options) (keep bool, err error) {
	switch name {
	case "busy_timeout":
		ms, err := strconv.Atoi(value)
		if err == nil && o.BusyTimeout == 0 {
			s.timeout = time.Duration(max(0, ms)) * time.Millisecond
		}
		return false, err
	case "foreign_keys":
		s.keys = on(value)
		return false, nil
	case "journal_mode":
		switch {
		case o.Journal == Rollback && strings.EqualFold(value, "wal"):
			s.journal = WAL
		case o.Journal == Rollback && strings.EqualFold(value, "memory"), strings.EqualFold(value, "off"):
			return false, fmt.Errorf("a journal that survives a crash was expected")
		}
		return false, nil
	}
	return pragmas[name] != pragmaOwn, nil
}

// heedScript takes the pragmas of a set-up into account. WAL mode is the file's;
// others are the connection's, and of a database in memory there is but one.
func (s *settings) heedScript(script []*statement, o Options) error {
	for _, sql := range script {
		if sql.verb != verbPragma || sql.refused != "" || s.journal != Memory && sql.pragma != "journal_mode" {
			continue
		}
		if _, err := s.pragma(sql.pragma, sql.argument, o); err != nil {
			return fmt.Errorf("%s: %w", sql.text, err)
		}
	}
	s.wait = s.timeout > 0
	return nil
}

// on says whether the value of a pragma means yes.
func on(value string) bool {
	switch strings.ToLower(value) {
	case "1", "on", "true", "yes":
		return true
	}
	return false
}

// Store declares a database for [exactlyone.System.Stores]. The set-up is an SQL
// script: the schema, and the rows that are there before the first step. Code
// under test reaches it through [exactlyone.Env.DB]. What is wrong with the
// options or the set-up is told when the check begins, as an error that is
// [exactlyone.ErrUsage].
func Store(name, setup string, o Options) exactlyone.Store {
	set, err := o.settings()
	script := split(setup)
	if err == nil {
		err = set.heedScript(script, o)
	}
	if err != nil {
		err = fmt.Errorf("%w: store %s: %w", exactlyone.ErrUsage, name, err)
	}
	d := newDatabase(name, setup, script, set)
	return exactlyone.Store{
		Name: name,
		Open: func(exactlyone.Store) (exactlyone.Backend, error) {
			if err != nil {
				return nil, err
			}
			if _, err := provoked(); err != nil {
				return nil, err
			}
			return open(name, setup, set)
		},
		Connector: func(do func(context.Context, interleave.Op) exactlyone.Reply) driver.Connector {
			return &connector{database: d, do: do}
		},
	}
}
