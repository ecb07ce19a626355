package simsql

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"exactlyone"
)

// content is what is committed: a State. Two contents are equal if their texts
// are: the rows of all tables in the order of their rowids, and the schema where
// it is no longer that of the set-up. It never changes.
type content struct {
	store   *backend
	schema  *schema
	tables  []*table // in the order of schema.tables
	text    string
	id      string // a hash of text
	version string // user_version and the like, "" if not used

	parent *content // what it was made of, by the statements of made
	made   *log     // nil for the first content

	image []string // its pages, once it was left; guarded by store.mu
}

// schema is what is declared, and what follows from it.
type schema struct {
	text   string   // all of it, as SQLite keeps it
	tables []string // that hold rows, by name
	roots  map[int64]string
	// Guarded by store.mu:
	seen    map[string]*plan  // by SQL
	readers map[string]string // statements that read the tables, by name
}

// table is what one table holds. Equal tables of one store are one pointer.
type table struct {
	name  string
	lines []string // its rows
	text  string
	dates []driver.Value // that may be times
}

func newContent(b *backend, s *schema, tables []*table, version string) *content {
	c := &content{store: b, schema: s, tables: tables, version: version}
	var text strings.Builder
	if b.first != nil && s.text != b.first.schema.text {
		text.WriteString("schema: " + s.text + "\n")
	}
	text.WriteString(version)
	for _, t := range tables {
		text.WriteString(t.text)
	}
	c.text = text.String()
	if c.text == "" {
		c.text = "empty"
	}
	sum := sha256.Sum256([]byte(c.String()))
	c.id = hex.EncodeToString(sum[:12])
	return c
}

// String names the store as well: contents of two stores are not the same, whatever
// they hold.
func (c *content) String() string { return c.store.name + ": " + c.text }

// is says whether two contents are one also to the worker: equal, and with each
// table at the same place.
func (c *content) is(o *content) bool { return c.id == o.id && c.schema == o.schema }

// Times is the times in all rows.
func (c *content) Times() []time.Time {
	var all []driver.Value
	for _, t := range c.tables {
		all = append(all, t.dates...)
	}
	return timesIn(all)
}

// Since says how it differs from an earlier content, row by row.
func (c *content) Since(before exactlyone.State) string {
	old, ok := before.(*content)
	if !ok {
		return c.text
	}
	var all []string
	if c.schema.text != old.schema.text {
		all = append(all, "the schema changes")
	}
	for _, now := range c.tables {
		var was table
		if i := slices.IndexFunc(old.tables, func(t *table) bool { return t.name == now.name }); i >= 0 {
			was = *old.tables[i]
		}
		if was.text == now.text || now.name == "sqlite_sequence" {
			continue
		}
		for _, line := range was.lines {
			if !slices.Contains(now.lines, line) {
				all = append(all, "- "+now.name+line)
			}
		}
		for _, line := range now.lines {
			if !slices.Contains(was.lines, line) {
				all = append(all, "+ "+now.name+line)
			}
		}
	}
	return strings.Join(all, "; ")
}

// literal is a value as SQL writes it.
func literal(v driver.Value) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		s := strconv.FormatFloat(v, 'g', -1, 64)
		if !strings.ContainsAny(s, ".eIN") {
			s += ".0"
		}
		return s
	case bool:
		return strings.ToUpper(strconv.FormatBool(v))
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case []byte:
		return "x'" + hex.EncodeToString(v) + "'"
	case time.Time:
		return "time '" + v.String() + "'"
	}
	return fmt.Sprintf("%T %v", v, v)
}

// tuple is several values.
func tuple(values []driver.Value) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = literal(v)
	}
	return "(" + strings.Join(all, ", ") + ")"
}
