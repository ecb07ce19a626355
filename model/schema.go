package model

import (
	"fmt"
	"slices"
)

// Kind is the type of a column.
type Kind uint8

// The kinds of column.
const (
	Text   Kind = iota
	Int         // 64 bits
	Time        // microseconds are kept
	Serial      // 1, 2, 3 …, given by the store; never given again to another row
)

// Schema is the tables of one store.
type Schema []Table

// Table describes one table.
type Table struct {
	Name    string
	Columns []Column
	Unique  [][]string // sets of columns that no two rows may share
}

// Column is a name and a kind.
type Column struct {
	Name string
	Kind Kind
}

// Validate says what is wrong with the schema, nil if nothing.
func (s Schema) Validate() error {
	seen := map[string]bool{}
	for _, t := range s {
		if t.Name == "" || seen[t.Name] {
			return fmt.Errorf("schema: table %q: a name, once each, was expected", t.Name)
		}
		seen[t.Name] = true
		if len(t.Columns) == 0 {
			return fmt.Errorf("schema: table %s: at least one column was expected", t.Name)
		}
		serials, columns := 0, map[string]bool{}
		for _, c := range t.Columns {
			if c.Name == "" || columns[c.Name] {
				return fmt.Errorf("schema: table %s: column %q: a name, once each, was expected", t.Name, c.Name)
			}
			columns[c.Name] = true
			if c.Kind == Serial {
				serials++
			}
		}
		if serials > 1 {
			return fmt.Errorf("schema: table %s: at most one serial column was expected, found %d", t.Name, serials)
		}
		for _, u := range t.Unique {
			if len(u) == 0 {
				return fmt.Errorf("schema: table %s: a unique set without columns", t.Name)
			}
			for _, col := range u {
				if t.column(col) < 0 {
					return fmt.Errorf("schema: table %s: unique column %q does not exist", t.Name, col)
				}
			}
		}
	}
	return nil
}

func (s Schema) table(name string) int {
	return slices.IndexFunc(s, func(t Table) bool { return t.Name == name })
}

func (t Table) column(name string) int {
	return slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
}

// Check says whether a statement fits the schema: known table and columns, and
// values of the right kind.
func (s Schema) Check(st Stmt) error {
	i := s.table(st.Table)
	if i < 0 {
		return fmt.Errorf("%s: no table %q", st, st.Table)
	}
	fits := func(col string, v any) error {
		c := s[i].column(col)
		if c < 0 {
			return fmt.Errorf("%s: no column %q", st, col)
		}
		if !s[i].Columns[c].Kind.holds(v) {
			return fmt.Errorf("%s: column %s does not hold %T", st, col, v)
		}
		return nil
	}
	for _, a := range st.Set {
		if err := fits(a.Col, a.Value); err != nil {
			return err
		}
		if k := s[i].Columns[s[i].column(a.Col)].Kind; k == Serial || a.Add && k != Int {
			return fmt.Errorf("%s: column %s cannot be set that way", st, a.Col)
		}
	}
	for _, c := range st.Where {
		if err := fits(c.Col, c.Value); err != nil {
			return err
		}
	}
	return nil
}

func (k Kind) holds(v any) bool {
	switch v.(type) {
	case nil:
		return k != Serial
	case int64:
		return k == Int || k == Serial
	case string:
		return k == Text
	}
	return k == Time
}
