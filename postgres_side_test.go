//go:build linux

package exactlyone

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"exactlyone/interleave"
	"exactlyone/model"
)

// postgresSide is a PostgreSQL server. Each statement of a transaction has a
// savepoint around it, so that one that would wait, or breaks a constraint, can
// be undone alone.
type postgresSide struct {
	level    Isolation
	monitor  *psql
	sessions []*psql
	autos    []*psql
	open     []bool
	ids      map[string]string // PostgreSQL's serial numbers as memory gives them
}

func newPostgresSide(t *testing.T, p *postgres, sessions int) *postgresSide {
	s := &postgresSide{monitor: p.connect(t), open: make([]bool, sessions)}
	for _, table := range isolationSchema {
		s.monitor.do(createSQL(table))
	}
	for range sessions {
		s.sessions, s.autos = append(s.sessions, p.connect(t)), append(s.autos, p.connect(t))
	}
	for _, c := range slices.Concat(s.sessions, s.autos) {
		c.do("SET lock_timeout = 10;")
	}
	return s
}

// reset begins a schedule anew.
func (p *postgresSide) reset(level Isolation) {
	p.level, p.ids = level, map[string]string{}
	for who := range p.sessions {
		if p.open[who] {
			p.do(who, RollbackOp{})
		}
		p.autos[who].do("SET default_transaction_isolation = '" + p.levelSQL() + "';")
	}
	for _, table := range isolationSchema {
		p.monitor.do("TRUNCATE " + table.Name + " RESTART IDENTITY;")
	}
	for i, st := range isolationRows {
		p.monitor.do(sqlOf(tableOf(isolationSchema, st.Table), st))
		p.ids[strconv.Itoa(i+1)] = strconv.Itoa(i + 1)
	}
}

func (p *postgresSide) levelSQL() string {
	if p.level == SnapshotIsolation {
		return "REPEATABLE READ"
	}
	return "READ COMMITTED"
}

// do is memorySide's do on PostgreSQL.
func (p *postgresSide) do(who int, op interleave.Op) string {
	c := p.sessions[who]
	switch op := op.(type) {
	case BeginOp:
		if p.open[who] {
			return "waits" // a session is one connection
		}
		c.do("BEGIN ISOLATION LEVEL " + p.levelSQL() + ";")
		c.do("SELECT 1;") // takes the snapshot
		p.open[who] = true
		return "0 changed"
	case CommitOp, RollbackOp:
		c.do(fmt.Sprint(op, ";"))
		p.open[who] = false
		return "0 changed"
	case StmtOp:
		within := p.open[who] && !op.Auto
		if !within {
			c = p.autos[who]
		}
		p.send(c, op.Stmt, within)
		return p.replied(who, op.Stmt, within, c.reply())
	}
	panic("no such op")
}

func (p *postgresSide) send(c *psql, s model.Stmt, within bool) {
	sql := sqlOf(tableOf(isolationSchema, s.Table), s)
	if within {
		sql = "SAVEPOINT s; " + sql
	}
	c.send(sql)
}

// replied is the text of the reply to a statement of which psql printed this.
func (p *postgresSide) replied(who int, s model.Stmt, within bool, printed string) string {
	err := failure(printed)
	if within {
		switch {
		case err == nil:
			p.sessions[who].do("RELEASE SAVEPOINT s;")
		case model.EndsTx(err):
			p.sessions[who].do("ROLLBACK;")
			p.open[who] = false
		default:
			p.sessions[who].do("ROLLBACK TO SAVEPOINT s; RELEASE SAVEPOINT s;")
		}
	}
	if errors.Is(err, errWaits) {
		return "waits"
	}
	if err != nil {
		return Reply{Err: err}.String()
	}
	lines := strings.Split(strings.TrimPrefix(strings.TrimPrefix(printed, "SAVEPOINT"), "\n"), "\n")
	tag := lines[len(lines)-1]
	switch s.Verb {
	case model.SelectVerb:
		rows := []model.Row{}
		for _, line := range lines {
			if line != "" {
				rows = append(rows, p.row(tableOf(isolationSchema, s.Table), line))
			}
		}
		return Reply{Result: model.Result{Rows: rows}}.String()
	case model.InsertVerb:
		if s.Table == "t" && tag == "INSERT 0 1" {
			return "id " + lines[0] // as PostgreSQL gave it; see sameID
		}
	}
	return tag[strings.LastIndex(tag, " ")+1:] + " changed"
}

// row reads a row that psql has printed.
func (p *postgresSide) row(t model.Table, line string) model.Row {
	r := model.Row{}
	for i, text := range strings.Split(line, "|") {
		col := t.Columns[i]
		switch {
		case text == "NULL":
			r[col.Name] = nil
		case col.Kind == model.Text:
			r[col.Name] = text
		default:
			if col.Kind == model.Serial && p.ids[text] != "" {
				text = p.ids[text]
			}
			n, _ := strconv.ParseInt(text, 10, 64)
			r[col.Name] = n
		}
	}
	return r
}

// same compares replies of memory and PostgreSQL. A sequence leaves more gaps
// than memory does, and there is no order of rows without ORDER BY.
func (p *postgresSide) same(memory, postgres string) bool {
	mine, okMine := strings.CutPrefix(memory, "id ")
	theirs, okTheirs := strings.CutPrefix(postgres, "id ")
	if okMine && okTheirs {
		p.ids[theirs] = mine
		return true
	}
	return sortedReply(memory) == sortedReply(postgres)
}

func sortedReply(reply string) string {
	if !strings.Contains(reply, "(") {
		return reply
	}
	parts := strings.Split(reply, " (")
	slices.Sort(parts[1:])
	return strings.Join(parts, " (")
}
