package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Transaction is one open transaction on a [Versions]: what it sees, what it has
// written, and so what others wait for. It is never changed.
//
//	base ─▶ committed rows ◀─ locked: row → new values, or deleted
//	                          added: new rows
//	                          keys: what an INSERT of others would collide with
type Transaction struct {
	schema Schema
	base   *Versions // what it sees beside its own writes; nil: what is committed
	writes []writes  // by table
}

// writes is what a transaction has done to one table.
type writes struct {
	locked []lock   // rows it changed or deleted, by number
	added  [][]any  // rows it inserted, in order
	keys   []string // sorted: the unique keys of all versions that it wrote or replaced
}

type lock struct {
	row    int64
	values []any // nil: deleted
}

// find is what a transaction made of a committed row, if it has locked it.
func (w writes) find(row int64) (values []any, locked bool) {
	i, locked := w.search(row)
	if locked {
		values = w.locked[i].values
	}
	return values, locked
}

func (w writes) search(row int64) (int, bool) {
	return slices.BinarySearchFunc(w.locked, row, func(l lock, row int64) int { return cmp.Compare(l.row, row) })
}

// put notes that a row was changed, or deleted if after is nil.
func (w *writes) put(desc Table, r seen, after []any) {
	w.hold(desc, r.values)
	if after != nil {
		w.hold(desc, after)
	}
	if r.added >= 0 {
		w.added = slices.Clone(w.added)
		w.added[r.added] = after
		return
	}
	i, found := w.search(r.row)
	w.locked = slices.Clone(w.locked)
	if !found {
		w.locked = slices.Insert(w.locked, i, lock{row: r.row})
	}
	w.locked[i].values = after
}

// hold makes others wait for the unique keys of a row.
func (w *writes) hold(desc Table, values []any) {
	for n := range desc.Unique {
		key := desc.heldKey(n, values)
		if i, found := slices.BinarySearch(w.keys, key); !found && key != "" {
			w.keys = slices.Insert(slices.Clone(w.keys), i, key)
		}
	}
}

// heldKey is a row's key in the nth unique set, told apart from those in others.
func (t Table) heldKey(n int, values []any) string {
	key := t.key(t.Unique[n], values)
	if key == "" {
		return ""
	}
	return fmt.Sprint(strings.Join(t.Unique[n], ","), "=", key)
}

func (x *Transaction) with(i int, changed writes) *Transaction {
	changed.added = slices.DeleteFunc(slices.Clone(changed.added), func(r []any) bool { return r == nil })
	next := &Transaction{schema: x.schema, base: x.base, writes: slices.Clone(x.writes)}
	next.writes[i] = changed
	return next
}

// seen is a row as a transaction sees it.
type seen struct {
	version
	own   bool // the transaction itself has written it
	added int  // which of its inserted rows, -1 if it is none
}

// view is the rows of a table in base as a transaction has changed them.
func (x *Transaction) view(base *Versions, i int) []seen {
	all := make([]seen, 0, len(base.data[i].rows)+len(x.writes[i].added))
	for _, r := range base.data[i].rows {
		values, own := x.writes[i].find(r.row)
		if own {
			r.values = values
		}
		if r.values != nil {
			all = append(all, seen{r, own, -1})
		}
	}
	for n, values := range x.writes[i].added {
		all = append(all, seen{version{values: values}, true, n})
	}
	return all
}

// rows is what a table holds once the transaction has committed.
func (x *Transaction) rows(v *Versions, i int) [][]any {
	var all [][]any
	for _, r := range x.view(v, i) {
		all = append(all, r.values)
	}
	return all
}

// sees is the rows of a table that a transaction sees, oldest first.
func (x *Transaction) sees(v *Versions, i int) []seen {
	base := v
	if x.base != nil {
		base = x.base
	}
	return x.view(base, i)
}

// stale says whether somebody has changed a row since the transaction's
// snapshot and committed that.
func (x *Transaction) stale(v *Versions, i int, r seen) bool {
	if x.base == nil || r.own {
		return false
	}
	now, ok := v.data[i].find(r.row)
	return !ok || now.rev != r.rev
}

// invisible says whether a committed version is not in the transaction's
// snapshot.
func (x *Transaction) invisible(i int, r seen) bool {
	if x.base == nil || r.own {
		return false
	}
	was, ok := x.base.data[i].find(r.row)
	return !ok || was.rev != r.rev
}

// Auto carries out one statement in a transaction of its own.
func (v *Versions) Auto(s Stmt) (*Versions, Result, error) {
	after, x, res, err := v.Do(v.Begin(), s)
	if err != nil {
		return v, res, err
	}
	return after.Commit(x), res, nil
}

// Do carries out one statement of a transaction, for which [Versions.Blocker]
// finds none to wait for. It returns what is committed after it, which changes
// in serial numbers at most, and the transaction.
//
// After [ErrDuplicate] and after a statement that does not fit the schema the
// transaction is what it was. After [ErrSerialization] it is nil: rolled back.
func (v *Versions) Do(x *Transaction, s Stmt) (*Versions, *Transaction, Result, error) {
	if err := v.schema.Check(s); err != nil {
		return v, x, Result{}, fmt.Errorf("store: %w", err)
	}
	i := v.schema.table(s.Table)
	switch s.Verb {
	case SelectVerb:
		return v, x, Result{Rows: x.read(v, i, s)}, nil
	case InsertVerb:
		return v.insert(x, i, s)
	}
	x, affected, err := x.write(v, i, s)
	return v, x, Result{Affected: affected}, err
}

func (x *Transaction) read(v *Versions, i int, s Stmt) []Row {
	var found []version
	for _, r := range x.sees(v, i) {
		if v.schema[i].matches(r.values, s.Where) {
			found = append(found, r.version)
		}
	}
	v.schema[i].sort(found)
	rows := []Row{}
	for _, r := range found {
		rows = append(rows, v.schema[i].row(r.values))
	}
	return rows
}

// write carries out an UPDATE or a DELETE.
func (x *Transaction) write(v *Versions, i int, s Stmt) (*Transaction, int, error) {
	next, affected, err := x.changed(v, i, s)
	switch {
	case err != nil:
		return nil, 0, err
	case affected == 0:
		return x, 0, nil
	case s.Verb == UpdateVerb && v.schema[i].duplicate(next.rows(v, i)):
		return x, 0, ErrDuplicate
	}
	return next, affected, nil
}

// changed is the transaction after an UPDATE or a DELETE that breaks no unique
// constraint.
func (x *Transaction) changed(v *Versions, i int, s Stmt) (next *Transaction, affected int, err error) {
	desc, w := v.schema[i], x.writes[i]
	for _, r := range x.sees(v, i) {
		if !desc.matches(r.values, s.Where) {
			continue
		}
		if x.stale(v, i, r) {
			return nil, 0, ErrSerialization
		}
		var after []any
		if s.Verb == UpdateVerb {
			after = desc.changed(r.values, s.Set)
		}
		w.put(desc, r, after)
		affected++
	}
	return x.with(i, w), affected, nil
}

func (v *Versions) insert(x *Transaction, i int, s Stmt) (*Versions, *Transaction, Result, error) {
	desc, d := v.schema[i], v.data[i]
	row, id := desc.newRow(s, d.serial)
	rows := x.view(v, i)
	for n := range desc.Unique {
		r, collides := desc.collision(n, rows, row)
		switch {
		case !collides:
		case !s.OrIgnore:
			return v, x, Result{}, ErrDuplicate
		case x.invisible(i, r):
			return v, nil, Result{}, ErrSerialization
		default:
			return v, x, Result{}, nil
		}
	}
	w := x.writes[i]
	w.hold(desc, row)
	w.added = append(slices.Clip(w.added), row)
	if id != 0 {
		d.serial = id
		v = v.with(i, d)
	}
	return v, x.with(i, w), Result{Affected: 1, ID: id}, nil
}

// collision is the row that has the same key as another in the nth unique set.
func (t Table) collision(n int, rows []seen, row []any) (seen, bool) {
	key := t.key(t.Unique[n], row)
	for _, r := range rows {
		if key != "" && t.key(t.Unique[n], r.values) == key {
			return r, true
		}
	}
	return seen{}, false
}

// Blocker is the index of the open transaction for which a statement of x must
// wait first, -1 if it need not wait. An UPDATE or DELETE waits for whoever has
// written a row that it would write; an INSERT, and an UPDATE that changes a
// key, for whoever has written a row that it may collide with.
func (v *Versions) Blocker(x *Transaction, s Stmt, others []*Transaction) int {
	if s.Verb == SelectVerb || v.schema.Check(s) != nil {
		return -1
	}
	i := v.schema.table(s.Table)
	if !slices.ContainsFunc(others, func(o *Transaction) bool { return len(o.writes[i].locked)+len(o.writes[i].keys) > 0 }) {
		return -1
	}
	desc := v.schema[i]
	if s.Verb == InsertVerb {
		row, _ := desc.newRow(s, v.data[i].serial)
		n, _ := desc.keyBlocker(i, row, append(x.rows(v, i), row), others)
		return n
	}
	var final [][]any
	if next, _, err := x.changed(v, i, s); err == nil && s.Verb == UpdateVerb {
		final = next.rows(v, i)
	}
	for _, r := range x.sees(v, i) {
		if !desc.matches(r.values, s.Where) {
			continue
		}
		if x.stale(v, i, r) {
			return -1 // it fails here
		}
		for n, o := range others {
			if _, locked := o.writes[i].find(r.row); locked && !r.own {
				return n
			}
		}
		if s.Verb == UpdateVerb {
			if n, fails := desc.keyBlocker(i, desc.changed(r.values, s.Set), final, others); n >= 0 || fails {
				return n
			}
		}
	}
	return -1
}

// keyBlocker is who holds a key of a row that is written, -1 if nobody does.
// Unique sets are looked at in their order, as far as the first in which the
// row is a duplicate in the end, so that the statement fails.
func (t Table) keyBlocker(i int, row []any, final [][]any, others []*Transaction) (n int, fails bool) {
	for u, unique := range t.Unique {
		held, key := t.heldKey(u, row), t.key(unique, row)
		if key == "" {
			continue
		}
		for n, o := range others {
			if _, found := slices.BinarySearch(o.writes[i].keys, held); found {
				return n, false
			}
		}
		same := 0
		for _, r := range final {
			if t.key(unique, r) == key {
				same++
			}
		}
		if same > 1 {
			return -1, true
		}
	}
	return -1, false
}

// String tells what the transaction sees and what it has written.
func (x *Transaction) String() string {
	var b strings.Builder
	b.WriteString("sees what is committed\n")
	if x.base != nil {
		b.Reset()
		b.WriteString("sees what was committed when it began\n")
	}
	for i, w := range x.writes {
		x.list(&b, i, w)
	}
	return b.String()
}

func (x *Transaction) list(b *strings.Builder, i int, w writes) {
	b.WriteString(x.schema[i].Name + "\n")
	if x.base != nil {
		x.base.list(b, i)
	}
	for _, l := range w.locked {
		if l.values == nil {
			fmt.Fprintf(b, "  deletes #%d\n", l.row)
			continue
		}
		fmt.Fprintf(b, "  makes #%d", l.row)
		x.schema[i].write(b, l.values)
	}
	for _, values := range w.added {
		b.WriteString("  adds")
		x.schema[i].write(b, values)
	}
	for _, key := range w.keys {
		fmt.Fprintf(b, "  holds %s\n", key)
	}
}
