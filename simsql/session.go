package simsql

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// lock is what a connection holds of a database file, as in SQLite. In WAL mode
// there is no pending one, and an exclusive one is reserved.
type lock uint8

const (
	unlocked lock = iota
	shared
	reserved
	pending
	exclusive
)

var lockNames = [...]string{"no lock", "shared", "reserved", "pending", "exclusive"}

// session is what one request has open: its connections that hold something, by
// number. It never changes.
type session struct {
	conns []connState
	text  string
}

// connState is what one connection holds.
type connState struct {
	number int
	open   bool     // a transaction is open
	lock   lock     // held
	base   *content // what it reads on, in WAL mode, once it has read
	log    *log     // what the transaction did
	plans  []*plan  // of its statements
	saves  []string // savepoints, the oldest first
	saved  bool     // the oldest savepoint began the transaction
	rows   int      // open results that hold the lock outside a transaction
	keys   bool     // foreign keys are enforced
}

// log is what a transaction did that may matter, the last statement first.
// Statements that only read are left out.
type log struct {
	before *log
	id     string
	do     command
	now    time.Time // zero if the statement cannot look at the clock
	keys   bool      // foreign keys are enforced
}

// command is an SQL statement with its arguments, and what it asks of the memory
// of its connection.
type command struct {
	sql    *statement
	args   []arg
	memory memory
}

// memory is what a connection remembers for SQL functions; zero where the
// statement calls none of them.
type memory struct {
	last           int64 // last_insert_rowid()
	changes, total int64
	random         uint64 // what random() begins with
}

func (c command) String() string {
	s := c.sql.text
	if len(c.args) > 0 {
		all := make([]string, len(c.args))
		for i, a := range c.args {
			all[i] = a.String()
		}
		s += " [" + strings.Join(all, ", ") + "]"
	}
	if c.memory != (memory{}) {
		s += fmt.Sprintf(" %+v", c.memory)
	}
	return s
}

func (l *log) add(e log) *log {
	e.before = l
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%s|%d|%t", l.name(), e.do, e.now.UnixNano(), e.keys))
	e.id = hex.EncodeToString(sum[:12])
	return &e
}

func (l *log) name() string {
	if l == nil {
		return ""
	}
	return l.id
}

// since is what was done after an earlier point, the first first; ok is false if
// it is no earlier point.
func (l *log) since(earlier *log) (all []*log, ok bool) {
	for ; l.name() != earlier.name(); l = l.before {
		if l == nil {
			return nil, false
		}
		all = append(all, l)
	}
	slices.Reverse(all)
	return all, true
}

// idle says whether the connection holds nothing.
func (c *connState) idle() bool { return !c.open && c.rows == 0 }

func (c *connState) String() string {
	s := fmt.Sprintf("connection %d", c.number) + flags(
		flag{c.open, "in a transaction"},
		flag{c.lock != unlocked, lockNames[c.lock]},
		flag{c.rows > 0, fmt.Sprintf("%d open results", c.rows)},
	)
	if c.base != nil {
		s += " on " + c.base.id
	}
	if c.log == nil {
		return s
	}
	all, _ := c.log.since(nil)
	texts := make([]string, len(all))
	for i, e := range all {
		texts[i] = e.do.String()
	}
	return s + ": " + strings.Join(texts, "; ") + " = " + c.log.id
}

// conn is the state of a connection, that of a fresh one if it holds nothing.
func (s *session) conn(number int) connState {
	if s != nil {
		for _, c := range s.conns {
			if c.number == number {
				return c
			}
		}
	}
	return connState{number: number}
}

// with is the session after one of its connections changed; nil if none holds
// anything.
func (s *session) with(c connState) *session {
	var conns []connState
	if s != nil {
		conns = slices.DeleteFunc(slices.Clone(s.conns), func(o connState) bool { return o.number == c.number })
	}
	if !c.idle() {
		conns = append(conns, c)
	}
	if len(conns) == 0 {
		return nil
	}
	slices.SortFunc(conns, func(a, b connState) int { return a.number - b.number })
	return newSession(conns)
}

func newSession(conns []connState) *session {
	all := make([]string, len(conns))
	for i := range conns {
		all[i] = conns[i].String()
	}
	return &session{conns: conns, text: strings.Join(all, "\n")}
}

func (s *session) String() string { return s.text }

// Times is what the statements of open transactions name.
func (s *session) Times() []time.Time {
	var all []time.Time
	for _, c := range s.conns {
		for l := c.log; l != nil; l = l.before {
			all = append(all, timesOf(l.do.args)...)
		}
	}
	return all
}
