package simsql

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
)

// database is what all connections to a store know without asking it.
type database struct {
	name, setup string
	settings
	traits

	mu     sync.Mutex
	parsed map[string][]*statement // by SQL text
	sound  map[string]bool         // SQL that can be prepared after the set-up
}

// traits are what a schema calls, in a default or a trigger, that makes statements
// depend on more than what is stored.
type traits struct {
	times  bool // the clock
	random bool // random()
	last   bool // last_insert_rowid()
}

func traitsOf(script []*statement) (t traits) {
	for _, s := range script {
		if s.defines {
			t.times, t.random, t.last = t.times || s.times, t.random || s.random, t.last || s.last
		}
	}
	return t
}

func newDatabase(name, setup string, script []*statement, s settings) *database {
	return &database{
		name: name, setup: setup, settings: s, traits: traitsOf(script),
		parsed: map[string][]*statement{}, sound: map[string]bool{},
	}
}

// statements are those of an SQL text.
func (d *database) statements(text string) []*statement {
	d.mu.Lock()
	defer d.mu.Unlock()
	all, ok := d.parsed[text]
	if !ok {
		all = split(text)
		d.parsed[text] = all
	}
	return all
}

// isSound says whether a statement can be prepared after the set-up, so that
// preparing it there asks for nothing.
func (d *database) isSound(text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	yes, ok := d.sound[text]
	if !ok {
		if b, err := open(d.name, d.setup, d.settings); err == nil {
			_, err := b.worker.prepare(text)
			yes = err == nil
			_ = b.Close()
		}
		d.sound[text] = yes
	}
	return yes
}

// connector opens connections for one process.
type connector struct {
	*database
	do func(context.Context, interleave.Op) exactlyone.Reply

	mu     sync.Mutex
	opened int
	conns  map[int]*conn
}

// Idle says whether neither a transaction nor a result is open on a connection; see
// [exactlyone.Idler].
func (c *connector) Idle(connection int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	on := c.conns[connection]
	return on == nil || !on.within && len(on.open) == 0
}

// Driver is what opens the connections.
func (c *connector) Driver() driver.Driver { return simDriver{} }

type simDriver struct{}

func (simDriver) Open(string) (driver.Conn, error) {
	return nil, errors.New("simsql: a store is opened by exactlyone, see Env.DB")
}

// Connect opens a connection. That takes no step.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened++
	if c.conns == nil {
		c.conns = map[int]*conn{}
	}
	opened := &conn{connector: c, number: c.opened, keys: c.keys, timeout: c.timeout}
	c.conns[c.opened] = opened
	return opened, nil
}

// conn is a connection: [driver.Conn] and what modernc.org/sqlite implements
// besides.
type conn struct {
	*connector
	number  int
	closed  bool
	within  bool // a transaction is open
	keys    bool // foreign keys are enforced
	timeout time.Duration
	memory  memory  // what its SQL functions answer, and Exec after a statement that sets nothing
	open    []*rows // whose closing may matter
}

// ask hands a statement to the store.
func (c *conn) ask(ctx context.Context, sql *statement, args []arg, query bool) (*answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if sql.refused != "" {
		return nil, fmt.Errorf("simsql: %s: %s", brief(sql.text), sql.refused)
	}
	if sql.verb == verbPragma && pragmas[sql.pragma] == pragmaOwn {
		return c.pragma(sql)
	}
	return c.perform(ctx, c.opFor(sql, args, query))
}

// opFor is the op of a statement.
func (c *conn) opFor(sql *statement, args []arg, query bool) op {
	o := op{
		conn: c.number, command: command{sql: sql, args: args}, query: query,
		patient: c.timeout > 0 && c.journal != Memory, keys: c.keys, within: c.within,
	}
	ordinary := sql.verb == verbOther
	o.timed = ordinary && (sql.times || c.times)
	if ordinary && sql.last || c.last && sql.dml {
		o.memory.last = c.memory.last
	}
	if sql.changes {
		o.memory.changes, o.memory.total = c.memory.changes, c.memory.total
	}
	if ordinary && (sql.random || c.random && !sql.reads) {
		var seed [8]byte
		_, _ = rand.Read(seed[:]) // it never errs
		o.memory.random = binary.LittleEndian.Uint64(seed[:])
	}
	for _, r := range c.open {
		if r.within {
			o.rows++
		}
	}
	return o
}

// perform lets the store carry out an op, and remembers what a connection
// remembers.
func (c *conn) perform(ctx context.Context, o op) (*answer, error) {
	r := c.do(ctx, o)
	if errors.Is(r.Err, context.Canceled) || errors.Is(r.Err, context.DeadlineExceeded) {
		return nil, r.Err // it was never carried out
	}
	if r.Err != nil {
		err := asDriver(r.Err)
		c.failed(o, err)
		return nil, err
	}
	a, _ := r.Value.(*answer)
	if a == nil {
		a = &answer{within: c.within}
	}
	c.setWithin(a.within)
	if a.inserted {
		c.memory.last = a.last
	}
	if a.changed {
		c.memory.changes, c.memory.total = a.affected, c.memory.total+a.total
	}
	return a, nil
}

// setWithin notes whether a transaction is open. Results that outlive it hold
// their lock by themselves.
func (c *conn) setWithin(yes bool) {
	if c.within && !yes {
		for _, r := range c.open {
			r.within = false
		}
	}
	c.within = yes
}

// failed notes what an error may have changed.
func (c *conn) failed(o op, err error) {
	switch code(err) {
	case busy:
		if (o.sql.verb == verbCommit || o.sql.verb == verbRelease) && c.journal == Rollback {
			c.do(context.Background(), pendingOp{c.number})
		}
	case busySnapshot:
	default:
		if c.within || o.sql.verb == verbBegin {
			if a, ok := c.do(context.Background(), statusOp{c.number}).Value.(*answer); ok {
				c.setWithin(a.within)
			}
		}
	}
}

// pragma answers one that concerns only the connection.
func (c *conn) pragma(sql *statement) (*answer, error) {
	a := &answer{within: c.within, columns: []string{sql.pragma}, types: []string{""}}
	one := func(v driver.Value) (*answer, error) {
		a.rows, a.times = [][]driver.Value{{v}}, [][]bool{nil}
		return a, nil
	}
	none := func() (*answer, error) {
		a.columns, a.types = nil, nil
		return a, nil
	}
	set := sql.argument != ""
	switch sql.pragma {
	case "journal_mode":
		mode := map[Journal]string{Rollback: "delete", WAL: "wal", Memory: "memory"}[c.journal]
		if set && c.journal != Memory && !strings.EqualFold(sql.argument, mode) {
			return nil, fmt.Errorf("simsql: store %s has journal mode %s, %s sets another: say it in Options.Journal", c.name, mode, brief(sql.text))
		}
		return one(mode)
	case "busy_timeout":
		if set {
			var ms int
			if _, err := fmt.Sscan(sql.argument, &ms); err == nil {
				c.timeout = time.Duration(max(0, ms)) * time.Millisecond
			}
		}
		a.columns = []string{"timeout"}
		return one(c.timeout.Milliseconds())
	case "foreign_keys":
		if set {
			if !c.within {
				c.keys = on(sql.argument)
			}
			return none()
		}
		if c.keys {
			return one(int64(1))
		}
		return one(int64(0))
	case "wal_checkpoint":
		a.columns, a.types = []string{"busy", "log", "checkpointed"}, []string{"", "", ""}
		a.rows, a.times = [][]driver.Value{{int64(0), int64(-1), int64(-1)}}, [][]bool{nil}
		if c.journal == WAL {
			a.rows[0] = []driver.Value{int64(0), int64(0), int64(0)}
		}
		return a, nil
	}
	if set || sql.pragma == "optimize" {
		return none()
	}
	return nil, fmt.Errorf("simsql: %s: it can be set, not read", brief(sql.text))
}

// argsOf are the arguments as the op carries them. A time without a format that
// was chosen becomes the text that the driver would make of it, in which the
// reading of the monotonic clock counts from the epoch of virtual time: what the
// process has been running for would differ from run to run.
func (c *conn) argsOf(args []driver.NamedValue) []arg {
	var all []arg
	for _, a := range args {
		if t, ok := a.Value.(time.Time); ok {
			plain := t.Round(0)
			switch {
			case c.format || c.numbers || t.String() == plain.String():
				a.Value = plain
			default:
				d := t.Sub(clock.Epoch)
				sign := "+"
				if d < 0 {
					sign, d = "-", -d
				}
				a.Value = fmt.Sprintf("%s m=%s%d.%09d", plain, sign, d/time.Second, d%time.Second)
			}
		}
		if b, ok := a.Value.([]byte); ok {
			a.Value = append(b[:0:0], b...)
			if b != nil && len(b) == 0 {
				a.Value = []byte{}
			}
		}
		all = append(all, arg(a))
	}
	return all
}

// brief is SQL on one line.
func brief(sql string) string { return strings.Join(strings.Fields(sql), " ") }
