package simsql

import (
	"context"
	"database/sql/driver"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"
)

// rows are the rows of an answer. All were fetched at once, but in SQLite a
// result keeps its lock until it was read to the end or closed, and so it does
// here.
type rows struct {
	conn   *conn
	answer *answer
	next   int
	held   bool // closing it matters
	within bool // it was asked for in the transaction that is open
}

func (c *conn) rowsOf(a *answer) *rows {
	r := &rows{conn: c, answer: a, held: a.holds, within: a.within}
	if r.held {
		c.open = append(c.open, r)
	}
	return r
}

func (r *rows) Columns() []string { return r.answer.columns }

// Close lets go of the lock. That takes no step.
func (r *rows) Close() error {
	if !r.held {
		return nil
	}
	r.held = false
	r.conn.open = slices.DeleteFunc(r.conn.open, func(o *rows) bool { return o == r })
	if !r.within {
		r.conn.do(context.Background(), closeOp{r.conn.number})
	}
	return nil
}

func (r *rows) Next(dest []driver.Value) error {
	if r.next >= len(r.answer.rows) {
		_ = r.Close()
		return io.EOF
	}
	for i, v := range r.answer.rows[r.next] {
		if b, ok := v.([]byte); ok {
			v = slices.Clone(b) // the answer may be given to others too
		}
		dest[i] = v
	}
	r.next++
	return nil
}

// ColumnTypeDatabaseTypeName is the declared type of a column, in upper case.
func (r *rows) ColumnTypeDatabaseTypeName(i int) string { return r.answer.types[i] }

// ColumnTypeNullable is as in modernc.org/sqlite.
func (r *rows) ColumnTypeNullable(int) (nullable, ok bool) { return true, true }

// ColumnTypePrecisionScale is as in modernc.org/sqlite.
func (r *rows) ColumnTypePrecisionScale(int) (precision, scale int64, ok bool) { return 0, 0, false }

// at is the value of a column in the current row, the first one before Next.
func (r *rows) at(i int) (v driver.Value, number bool) {
	n := max(0, r.next-1)
	if n >= len(r.answer.rows) {
		return nil, false
	}
	return r.answer.rows[n][i], r.answer.times[n] != nil && r.answer.times[n][i]
}

// ColumnTypeLength is as in modernc.org/sqlite: any, for what is text or a blob.
func (r *rows) ColumnTypeLength(i int) (length int64, ok bool) {
	switch v, number := r.at(i); v.(type) {
	case string, []byte:
		return math.MaxInt64, true
	case time.Time:
		if !number {
			return math.MaxInt64, true
		}
	}
	return 0, false
}

// ColumnTypeScanType is the Go type that the current row suggests.
func (r *rows) ColumnTypeScanType(i int) reflect.Type {
	v, number := r.at(i)
	declared := r.answer.types[i]
	isTime := declared == "DATE" || declared == "DATETIME" || declared == "TIME" || declared == "TIMESTAMP"
	switch v.(type) {
	case int64:
		if declared == "BOOLEAN" {
			return reflect.TypeFor[bool]()
		}
		if isTime {
			return reflect.TypeFor[time.Time]()
		}
		return reflect.TypeFor[int64]()
	case float64:
		return reflect.TypeFor[float64]()
	case []byte:
		return reflect.TypeFor[[]byte]()
	case nil:
		return nil
	}
	if isTime && (number || strings.Contains(r.conn.settings.query, "_texttotime")) {
		return reflect.TypeFor[time.Time]()
	}
	return reflect.TypeFor[string]()
}
