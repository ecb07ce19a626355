package simsql

import (
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	"exactlyone"
	"exactlyone/interleave"
)

// op is one statement on one connection: a step.
type op struct {
	conn int
	command
	query   bool // its rows are asked for
	timed   bool // it may look at the clock, itself or through the schema
	patient bool // it waits for locks, as busy_timeout says
	keys    bool // foreign keys are enforced on its connection
	within  bool // its connection has a transaction open
	rows    int  // results of the connection that are still open
	clears  bool // a ROLLBACK that the driver adds to a COMMIT that failed
}

func (o op) String() string {
	return o.command.String() + flags(
		flag{o.conn != 1, fmt.Sprintf("connection %d", o.conn)},
		flag{o.query, "for rows"},
		flag{o.keys, "foreign keys"},
		flag{o.within, "in a transaction"},
		flag{o.rows > 0, fmt.Sprintf("%d open results", o.rows)},
		flag{o.patient, "may wait"},
		flag{o.clears, "cleans up"},
	)
}

// flag is something to be told if it is so.
type flag struct {
	on   bool
	text string
}

// flags is what is so, in brackets; "" if nothing is.
func flags(all ...flag) string {
	var texts []string
	for _, f := range all {
		if f.on {
			texts = append(texts, f.text)
		}
	}
	if texts == nil {
		return ""
	}
	return " (" + strings.Join(texts, ", ") + ")"
}

// Brief is the statement on one line.
func (o op) Brief() string {
	s := strings.Join(strings.Fields(o.sql.text), " ")
	if len(o.args) == 0 {
		return s
	}
	all := make([]string, len(o.args))
	for i, a := range o.args {
		all[i] = a.brief()
	}
	return s + " [" + strings.Join(all, ", ") + "]"
}

// Kind is what the statement means to transactions. A deferred BEGIN is of no
// kind: it takes no lock, so nothing can go wrong with it.
func (o op) Kind() exactlyone.OpKind {
	switch o.sql.verb {
	case verbBegin:
		if o.sql.mode == "deferred" {
			return exactlyone.KindOther
		}
		return exactlyone.KindBegin
	case verbCommit:
		return exactlyone.KindCommit
	case verbRollback:
		return exactlyone.KindRollback
	case verbOther:
		if !o.within {
			return exactlyone.KindAuto
		}
	}
	return exactlyone.KindStatement
}

func (o op) ReadsOnly() bool    { return o.sql.reads }
func (o op) Timed() bool        { return o.timed }
func (o op) Immediate() bool    { return o.clears }
func (o op) Times() []time.Time { return timesOf(o.args) }

// Ops that take no step.
type (
	// closeOp closes an open result, and with it the lock it held.
	closeOp struct{ conn int }
	// pendingOp follows a COMMIT that found the database busy: the connection
	// lets in no new reader.
	pendingOp struct{ conn int }
	// statusOp asks, after an error, whether the transaction is still open.
	statusOp struct{ conn int }
	// prepareOp asks whether a statement can be prepared.
	prepareOp struct {
		conn int
		command
	}
)

func (o closeOp) String() string   { return fmt.Sprintf("conn %d: close rows", o.conn) }
func (o pendingOp) String() string { return fmt.Sprintf("conn %d: stays pending", o.conn) }
func (o statusOp) String() string  { return fmt.Sprintf("conn %d: in a transaction?", o.conn) }
func (o prepareOp) String() string { return fmt.Sprintf("conn %d: prepare %s", o.conn, o.sql.text) }

func (closeOp) Immediate() bool   { return true }
func (pendingOp) Immediate() bool { return true }
func (statusOp) Immediate() bool  { return true }
func (prepareOp) Immediate() bool { return true }

// arg is an argument of a statement.
type arg driver.NamedValue

func (a arg) String() string {
	if a.Name != "" {
		return a.Name + "=" + literal(a.Value)
	}
	return literal(a.Value)
}

// brief is an argument that takes little room.
func (a arg) brief() string {
	const most = 24
	s := []rune(a.String())
	if len(s) > most {
		return string(s[:most-1]) + "…"
	}
	return string(s)
}

func timesOf(args []arg) []time.Time {
	var all []time.Time
	for _, a := range args {
		if t, ok := timeIn(a.Value); ok {
			all = append(all, t)
		}
	}
	return all
}

// answer is what a statement returned: its rows, and what changed.
type answer struct {
	columns, types []string
	rows           [][]driver.Value
	times          [][]bool // of rows: the value is a time that was a number
	affected       int64
	changed        bool // it sets the number of rows changed
	last           int64
	inserted       bool // it sets the last rowid
	total          int64
	within         bool // a transaction is open now
	holds          bool // while its rows are open they hold a lock
}

func (a *answer) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%q %q", a.columns, a.types)
	for _, row := range a.rows {
		s.WriteString(" " + tuple(row))
	}
	fmt.Fprintf(&s, " %d %t %d %t %d %t %t", a.affected, a.changed, a.last, a.inserted, a.total, a.within, a.holds)
	return s.String()
}

// Brief is what a story tells: the rows, or how many changed; "" if neither.
func (a *answer) Brief() string {
	switch n := len(a.rows); {
	case n == 1:
		return tuple(a.rows[0])
	case n > 1:
		return fmt.Sprintf("%d rows", n)
	case len(a.columns) > 0:
		return "no row"
	case a.inserted && a.affected == 1:
		return fmt.Sprintf("id %d", a.last)
	case !a.changed:
		return ""
	}
	return fmt.Sprintf("%d changed", a.affected)
}

// Connection and On let the connections of one request be numbered anew; see
// [exactlyone.Connected].

func (o op) Connection() int        { return o.conn }
func (o closeOp) Connection() int   { return o.conn }
func (o pendingOp) Connection() int { return o.conn }
func (o statusOp) Connection() int  { return o.conn }
func (o prepareOp) Connection() int { return o.conn }

func (o op) On(n int) interleave.Op        { o.conn = n; return o }
func (o closeOp) On(n int) interleave.Op   { o.conn = n; return o }
func (o pendingOp) On(n int) interleave.Op { o.conn = n; return o }
func (o statusOp) On(n int) interleave.Op  { o.conn = n; return o }
func (o prepareOp) On(n int) interleave.Op { o.conn = n; return o }
