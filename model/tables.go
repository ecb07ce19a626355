package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Tables is the content of a store at one moment. It is never changed:
// [Tables.Do] returns a new value that shares what stayed the same. So a
// transaction is a Tables of its own, and a rollback is forgetting it.
type Tables struct {
	schema Schema
	data   []table
}

type table struct {
	rows   [][]any // in order of insertion, columns in schema order
	serial int64   // the last serial number given
}

// NewTables is an empty store. It panics if the schema is not valid.
func NewTables(s Schema) *Tables {
	if err := s.Validate(); err != nil {
		panic("model: " + err.Error())
	}
	return &Tables{schema: s, data: make([]table, len(s))}
}

// Schema is what the tables were made with.
func (t *Tables) Schema() Schema { return t.schema }

// Do carries out one statement and returns the content after it. With an error
// the content is unchanged: [ErrDuplicate] for a broken unique constraint, any
// other error for a statement that does not fit the schema.
func (t *Tables) Do(s Stmt) (*Tables, Result, error) {
	if err := t.schema.Check(s); err != nil {
		return t, Result{}, fmt.Errorf("store: %w", err)
	}
	i := t.schema.table(s.Table)
	desc := t.schema[i]
	switch s.Verb {
	case SelectVerb:
		found := []Row{}
		for _, r := range t.data[i].rows {
			if desc.matches(r, s.Where) {
				found = append(found, desc.row(r))
			}
		}
		return t, Result{Rows: found}, nil
	case InsertVerb:
		return t.insert(i, s)
	case UpdateVerb:
		return t.update(i, s)
	}
	kept := make([][]any, 0, len(t.data[i].rows))
	for _, r := range t.data[i].rows {
		if !desc.matches(r, s.Where) {
			kept = append(kept, r)
		}
	}
	gone := len(t.data[i].rows) - len(kept)
	return t.with(i, table{rows: kept, serial: t.data[i].serial}), Result{Affected: gone}, nil
}

func (t *Tables) insert(i int, s Stmt) (*Tables, Result, error) {
	desc, old := t.schema[i], t.data[i]
	row, id := desc.newRow(s, old.serial)
	rows := append(slices.Clip(old.rows), row)
	if desc.duplicate(rows) {
		if s.OrIgnore {
			return t, Result{}, nil
		}
		return t, Result{}, ErrDuplicate
	}
	return t.with(i, table{rows: rows, serial: max(old.serial, id)}), Result{Affected: 1, ID: id}, nil
}

func (t *Tables) update(i int, s Stmt) (*Tables, Result, error) {
	desc, old := t.schema[i], t.data[i]
	rows := slices.Clone(old.rows)
	affected := 0
	for n, r := range rows {
		if !desc.matches(r, s.Where) {
			continue
		}
		affected++
		rows[n] = desc.changed(r, s.Set)
	}
	if affected == 0 {
		return t, Result{}, nil
	}
	if desc.duplicate(rows) {
		return t, Result{}, ErrDuplicate
	}
	return t.with(i, table{rows: rows, serial: old.serial}), Result{Affected: affected}, nil
}

func (t *Tables) with(i int, changed table) *Tables {
	data := slices.Clone(t.data)
	data[i] = changed
	return &Tables{schema: t.schema, data: data}
}

// newRow is the row that an INSERT adds after the last serial number given, and
// its own serial number, 0 if the table gives none.
func (t Table) newRow(s Stmt, last int64) (row []any, id int64) {
	row = make([]any, len(t.Columns))
	for _, a := range s.Set {
		row[t.column(a.Col)] = a.Value
	}
	for c, col := range t.Columns {
		if col.Kind == Serial {
			id = last + 1
			row[c] = id
		}
	}
	return row, id
}

// changed is a row after an UPDATE.
func (t Table) changed(row []any, set []Assign) []any {
	row = slices.Clone(row)
	for _, a := range set {
		c := t.column(a.Col)
		if !a.Add {
			row[c] = a.Value
		} else if had, ok := row[c].(int64); ok {
			row[c] = had + a.Value.(int64)
		}
	}
	return row
}

// duplicate says whether two rows share a unique set of columns.
func (t Table) duplicate(rows [][]any) bool {
	for _, unique := range t.Unique {
		seen := map[string]bool{}
		for _, r := range rows {
			key := t.key(unique, r)
			if key != "" && seen[key] {
				return true
			}
			seen[key] = true
		}
	}
	return false
}

// key is what a row holds in a unique set of columns. As in SQL, a row with a
// missing value in it is never a duplicate: its key is "".
func (t Table) key(unique []string, row []any) string {
	var key strings.Builder
	for _, col := range unique {
		v := row[t.column(col)]
		if v == nil {
			return ""
		}
		key.WriteString(Literal(v) + "|")
	}
	return key.String()
}

func (t Table) row(values []any) Row {
	r := make(Row, len(values))
	for i, v := range values {
		r[t.Columns[i].Name] = v
	}
	return r
}

func (t Table) matches(row []any, where []Cond) bool {
	for _, c := range where {
		if !compare(row[t.column(c.Col)], c.Op, c.Value) {
			return false
		}
	}
	return true
}

func compare(have any, op string, want any) bool {
	if have == nil || want == nil {
		return op == "=" && have == nil && want == nil
	}
	var sign int
	switch have := have.(type) {
	case int64:
		sign = cmp.Compare(have, want.(int64))
	case string:
		sign = strings.Compare(have, want.(string))
	case time.Time:
		sign = have.Compare(want.(time.Time))
	}
	switch op {
	case "=":
		return sign == 0
	case "<>":
		return sign != 0
	case "<":
		return sign < 0
	case "<=":
		return sign <= 0
	case ">":
		return sign > 0
	}
	return sign >= 0
}

// Rows is every row of a table, oldest first; nil if there is no such table.
func (t *Tables) Rows(name string) []Row {
	i := t.schema.table(name)
	if i < 0 {
		return nil
	}
	var all []Row
	for _, r := range t.data[i].rows {
		all = append(all, t.schema[i].row(r))
	}
	return all
}

// Load replaces a table's content, for stores that keep it elsewhere. Each row
// has the values of all columns; serial is the last serial number given.
func (t *Tables) Load(name string, rows []Row, serial int64) *Tables {
	i := t.schema.table(name)
	data := table{serial: serial}
	for _, r := range rows {
		values := make([]any, len(t.schema[i].Columns))
		for c, col := range t.schema[i].Columns {
			values[c] = r[col.Name]
		}
		data.rows = append(data.rows, values)
	}
	return t.with(i, data)
}

// LastSerial is the last serial number that a table has given.
func (t *Tables) LastSerial(name string) int64 { return t.data[t.schema.table(name)].serial }

// String lists the content, a line a row. Equal strings mean equal content.
func (t *Tables) String() string {
	var b strings.Builder
	for i, desc := range t.schema {
		fmt.Fprintf(&b, "%s (%d rows, last serial %d)\n", desc.Name, len(t.data[i].rows), t.data[i].serial)
		for _, r := range t.data[i].rows {
			for c, v := range r {
				fmt.Fprintf(&b, "  %s=%s", desc.Columns[c].Name, Literal(v))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Diff says how to differs from t: "+table …" for a row that came, "-table …"
// for one that went, "~table …" with the columns of a row that changed.
func (t *Tables) Diff(to *Tables) []string {
	var all []string
	for i, desc := range t.schema {
		before, after := t.data[i].rows, to.data[i].rows
		n := 0
		for ; n < min(len(before), len(after)); n++ {
			if changed := desc.text(before[n], after[n]); changed != "" {
				all = append(all, "~"+desc.Name+changed)
			}
		}
		for _, r := range before[n:] {
			all = append(all, "-"+desc.Name+desc.text(nil, r))
		}
		for _, r := range after[n:] {
			all = append(all, "+"+desc.Name+desc.text(nil, r))
		}
	}
	return all
}

// text lists the columns that hold something other than before, in order.
func (t Table) text(before, row []any) string {
	var b strings.Builder
	for c, col := range t.Columns {
		var was any
		if before != nil {
			was = before[c]
		}
		if Literal(row[c]) != Literal(was) {
			fmt.Fprintf(&b, " %s=%s", col.Name, Literal(row[c]))
		}
	}
	return b.String()
}
