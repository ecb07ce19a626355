package simsql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// worker is one connection of the modernc.org/sqlite driver to a database in
// memory. It stands at one position at a time.
type worker struct {
	world    *world
	raw      driver.Conn
	db       uintptr
	prepared map[string]prepared // by SQL
	keys     bool                // foreign keys are enforced
}

// prepared is what the driver makes of an SQL text.
type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// serial names the VFS of each worker.
var serial atomic.Int64

// maxPrepared is how many statements a worker keeps prepared.
const maxPrepared = 500

func newWorker(query string) (*worker, error) {
	name := fmt.Sprintf("exactlyone-%d", serial.Add(1))
	world, err := newWorld(name)
	if err != nil {
		return nil, err
	}
	raw, err := (&sqlite.Driver{}).Open(":memory:?vfs=" + name + query)
	if err != nil {
		world.close()
		return nil, err
	}
	w := &worker{world: world, raw: raw, prepared: map[string]prepared{}}
	// The driver does not say where SQLite keeps the connection, but what it
	// calls does: last_insert_rowid can be set, a transaction asked for.
	field := reflect.Indirect(reflect.ValueOf(raw)).FieldByName("db")
	if !field.IsValid() || !field.CanUint() {
		_ = w.close()
		return nil, errInternal("this version of modernc.org/sqlite keeps its connection elsewhere")
	}
	w.db = uintptr(field.Uint())
	if err := world.define(w.db); err != nil {
		_ = w.close()
		return nil, err
	}
	return w, nil
}

func (w *worker) close() error {
	err := errors.Join(w.forget(), w.raw.Close())
	w.world.close()
	return err
}

// forget closes all prepared statements.
func (w *worker) forget() error {
	var errs []error
	for _, p := range w.prepared {
		errs = append(errs, p.Close())
	}
	clear(w.prepared)
	return errors.Join(errs...)
}

func (w *worker) prepare(text string) (prepared, error) {
	if p, ok := w.prepared[text]; ok {
		return p, nil
	}
	if len(w.prepared) >= maxPrepared {
		if err := w.forget(); err != nil {
			return nil, err
		}
	}
	st, err := w.raw.Prepare(text)
	if err != nil {
		return nil, err
	}
	p := st.(prepared)
	w.prepared[text] = p
	return p, nil
}

// exec performs a statement whose rows nobody wants.
func (w *worker) exec(text string, args ...arg) error {
	p, err := w.prepare(text)
	if err != nil {
		return err
	}
	_, err = p.ExecContext(context.Background(), named(args))
	return err
}

// query performs a statement and calls each with every row. The values are
// overwritten by the next row.
func (w *worker) query(each func([]driver.Value), text string, args ...arg) (err error) {
	p, err := w.prepare(text)
	if err != nil {
		return err
	}
	rows, err := p.QueryContext(context.Background(), named(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	values := make([]driver.Value, len(rows.Columns()))
	for {
		if err := rows.Next(values); err != nil {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		each(values)
	}
}

func named(args []arg) []driver.NamedValue {
	if len(args) == 0 {
		return nil
	}
	list := make([]driver.NamedValue, len(args))
	for i, a := range args {
		list[i] = driver.NamedValue(a)
	}
	return list
}

func (w *worker) within() bool { return sqlite3.Xsqlite3_get_autocommit(w.world.tls, w.db) == 0 }

func (w *worker) total() int64 { return sqlite3.Xsqlite3_total_changes64(w.world.tls, w.db) }

// noRowid is a last_insert_rowid that no statement leaves behind.
const noRowid = -0x5eed_0f_ed

// do performs a statement of the code under test.
func (w *worker) do(c command, query bool, now time.Time) (*answer, error) {
	w.remember(c, now)
	before := w.total()
	a := &answer{changed: c.sql.dml}
	err := w.fetch(a, c, query)
	a.total = w.total() - before
	a.within = w.within()
	if last := sqlite3.Xsqlite3_last_insert_rowid(w.world.tls, w.db); last != noRowid && last != c.memory.last {
		a.last, a.inserted = last, true
	}
	if a.changed {
		a.affected = sqlite3.Xsqlite3_changes64(w.world.tls, w.db)
	}
	return a, err
}

// remember makes the connection know what the one in question knows.
func (w *worker) remember(c command, now time.Time) {
	w.world.setTime(now)
	env := w.world.env()
	env.random, env.changes, env.total = c.memory.random, c.memory.changes, c.memory.total
	last := int64(noRowid)
	if c.memory.last != 0 {
		last = c.memory.last
	}
	sqlite3.Xsqlite3_set_last_insert_rowid(w.world.tls, w.db, last)
}

func (w *worker) fetch(a *answer, c command, query bool) (err error) {
	p, err := w.prepare(c.sql.text)
	if err != nil {
		return err
	}
	if !query {
		_, err = p.ExecContext(context.Background(), named(c.args))
		return err
	}
	rows, err := p.QueryContext(context.Background(), named(c.args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	a.columns = rows.Columns()
	types := rows.(driver.RowsColumnTypeDatabaseTypeName)
	for i := range a.columns {
		a.types = append(a.types, types.ColumnTypeDatabaseTypeName(i))
	}
	values := make([]driver.Value, len(a.columns))
	for {
		if err := rows.Next(values); err != nil {
			if err == io.EOF {
				err = nil
			}
			return err
		}
		a.rows = append(a.rows, append([]driver.Value(nil), values...))
		a.times = append(a.times, numbers(rows, values))
	}
}

// numbers says which values are times that the database holds as numbers; nil
// if there are none.
func numbers(rows driver.Rows, values []driver.Value) []bool {
	var all []bool
	for i, v := range values {
		if _, ok := v.(time.Time); ok {
			if _, ok := rows.(driver.RowsColumnTypeLength).ColumnTypeLength(i); !ok {
				if all == nil {
					all = make([]bool, len(values))
				}
				all[i] = true
			}
		}
	}
	return all
}

// setKeys says whether foreign keys are to be enforced. No transaction may be
// open.
func (w *worker) setKeys(on bool) error {
	if w.keys == on {
		return nil
	}
	w.keys = on
	return w.exec("PRAGMA foreign_keys=" + map[bool]string{true: "ON", false: "OFF"}[on])
}

// pages is the database as SQLite would write it to a file.
func (w *worker) pages() ([]string, error) {
	raw, ok := w.raw.(interface{ Serialize() ([]byte, error) })
	if !ok {
		return nil, errInternal("the driver cannot serialize")
	}
	b, err := raw.Serialize()
	if err != nil {
		return nil, err
	}
	var all []string
	for len(b) > 0 {
		n := min(len(b), pageSize)
		all = append(all, string(b[:n]))
		b = b[n:]
	}
	return all, nil
}

// restore is the opposite of pages.
func (w *worker) restore(pages []string) error {
	raw, ok := w.raw.(interface{ Deserialize([]byte) error })
	if !ok {
		return errInternal("the driver cannot deserialize")
	}
	if err := raw.Deserialize([]byte(strings.Join(pages, ""))); err != nil {
		return err
	}
	// Until it has read, SQLite takes the database for empty: a savepoint would
	// remember that, and going back to it would lose all tables.
	return w.exec("SELECT 1 FROM sqlite_schema")
}

// pageSize is small, so that contents that differ in a row share most of their
// pages.
const pageSize = 512

// errInternal is a defect of this package, or a driver that it does not fit.
func errInternal(what string) error { return fmt.Errorf("simsql: internal error: %s", what) }
