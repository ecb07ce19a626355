package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"modernc.org/sqlite"
)

// conn is one connection to a database of its own, in memory. It goes without
// database/sql, which would take a fifth more time and adds nothing here.
type conn struct {
	raw        driver.Conn
	prepared   map[string]prepared // by SQL text
	statements int                 // performed so far
}

// prepared is what the driver makes of an SQL text.
type prepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func connect() (*conn, error) {
	raw, err := (&sqlite.Driver{}).Open(":memory:")
	if err != nil {
		return nil, err
	}
	return &conn{raw: raw, prepared: map[string]prepared{}}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, p := range c.prepared {
		errs = append(errs, p.Close())
	}
	clear(c.prepared)
	return errors.Join(append(errs, c.raw.Close())...)
}

func (c *conn) prepare(text string) (prepared, error) {
	c.statements++
	if p, ok := c.prepared[text]; ok {
		return p, nil
	}
	st, err := c.raw.Prepare(text)
	if err != nil {
		return nil, err
	}
	p := st.(prepared)
	c.prepared[text] = p
	return p, nil
}

// exec performs a statement that returns no rows.
func (c *conn) exec(text string, args ...any) (driver.Result, error) {
	p, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	return p.ExecContext(context.Background(), named(args))
}

// query performs a statement and calls each with every row it returns. The
// values are overwritten by the next row.
func (c *conn) query(each func([]driver.Value), text string, args ...any) (err error) {
	p, err := c.prepare(text)
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
		switch err := rows.Next(values); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		each(values)
	}
}

// named numbers the arguments of a statement.
func named(args []any) []driver.NamedValue {
	list := make([]driver.NamedValue, len(args))
	for i, v := range args {
		list[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return list
}
