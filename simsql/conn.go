package simsql

import (
	"context"
	"database/sql/driver"
	"errors"
)

// result is what Exec returns.
type result struct{ last, affected int64 }

func (r result) LastInsertId() (int64, error) { return r.last, nil }
func (r result) RowsAffected() (int64, error) { return r.affected, nil }

// ExecContext performs one statement or several.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.exec(ctx, c.statements(query), c.argsOf(args))
}

func (c *conn) exec(ctx context.Context, all []*statement, args []arg) (driver.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, sql := range all {
		if _, err := c.ask(ctx, sql, args, false); err != nil {
			return nil, err
		}
	}
	return result{c.memory.last, c.memory.changes}, nil
}

// QueryContext performs one statement or several, and returns the rows of the
// last.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.query(ctx, c.statements(query), c.argsOf(args))
}

func (c *conn) query(ctx context.Context, all []*statement, args []arg) (driver.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var last *rows
	for _, sql := range all {
		a, err := c.ask(ctx, sql, args, true)
		if last != nil {
			_ = last.Close()
		}
		if err != nil {
			return nil, err
		}
		last = c.rowsOf(a)
	}
	if last == nil {
		return &rows{conn: c, answer: &answer{}}, nil
	}
	return last, nil
}

// PrepareContext finds out whether a statement can be performed.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	all := c.statements(query)
	if len(all) > 0 && all[0].refused == "" && all[0].verb == verbOther && !c.isSound(all[0].text) {
		if err := c.do(ctx, prepareOp{c.number, command{sql: all[0]}}).Err; err != nil {
			return nil, asDriver(err)
		}
	}
	return &stmt{c, all}, nil
}

// Prepare is PrepareContext without a context.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// Close closes the connection; an open transaction is rolled back.
func (c *conn) Close() error {
	if c.closed {
		return nil
	}
	c.closed = true
	c.connector.mu.Lock()
	delete(c.conns, c.number)
	c.connector.mu.Unlock()
	for len(c.open) > 0 {
		_ = c.open[0].Close()
	}
	if c.within {
		c.clear()
	}
	return nil
}

// Ping finds the connection alive.
func (c *conn) Ping(ctx context.Context) error { return ctx.Err() }

// ResetSession is called before the connection is used again.
func (c *conn) ResetSession(context.Context) error {
	if c.closed {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid says whether the connection can be used again.
func (c *conn) IsValid() bool { return !c.closed }

// Begin is BeginTx without a context.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx begins a transaction. As in modernc.org/sqlite the isolation level is
// SQLite's own, and a read-only transaction is a deferred one.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	text := "begin"
	if !opts.ReadOnly && c.txLock != "" {
		text += " " + string(c.txLock)
	}
	if _, err := c.ask(ctx, c.statements(text)[0], nil, false); err != nil {
		return nil, err
	}
	return &tx{c, ctx}, nil
}

// clear rolls back what is left open, without a step of its own.
func (c *conn) clear() {
	o := c.opFor(c.statements("rollback")[0], nil, false)
	o.clears = true
	_, _ = c.perform(context.Background(), o)
}

// tx is a transaction.
type tx struct {
	conn *conn
	ctx  context.Context // the end of it ends a wait for a lock
}

func (t *tx) Commit() error {
	_, err := t.conn.ask(t.ctx, t.conn.statements("commit")[0], nil, false)
	if err != nil && t.conn.within {
		t.conn.clear()
	}
	return err
}

func (t *tx) Rollback() error {
	_, err := t.conn.ask(context.Background(), t.conn.statements("rollback")[0], nil, false)
	return err
}

// stmt is a prepared statement, or several.
type stmt struct {
	conn *conn
	all  []*statement
}

func (s *stmt) Close() error  { return nil }
func (s *stmt) NumInput() int { return -1 }

var errOld = errors.New("simsql: database/sql calls the methods that take a context")

func (s *stmt) Exec([]driver.Value) (driver.Result, error) { return nil, errOld }
func (s *stmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errOld }

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.conn.exec(ctx, s.all, s.conn.argsOf(args))
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.conn.query(ctx, s.all, s.conn.argsOf(args))
}
