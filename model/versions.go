package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Versions is the committed content of a store whose transactions run side by
// side, with row locks as PostgreSQL has them. Like [Tables] it is never
// changed: what a [Transaction] has written lies beside it until it commits.
//
// Rows are read oldest first: in the order of their serial numbers, and where a
// table gives none, in the order in which they were committed.
type Versions struct {
	schema   Schema
	snapshot bool // a transaction sees what was committed when it began
	data     []versioned
}

type versioned struct {
	rows   []version // oldest first
	serial int64     // the last serial number given, to whomever
	last   int64     // the last row number given
}

// version is what one row holds.
type version struct {
	row    int64 // which row it is
	rev    int64 // how often it was changed; stays 0 unless snapshots can tell
	values []any
}

// NewVersions is a store that holds what t does. With snapshot, transactions
// see what was committed when they began (PostgreSQL's REPEATABLE READ);
// without, each statement sees what is committed when it is carried out (READ
// COMMITTED).
func NewVersions(t *Tables, snapshot bool) *Versions {
	v := &Versions{schema: t.schema, snapshot: snapshot}
	for _, table := range t.data {
		d := versioned{serial: table.serial}
		for _, values := range table.rows {
			d.last++
			d.rows = append(d.rows, version{row: d.last, values: values})
		}
		v.data = append(v.data, d)
	}
	return v
}

// find is the committed version of a row.
func (d versioned) find(row int64) (version, bool) {
	if i := slices.IndexFunc(d.rows, func(r version) bool { return r.row == row }); i >= 0 {
		return d.rows[i], true
	}
	return version{}, false
}

func (v *Versions) with(i int, changed versioned) *Versions {
	w := *v
	w.data = slices.Clone(v.data)
	w.data[i] = changed
	return &w
}

// Begin opens a transaction.
func (v *Versions) Begin() *Transaction {
	x := &Transaction{schema: v.schema, writes: make([]writes, len(v.schema))}
	if v.snapshot {
		x.base = v
	}
	return x
}

// Commit applies what a transaction wrote. It never fails: what could be in its
// way has waited for it, or has made a statement of it fail.
func (v *Versions) Commit(x *Transaction) *Versions {
	for i, w := range x.writes {
		if len(w.locked) == 0 && len(w.added) == 0 {
			continue
		}
		d := versioned{serial: v.data[i].serial, last: v.data[i].last}
		for _, r := range v.data[i].rows {
			if values, locked := w.find(r.row); locked {
				if r.values = values; v.snapshot {
					r.rev++
				}
			}
			if r.values != nil {
				d.rows = append(d.rows, r)
			}
		}
		for _, values := range w.added {
			d.last++
			d.rows = append(d.rows, version{row: d.last, values: values})
		}
		if !v.snapshot { // a number that nobody holds may be given again
			d.last = 0
			for _, r := range d.rows {
				d.last = max(d.last, r.row)
			}
		}
		v.schema[i].sort(d.rows)
		v = v.with(i, d)
	}
	return v
}

// sort puts rows in the order of their serial numbers, if they have such.
func (t Table) sort(rows []version) {
	if c := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Kind == Serial }); c >= 0 {
		slices.SortStableFunc(rows, func(a, b version) int {
			return cmp.Compare(a.values[c].(int64), b.values[c].(int64))
		})
	}
}

// Rows is every committed row of a table, oldest first; nil if there is no such
// table.
func (v *Versions) Rows(name string) []Row {
	i := v.schema.table(name)
	if i < 0 {
		return nil
	}
	var all []Row
	for _, r := range v.data[i].rows {
		all = append(all, v.schema[i].row(r.values))
	}
	return all
}

// String lists the committed content, a line a row, each after its number and
// how often it was changed, as in #3.1. Equal strings mean equal content.
func (v *Versions) String() string {
	var b strings.Builder
	for i, desc := range v.schema {
		d := v.data[i]
		fmt.Fprintf(&b, "%s (%d rows, last serial %d, last row #%d)\n", desc.Name, len(d.rows), d.serial, d.last)
		v.list(&b, i)
	}
	return b.String()
}

// list writes the rows of a table.
func (v *Versions) list(b *strings.Builder, i int) {
	for _, r := range v.data[i].rows {
		fmt.Fprintf(b, "  #%d.%d", r.row, r.rev)
		v.schema[i].write(b, r.values)
	}
}

// write writes all columns of a row and ends the line.
func (t Table) write(b *strings.Builder, values []any) {
	for c, v := range values {
		fmt.Fprintf(b, "  %s=%s", t.Columns[c].Name, Literal(v))
	}
	b.WriteByte('\n')
}

// Diff says how to differs from v, as [Tables.Diff] does.
func (v *Versions) Diff(to *Versions) []string {
	var all []string
	for i, desc := range v.schema {
		for _, r := range v.data[i].rows {
			if now, ok := to.data[i].find(r.row); !ok {
				all = append(all, "-"+desc.Name+desc.text(nil, r.values))
			} else if changed := desc.text(r.values, now.values); changed != "" {
				all = append(all, "~"+desc.Name+changed)
			}
		}
		for _, r := range to.data[i].rows {
			if _, ok := v.data[i].find(r.row); !ok {
				all = append(all, "+"+desc.Name+desc.text(nil, r.values))
			}
		}
	}
	return all
}
