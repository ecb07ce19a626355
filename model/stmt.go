package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"exactlyone/clock"
)

// Verb is what a statement does.
type Verb uint8

// The four verbs of a [Stmt].
const (
	SelectVerb Verb = iota
	InsertVerb
	UpdateVerb
	DeleteVerb
)

// Stmt is one statement over one table: a small subset of SQL that every store
// can carry out. Make it with [Select], [Insert], [Update] or [Delete].
type Stmt struct {
	Verb     Verb
	Table    string
	Set      []Assign // Insert, Update
	Where    []Cond   // Select, Update, Delete; all must hold
	OrIgnore bool     // Insert: a duplicate is no error and changes nothing
}

// Assign gives a column a value, or adds to what it holds.
type Assign struct {
	Col   string
	Value any
	Add   bool // Col = Col + Value, which must be an integer
}

// Cond compares a column with a value. As in SQL, a comparison with a missing
// value is false, except Op "=" with nil, which asks whether it is missing.
type Cond struct {
	Col   string
	Op    string // one of = <> < <= > >=
	Value any
}

// Set assigns v to col. A value is nil, a bool, an int, an int64, a string or
// a time.Time, of which microseconds are kept; any other type panics.
func Set(col string, v any) Assign { return Assign{Col: col, Value: plain(v)} }

// Add adds n to col.
func Add(col string, n int64) Assign { return Assign{Col: col, Value: n, Add: true} }

// Where compares col with v by op, one of = <> < <= > >=; another op panics.
func Where(col, op string, v any) Cond {
	switch op {
	case "=", "<>", "<", "<=", ">", ">=":
		return Cond{Col: col, Op: op, Value: plain(v)}
	}
	panic("model: comparison " + strconv.Quote(op) + "; use one of = <> < <= > >=")
}

// Eq is Where(col, "=", v).
func Eq(col string, v any) Cond { return Where(col, "=", v) }

// Select reads the rows for which every condition holds, oldest first.
func Select(table string, where ...Cond) Stmt {
	return Stmt{Verb: SelectVerb, Table: table, Where: where}
}

// Insert adds a row.
func Insert(table string, set ...Assign) Stmt {
	return Stmt{Verb: InsertVerb, Table: table, Set: set}
}

// InsertIfAbsent adds a row, or changes nothing if a unique constraint forbids
// it: INSERT … ON CONFLICT DO NOTHING.
func InsertIfAbsent(table string, set ...Assign) Stmt {
	return Stmt{Verb: InsertVerb, Table: table, Set: set, OrIgnore: true}
}

// Update changes rows; say which ones with [Stmt.If].
func Update(table string, set ...Assign) Stmt {
	return Stmt{Verb: UpdateVerb, Table: table, Set: set}
}

// Delete removes the rows for which every condition holds.
func Delete(table string, where ...Cond) Stmt {
	return Stmt{Verb: DeleteVerb, Table: table, Where: where}
}

// If returns s with further conditions.
func (s Stmt) If(where ...Cond) Stmt {
	s.Where = append(s.Where[:len(s.Where):len(s.Where)], where...)
	return s
}

// String writes the statement the way SQL would, with its values in place.
// Equal strings mean equal statements.
func (s Stmt) String() string {
	var b strings.Builder
	switch s.Verb {
	case SelectVerb:
		b.WriteString("SELECT FROM " + s.Table)
	case InsertVerb:
		b.WriteString("INSERT INTO " + s.Table + " (")
		for i, a := range s.Set {
			comma(&b, i)
			b.WriteString(a.Col + "=" + Literal(a.Value))
		}
		b.WriteByte(')')
		if s.OrIgnore {
			b.WriteString(" OR IGNORE")
		}
	case UpdateVerb:
		b.WriteString("UPDATE " + s.Table + " SET ")
		for i, a := range s.Set {
			comma(&b, i)
			b.WriteString(a.Col + "=")
			if a.Add {
				b.WriteString(a.Col + "+")
			}
			b.WriteString(Literal(a.Value))
		}
	case DeleteVerb:
		b.WriteString("DELETE FROM " + s.Table)
	}
	for i, c := range s.Where {
		b.WriteString([]string{" WHERE ", " AND "}[min(i, 1)])
		b.WriteString(c.Col + c.Op + Literal(c.Value))
	}
	return b.String()
}

// Brief names the statement without its values, but for what a SELECT asks for.
func (s Stmt) Brief() string {
	var text strings.Builder
	text.WriteString([...]string{"SELECT ", "INSERT ", "UPDATE ", "DELETE "}[s.Verb] + s.Table)
	if s.Verb == SelectVerb {
		for _, c := range s.Where {
			text.WriteString(" " + c.Col + c.Op + Literal(c.Value))
		}
	}
	if s.OrIgnore {
		text.WriteString(" if absent")
	}
	return text.String()
}

func comma(b *strings.Builder, i int) {
	if i > 0 {
		b.WriteString(", ")
	}
}

// Literal writes one value unambiguously: NULL, 7, 'it”s' with quotes doubled,
// or a time as its distance from [clock.Epoch], if that is within 100 years.
func Literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case time.Time:
		if d := v.Sub(clock.Epoch).Abs(); d > 100*365*24*time.Hour {
			return v.Format(time.RFC3339Nano) // where a time.Duration does not reach
		}
		return clock.Since(v)
	}
	panic(fmt.Sprintf("model: value of type %T in a statement", v))
}

// plain brings a value to one of the types a row holds.
func plain(v any) any {
	switch v := v.(type) {
	case nil, int64, string:
		return v
	case time.Time:
		return v.UTC().Truncate(time.Microsecond)
	case int:
		return int64(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	}
	panic(fmt.Sprintf("model: a column cannot hold %T; use nil, bool, int, int64, string or time.Time", v))
}
