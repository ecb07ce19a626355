package sqlitestore

import (
	"database/sql/driver"
	"slices"
	"strings"
	"time"

	"exactlyone/model"
)

// table is how SQLite keeps one table. Every row has an integer primary key
// that grows: the serial column, or else one that nobody sees. It is the order
// of insertion. Times are microseconds since 1970.
type table struct {
	desc   model.Table
	serial bool   // the key is a serial column
	key    string // quoted name of the key

	create, all, fill string // SQL texts: the table, all rows, one row with all its columns
}

func newTable(desc model.Table) table {
	t := table{desc: desc}
	var columns, names []string
	for _, c := range desc.Columns {
		name := quote(c.Name)
		names = append(names, name)
		switch c.Kind {
		case model.Serial:
			t.serial, t.key = true, name
			columns = append(columns, name+" INTEGER PRIMARY KEY AUTOINCREMENT")
		case model.Text:
			columns = append(columns, name+" TEXT")
		default:
			columns = append(columns, name+" INTEGER")
		}
	}
	if !t.serial {
		t.key = quote(unusedName(desc))
		columns = append(columns, t.key+" INTEGER PRIMARY KEY")
	}
	for _, unique := range desc.Unique {
		columns = append(columns, "UNIQUE ("+quoteAll(unique)+")")
	}
	// STRICT: a sum beyond 64 bits would become a floating-point number.
	t.create = "CREATE TABLE " + quote(desc.Name) + " (" + strings.Join(columns, ", ") + ") STRICT"
	t.all = "SELECT " + strings.Join(names, ", ") + " FROM " + quote(desc.Name)
	t.fill = "INSERT INTO " + quote(desc.Name) + " (" + strings.Join(names, ", ") + ") VALUES (" + marks(len(names)) + ")"
	return t
}

// unusedName is a name that no column has.
func unusedName(desc model.Table) string {
	name := "position"
	for slices.ContainsFunc(desc.Columns, func(c model.Column) bool { return strings.EqualFold(c.Name, name) }) {
		name += "_"
	}
	return name
}

// statement is a statement as SQL.
func (t table) statement(st model.Stmt) (text string, args []any) {
	switch st.Verb {
	case model.SelectVerb:
		where, args := conditions(st.Where, nil)
		return t.all + where + " ORDER BY " + t.key, args
	case model.InsertVerb:
		text = "INSERT INTO "
		if st.OrIgnore {
			text = "INSERT OR IGNORE INTO "
		}
		columns, values, args := assignments(st.Set, true)
		if len(columns) == 0 {
			return text + quote(t.desc.Name) + " DEFAULT VALUES", nil
		}
		return text + quote(t.desc.Name) + " (" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")", args
	case model.UpdateVerb:
		columns, values, args := assignments(st.Set, false)
		if len(columns) == 0 { // SQL wants one
			columns, values = []string{t.key}, []string{t.key}
		}
		for i := range columns {
			columns[i] += " = " + values[i]
		}
		where, args := conditions(st.Where, args)
		return "UPDATE " + quote(t.desc.Name) + " SET " + strings.Join(columns, ", ") + where, args
	}
	where, args := conditions(st.Where, nil)
	return "DELETE FROM " + quote(t.desc.Name) + where, args
}

// assignments is the columns that are set, the SQL of their values, and the
// arguments of it. Assignments act one after another, as in model.Tables,
// though SQL allows only one a column. An insert has nothing to add to.
func assignments(set []model.Assign, insert bool) (columns, values []string, args []any) {
	var of [][]any // arguments by column
	for _, a := range set {
		column := quote(a.Col)
		i := slices.Index(columns, column)
		if i < 0 {
			i = len(columns)
			columns, values, of = append(columns, column), append(values, column), append(of, nil)
		}
		if a.Add && !insert {
			values[i] = "(" + values[i] + " + ?)"
			of[i] = append(of[i], toSQL(a.Value))
		} else {
			values[i], of[i] = "?", []any{toSQL(a.Value)}
		}
	}
	return columns, values, slices.Concat(of...)
}

// conditions is a WHERE clause; its arguments are appended to args.
func conditions(where []model.Cond, args []any) (string, []any) {
	var b strings.Builder
	for i, c := range where {
		b.WriteString([]string{" WHERE ", " AND "}[min(i, 1)])
		b.WriteString(quote(c.Col))
		if c.Op == "=" && c.Value == nil {
			b.WriteString(" IS NULL")
			continue
		}
		b.WriteString(" " + c.Op + " ?")
		args = append(args, toSQL(c.Value))
	}
	return b.String(), args
}

// rows is what a query for all columns finds.
func (t table) rows(c *conn, text string, args ...any) ([]model.Row, error) {
	found := []model.Row{}
	err := c.query(func(values []driver.Value) {
		row := make(model.Row, len(t.desc.Columns))
		for i, column := range t.desc.Columns {
			row[column.Name] = fromSQL(column.Kind, values[i])
		}
		found = append(found, row)
	}, text, args...)
	return found, err
}

func toSQL(v any) any {
	if at, ok := v.(time.Time); ok {
		return at.UnixMicro()
	}
	return v
}

func fromSQL(kind model.Kind, v driver.Value) any {
	if n, ok := v.(int64); ok && kind == model.Time {
		return time.UnixMicro(n).UTC()
	}
	return v
}

// quote makes any name an SQL identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func quoteAll(names []string) string {
	var quoted []string
	for _, n := range names {
		quoted = append(quoted, quote(n))
	}
	return strings.Join(quoted, ", ")
}

func marks(n int) string { return strings.Join(slices.Repeat([]string{"?"}, n), ", ") }
