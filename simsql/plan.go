package simsql

import (
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
)

// access is which lock of the database a statement needs.
type access uint8

const (
	accessNone  access = iota // it does not look at the database
	accessRead                // shared
	accessWrite               // reserved
)

// plan is what SQLite would do for a statement, as EXPLAIN tells: every
// statement begins with an opcode Transaction that takes the lock it needs, and
// opens the tables and indexes that it may write to, those of its triggers and
// foreign keys too.
type plan struct {
	access access
	writes []string // tables that it may change
	all    bool     // it may change anything, the schema too
}

// planIn is the plan of a statement on a connection that reads where a schema
// holds. The worker must stand there. In a transaction that changed the schema
// every statement may change anything.
func (b *backend) planIn(s *schema, conn connState, c command) *plan {
	if !slices.ContainsFunc(conn.plans, func(p *plan) bool { return p.all }) {
		return b.planOf(s, c)
	}
	p := *b.planOf(&schema{seen: map[string]*plan{}}, c)
	p.all = p.access == accessWrite
	return &p
}

// planOf is planIn where the schema is as s says.
func (b *backend) planOf(s *schema, c command) *plan {
	if p, ok := s.seen[c.sql.text]; ok {
		return p
	}
	p := &plan{}
	switch {
	case c.sql.verb == verbBegin:
		if c.sql.mode != "deferred" {
			p.access = accessWrite
		}
	case c.sql.verb == verbPragma && pragmas[c.sql.pragma] != pragmaWrite, c.sql.verb == verbPragma && c.sql.argument == "":
		if pragmas[c.sql.pragma] == pragmaRead || pragmas[c.sql.pragma] == pragmaWrite {
			p.access = accessRead
		}
	case c.sql.verb == verbOther, c.sql.verb == verbPragma:
		if b.explain(s, c, p) != nil {
			return p // what is wrong with it, its execution tells
		}
	}
	s.seen[c.sql.text] = p
	return p
}

// changing are opcodes that change more than rows of tables that were opened.
var changing = []string{
	"SetCookie", "ParseSchema", "CreateBtree", "Destroy", "DropTable", "DropIndex", "DropTrigger",
	"VUpdate", "VCreate", "VDestroy", "VRename", "VBegin", "Vacuum", "IncrVacuum", "JournalMode",
}

func (b *backend) explain(s *schema, c command, p *plan) error {
	text := "EXPLAIN " + c.sql.text
	if c.sql.words[0] == "EXPLAIN" {
		text = c.sql.text
	}
	rows, err := b.worker.once(text, c.args)
	if err != nil {
		return err
	}
	for _, row := range rows {
		op, _ := row[1].(string)
		p1, _ := row[2].(int64)
		p2, _ := row[3].(int64)
		p3, _ := row[4].(int64)
		switch {
		case op == "Transaction" && p1 == 0:
			p.access = max(p.access, accessRead+access(min(p2, 1)))
		case op == "OpenWrite" && p3 == 0:
			p.touch(s, p2)
		case op == "Clear" && p2 == 0:
			p.touch(s, p1)
		case slices.Contains(changing, op):
			p.all = true
		}
	}
	if c.sql.words[0] == "EXPLAIN" {
		*p = plan{access: accessRead}
	}
	return nil
}

// touch notes that a table or an index may be written to, by its root page.
func (p *plan) touch(s *schema, root int64) {
	name, ok := s.roots[root]
	switch {
	case !ok:
		p.all = true // the schema itself, or what we do not know
	case !slices.Contains(p.writes, name):
		p.writes = append(p.writes, name)
	}
}

// once performs a statement that will not be needed again.
func (w *worker) once(text string, args []arg) (all [][]driver.Value, err error) {
	st, err := w.raw.Prepare(text)
	if err != nil {
		return nil, err
	}
	w.prepared[text] = st.(prepared)
	defer func() {
		delete(w.prepared, text)
		_ = st.Close()
	}()
	err = w.query(func(row []driver.Value) { all = append(all, slices.Clone(row)) }, text, args...)
	return all, err
}

// readSchema reads what is declared.
func (b *backend) readSchema() (*schema, error) {
	s := &schema{roots: map[int64]string{}, seen: map[string]*plan{}, readers: map[string]string{}}
	var text strings.Builder
	err := b.worker.query(func(row []driver.Value) {
		kind, _ := row[0].(string)
		name, _ := row[1].(string)
		of, _ := row[2].(string)
		root, _ := row[3].(int64)
		sql, _ := row[4].(string)
		fmt.Fprintf(&text, "%s %s: %s\n", kind, name, sql)
		if root != 0 {
			s.roots[root] = of
		}
		if kind == "table" && root != 0 {
			s.tables = append(s.tables, name)
		}
	}, "SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema ORDER BY type = 'table' DESC, name")
	s.text = text.String()
	if err != nil {
		return nil, err
	}
	if known, ok := b.schemas[s.text]; ok && sameRoots(known, s) {
		return known, nil
	}
	b.schemas[s.text] = s
	return s, nil
}

func sameRoots(a, b *schema) bool { return fmt.Sprint(a.roots) == fmt.Sprint(b.roots) }

// read is the content where the worker stands, which began as from. Only the
// tables that plans may have changed are read.
func (b *backend) read(from *content, plans []*plan) (*content, error) {
	s := from.schema
	all := false
	changed := map[string]bool{}
	for _, p := range plans {
		all = all || p.all
		for _, name := range p.writes {
			changed[name] = true
		}
	}
	version := from.version
	if all {
		var err error
		if s, err = b.readSchema(); err != nil {
			return nil, err
		}
		if version, err = b.readVersion(); err != nil {
			return nil, err
		}
	}
	tables := make([]*table, len(s.tables))
	for i, name := range s.tables {
		if !all && !changed[name] {
			tables[i] = from.tables[i]
			continue
		}
		t, err := b.readTable(s, name)
		if err != nil {
			return nil, err
		}
		tables[i] = t
	}
	return newContent(b, s, tables, version), nil
}

// readVersion is the numbers that an application keeps in the database's header,
// "" if it keeps none.
func (b *backend) readVersion() (string, error) {
	var text string
	err := b.worker.query(func(row []driver.Value) {
		if row[0] != int64(0) || row[1] != int64(0) {
			text = fmt.Sprintf("user_version %v, application_id %v\n", row[0], row[1])
		}
	}, "SELECT v.user_version, a.application_id FROM pragma_user_version v, pragma_application_id a")
	return text, err
}

// readTable reads all rows of a table in the order of their rowids, or of their
// primary key if they have none.
func (b *backend) readTable(s *schema, name string) (*table, error) {
	text, err := b.readText(s, name)
	if err != nil {
		return nil, err
	}
	r, err := b.worker.rows(text)
	if err != nil {
		return nil, err
	}
	all := strings.Join(r.lines, "\n")
	if known, ok := b.tables[name][all]; ok {
		return known, nil
	}
	t := &table{name: name, lines: r.lines, dates: r.dates}
	if all != "" {
		t.text = name + strings.Join(r.lines, "\n"+name) + "\n"
	}
	if b.tables[name] == nil {
		b.tables[name] = map[string]*table{}
	}
	b.tables[name][all] = t
	return t, nil
}

// readText is the statement that reads a table.
func (b *backend) readText(s *schema, name string) (string, error) {
	if text, ok := s.readers[name]; ok {
		return text, nil
	}
	var columns, keys []string
	rowid := false // a column is the rowid
	err := b.worker.query(func(row []driver.Value) {
		column, _ := row[0].(string)
		kind, _ := row[1].(string)
		columns = append(columns, quote(column))
		if row[2] != int64(0) {
			keys = append(keys, quote(column))
			rowid = strings.EqualFold(kind, "INTEGER")
		}
	}, "SELECT name, type, pk FROM pragma_table_info(?) ORDER BY cid", arg{Ordinal: 1, Value: name})
	if err != nil {
		return "", err
	}
	from := ") FROM " + quote(name) + " ORDER BY "
	list := "SELECT simsql_row(" + strings.Join(columns, ", ") + from
	text := "SELECT simsql_row(rowid, " + strings.Join(columns, ", ") + from + "rowid"
	if name == "sqlite_sequence" { // which row came first does not matter
		text = list + "name"
	} else if len(keys) == 1 && rowid {
		text = list + "rowid"
	}
	if _, err := b.worker.prepare(text); err != nil { // it has no rowid
		text = list + strings.Join(keys, ", ")
	}
	s.readers[name] = text
	return text, nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
