package simsql_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"
	"pgregory.net/rapid"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/simsql"
)

// party carries out the ops of several requests, each with its own session, as the
// engine does.
type party struct {
	backend  exactlyone.Backend
	shared   exactlyone.State
	sessions []exactlyone.State
}

func (p *party) do(session int) func(context.Context, interleave.Op) exactlyone.Reply {
	return func(_ context.Context, op interleave.Op) (r exactlyone.Reply) {
		var others []exactlyone.State
		for i, s := range p.sessions {
			if i != session && s != nil {
				others = append(others, s)
			}
		}
		if err := p.backend.(exactlyone.Refuser).Refuses(p.shared, p.sessions[session], op, others); err != nil {
			return exactlyone.Reply{Err: err}
		}
		if p.backend.Waits(p.shared, p.sessions[session], op, others) {
			panic("nobody waits without a busy timeout")
		}
		p.shared, p.sessions[session], r = p.backend.Do(p.shared, p.sessions[session], op, clock.Epoch)
		return r
	}
}

const locksSchema = `
CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT UNIQUE, n INTEGER);
CREATE TABLE parent (id INTEGER PRIMARY KEY);
CREATE TABLE child (of INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED);
INSERT INTO t (key, n) VALUES ('a', -1), ('b', -2), ('c', -3);
INSERT INTO parent VALUES (1);
`

// side is one of two drivers with several connections.
type side struct {
	conns []driver.Conn
	open  []driver.Rows // by connection; nil if none is open
	txs   []driver.Tx
}

func newSide(conns []driver.Conn) *side {
	return &side{conns, make([]driver.Rows, len(conns)), make([]driver.Tx, len(conns))}
}

// move is one step of a random program.
type move struct {
	conn int
	what string
	sql  string
}

// moves are what programs are made of; # stands for a number used only once. What
// writes what was there before is left out in WAL mode, where simsql takes contents
// that are equal for one.
var moves = []string{
	"BEGIN", "BEGIN IMMEDIATE", "BEGIN EXCLUSIVE", "COMMIT", "COMMIT", "ROLLBACK",
	"SAVEPOINT s", "SAVEPOINT r", "RELEASE s", "ROLLBACK TO s",
	"SELECT * FROM t ORDER BY id", "SELECT 1", "SELECT count(*) FROM t",
	"INSERT INTO t (key, n) VALUES ('k#', #)", "INSERT INTO t (key, n) VALUES ('k#', #)",
	"INSERT INTO t (key, n) VALUES ('a', #)", "INSERT OR IGNORE INTO t (key, n) VALUES ('b', #)",
	"INSERT OR ROLLBACK INTO t (key, n) VALUES ('c', #)",
	"INSERT OR FAIL INTO t (key, n) VALUES ('f#', #), ('a', #)",
	"UPDATE t SET n = # WHERE id = 1", "UPDATE t SET n = # WHERE id = 999", "DELETE FROM t WHERE id = 2",
	"INSERT INTO t (key, n) VALUES ('k#', #) RETURNING id",
	"INSERT INTO child VALUES (77)", "INSERT INTO child VALUES (1)", "PRAGMA foreign_keys = ON",
	"CREATE TABLE late# (x)", "PRAGMA user_version = #",
	"tx begin", "tx commit", "tx rollback", "open", "open", "close", "drain",
}

func (s *side) do(m move) string {
	ctx := context.Background()
	switch m.what {
	case "tx begin":
		if s.txs[m.conn] != nil {
			return "open already"
		}
		tx, err := s.conns[m.conn].(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
		if err == nil {
			s.txs[m.conn] = tx
		}
		return told(err)
	case "tx commit", "tx rollback":
		tx := s.txs[m.conn]
		if tx == nil {
			return "none open"
		}
		s.txs[m.conn] = nil
		s.close(m.conn) // as database/sql does
		if m.what == "tx commit" {
			return told(tx.Commit())
		}
		return told(tx.Rollback())
	case "open":
		s.close(m.conn)
		rows, err := s.query(m.conn, "SELECT * FROM t ORDER BY id")
		if err != nil {
			return told(err)
		}
		s.open[m.conn] = rows
		return next(rows)
	case "close":
		s.close(m.conn)
		return "closed"
	case "drain": // what it finds depends on when it looks
		if rows := s.open[m.conn]; rows != nil {
			for !strings.HasPrefix(next(rows), "end") {
				continue
			}
		}
		s.close(m.conn) // as database/sql does
		return "drained"
	}
	if m.what == "BEGIN EXCLUSIVE" {
		// A connection that reads would keep half of the lock that it did not get;
		// see the package's documentation.
		s.close(m.conn)
		s.do(move{conn: m.conn, sql: "ROLLBACK"})
	}
	rows, err := s.query(m.conn, m.sql)
	if err != nil {
		return told(err)
	}
	var all []string
	for {
		row := next(rows)
		if failed, ok := strings.CutPrefix(row, "end sqlite "); ok {
			_ = rows.Close()
			return "sqlite " + failed // INSERT … RETURNING finds out at its end
		}
		all = append(all, row)
		if row == "end" {
			return fmt.Sprint(all, told(rows.Close()))
		}
	}
}

func (s *side) query(conn int, sql string) (driver.Rows, error) {
	return s.conns[conn].(driver.QueryerContext).QueryContext(context.Background(), sql, nil)
}

func (s *side) close(conn int) {
	if s.open[conn] != nil {
		_ = s.open[conn].Close()
		s.open[conn] = nil
	}
}

func next(rows driver.Rows) string {
	values := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(values); err != nil {
		if err == io.EOF {
			return "end"
		}
		return "end " + told(err)
	}
	return fmt.Sprint(values)
}

// contents is all that is committed, once nothing is open.
func (s *side) contents() []string {
	for i, c := range s.conns {
		s.close(i)
		_ = exec(c, "ROLLBACK")
	}
	var all []string
	for _, query := range []string{
		"SELECT * FROM t", "SELECT * FROM child", "SELECT * FROM sqlite_sequence",
		"SELECT name, sql FROM sqlite_schema", "PRAGMA user_version",
	} {
		all = append(all, query+": "+s.do(move{sql: query}))
	}
	return all
}

// program is a random program, and on how many connections it runs.
type program struct {
	conns    int
	together bool // one request has all connections
	moves    []move
}

// programOf draws a program of at least so many moves.
func programOf(least int) *rapid.Generator[program] {
	return rapid.Custom(func(t *rapid.T) program {
		p := program{conns: rapid.IntRange(2, 3).Draw(t, "connections"), together: rapid.Bool().Draw(t, "together")}
		p.moves = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
			what := rapid.SampledFrom(moves).Draw(t, "move")
			return move{conn: rapid.IntRange(0, p.conns-1).Draw(t, "connection"), what: what}
		}), least, 50).Draw(t, "moves")
		for i, m := range p.moves {
			p.moves[i].sql = strings.ReplaceAll(m.what, "#", fmt.Sprint(100+i))
		}
		return p
	})
}

var files = map[string]simsql.Options{"rollback": {}, "wal": {Journal: simsql.WAL}}

// TestLocks: fixed random programs on several connections meet the same errors and
// results as on real files.
func TestLocks(t *testing.T) {
	for name, o := range files {
		t.Run(name, func(t *testing.T) {
			c := newComparison(t, o)
			for seed := range 250 {
				if err := c.run(programOf(15).Example(seed)); err != nil {
					t.Fatalf("program %d: %v", seed, err)
				}
			}
			t.Logf("met %v", c.met)
			if c.met["(SQLITE_BUSY)"] == 0 || o.Journal == simsql.WAL && c.met["(517)"] == 0 {
				t.Errorf("met %v: each was expected", c.met)
			}
		})
	}
}

// TestLocksAnew is TestLocks with other programs each time; what differs is shrunk.
// Run it with -rapid.checks=10000 after a change.
func TestLocksAnew(t *testing.T) {
	for name, o := range files {
		t.Run(name, func(t *testing.T) {
			c := newComparison(t, o)
			rapid.Check(t, func(t *rapid.T) {
				if err := c.run(programOf(1).Draw(t, "program")); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// comparison runs programs on real files and on a simulated store.
type comparison struct {
	dir     string
	files   int
	options simsql.Options
	store   exactlyone.Store
	backend exactlyone.Backend
	met     map[string]int
}

func newComparison(t *testing.T, o simsql.Options) *comparison {
	s := simsql.Store("db", locksSchema, o)
	b, err := s.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return &comparison{dir: t.TempDir(), options: o, store: s, backend: b, met: map[string]int{}}
}

func (c *comparison) run(p program) error {
	conns, err := c.real(p.conns)
	if err != nil {
		return err
	}
	real := newSide(conns)
	defer func() {
		for i, conn := range real.conns {
			real.close(i)
			_ = conn.Close()
		}
	}()
	if conns, err = c.simulated(p); err != nil {
		return err
	}
	simulated := newSide(conns)
	var want, got []string
	for i, m := range p.moves {
		line := fmt.Sprintf("%d: connection %d: %s: ", i, m.conn, m.what)
		// The driver adds what the last statement erred with, whether or not it
		// has to do with the lock.
		found := strings.Replace(real.do(m), "locked: UNIQUE constraint failed: t.key", "locked", 1)
		want, got = append(want, line+found), append(got, line+simulated.do(m))
		if want[i] != got[i] {
			break
		}
		for _, word := range []string{"(SQLITE_BUSY)", "(517)"} {
			if strings.Contains(found, word) {
				c.met[word]++
			}
		}
	}
	if slices.Equal(want, got) {
		want, got = append(want, real.contents()...), append(got, simulated.contents()...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("one request %t: the simulated driver differs:\n%s\nas in\n%s", p.together, diff, strings.Join(want, "\n"))
	}
	return nil
}

// real opens connections to a new file.
func (c *comparison) real(n int) (all []driver.Conn, err error) {
	c.files++
	name := filepath.Join(c.dir, fmt.Sprint(c.files, ".db"))
	if c.options.Journal == simsql.WAL {
		name += "?_pragma=journal_mode(WAL)"
	}
	for i := range n {
		conn, err := (&sqlite.Driver{}).Open(name)
		if err != nil {
			return nil, err
		}
		all = append(all, conn)
		if err := exec(conn, "PRAGMA synchronous=OFF"); err != nil {
			return nil, err
		}
		if i == 0 {
			if err := exec(conn, locksSchema); err != nil {
				return nil, err
			}
		}
	}
	for _, conn := range all { // each knows the schema before the program begins
		if err := exec(conn, "SELECT * FROM t"); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func exec(c driver.Conn, query string) error {
	_, err := c.(driver.ExecerContext).ExecContext(context.Background(), query, nil)
	return err
}

// simulated opens connections to the store as it was set up.
func (c *comparison) simulated(p program) (all []driver.Conn, err error) {
	start, err := c.backend.Start()
	if err != nil {
		return nil, err
	}
	party := &party{backend: c.backend, shared: start, sessions: make([]exactlyone.State, p.conns)}
	connector := c.store.Connector(party.do(0))
	for i := range p.conns {
		if !p.together {
			connector = c.store.Connector(party.do(i))
		}
		conn, err := connector.Connect(context.Background())
		if err != nil {
			return nil, err
		}
		all = append(all, conn)
	}
	return all, nil
}
