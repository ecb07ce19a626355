package simsql

import (
	"slices"

	sqlite3 "modernc.org/sqlite/lib"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
)

// Locks are those of https://www.sqlite.org/lockingv3.html, and in WAL mode those
// of https://www.sqlite.org/wal.html: a reader keeps the content it began to read,
// one connection at a time may write, and only on the newest content.

// takes notes the lock that a statement took.
func (c *connState) takes(j Journal, base *content, p *plan, o op) {
	if j == Memory {
		return
	}
	level := [...]lock{accessNone: unlocked, accessRead: shared, accessWrite: reserved}[p.access]
	if o.sql.verb == verbBegin && o.sql.mode == "exclusive" && j == Rollback && c.lock < reserved {
		level = exclusive
	}
	c.lock = max(c.lock, level)
	if j == WAL && level != unlocked {
		c.base = base
	}
}

// savepoint keeps the list of savepoints.
func (c *connState) savepoint(s *statement, open bool) {
	switch s.verb {
	case verbSavepoint:
		c.saved = c.saved || !open
		c.saves = append(slices.Clip(c.saves), s.name)
	case verbRollbackTo, verbRelease:
		for i := len(c.saves) - 1; i >= 0; i-- {
			if c.saves[i] == s.name {
				if s.verb == verbRollbackTo {
					i++
				}
				c.saves = c.saves[:i:i]
				return
			}
		}
	}
}

// ends leaves what a connection holds after its transaction: the lock of results
// that are still open. In WAL mode they go on reading what was just committed.
func (c *connState) ends(before connState, o op, a *answer, now *content) {
	rows := before.rows
	if before.open {
		rows += o.rows
	}
	if a.holds {
		rows++
	}
	after := connState{number: c.number, rows: rows}
	if rows > 0 {
		after.lock, after.base = shared, c.base
		if c.lock >= reserved && c.base != nil {
			after.base = now
		}
	}
	*c = after
}

// conflict is why an op cannot be carried out now.
type conflict struct {
	code  int  // of SQLite; 0 if it can be
	waits bool // SQLite calls the busy handler
}

const (
	busy         = sqlite3.SQLITE_BUSY
	busySnapshot = sqlite3.SQLITE_BUSY_SNAPSHOT
)

// Waits says whether an op must wait.
func (b *backend) Waits(now, of exactlyone.State, what interleave.Op, others []exactlyone.State) bool {
	o, ok := what.(op)
	if !ok {
		return false
	}
	if b.options.journal == Memory { // there is one connection, and somebody may have it
		s, _ := of.(*session)
		return len(others) > 0 || s != nil && slices.ContainsFunc(s.conns, func(c connState) bool { return c.number != o.conn })
	}
	c := b.conflict(now, of, o, others)
	return c.code != 0 && c.waits && o.patient
}

// Refuses is the error of an op that does not wait.
func (b *backend) Refuses(now, of exactlyone.State, what interleave.Op, others []exactlyone.State) error {
	o, ok := what.(op)
	if !ok || b.options.journal == Memory {
		return nil
	}
	c := b.conflict(now, of, o, others)
	if c.code == 0 || c.waits && o.patient {
		return nil
	}
	return refusal(c.code)
}

// GivesUp is the error of an op that has waited for too long.
func (b *backend) GivesUp(what interleave.Op) error {
	if o, ok := what.(op); ok && o.patient && b.options.journal != Memory {
		return refusal(busy)
	}
	return nil
}

func (b *backend) conflict(now, of exactlyone.State, o op, others []exactlyone.State) conflict {
	s, _ := of.(*session)
	conn := s.conn(o.conn)
	var highest lock
	look := func(s *session, but int) {
		if s == nil {
			return
		}
		for _, c := range s.conns {
			if c.number != but {
				highest = max(highest, c.lock)
			}
		}
	}
	look(s, o.conn)
	for _, other := range others {
		look(other.(*session), 0)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.options.journal == WAL {
		return b.conflictWAL(now.(*content), conn, o, highest)
	}
	if highest == unlocked {
		return conflict{}
	}
	return b.conflictRollback(now.(*content), conn, o, highest)
}

// access is which lock a statement needs.
func (b *backend) access(c *content, conn connState, o op) access {
	base := conn.from(c)
	if p, ok := base.schema.seen[o.sql.text]; ok && len(conn.plans) == 0 {
		return p.access
	}
	if b.goTo(position{base, conn.log}, conn.keys || !conn.open && o.keys) != nil {
		return accessNone
	}
	return b.planIn(base.schema, conn, o.command).access
}

// conflictRollback is what stands in the way of an op while others hold locks up
// to highest.
func (b *backend) conflictRollback(c *content, conn connState, o op, highest lock) conflict {
	if o.commits(conn) {
		return conflict{code: busyIf(conn.lock >= reserved && b.wouldCommit(c, conn, o)), waits: true}
	}
	fresh := conn.lock == unlocked
	switch b.access(c, conn, o) {
	case accessRead:
		return conflict{code: busyIf(fresh && highest >= pending), waits: true}
	case accessWrite:
		switch {
		case conn.lock >= reserved:
			return conflict{}
		case highest >= reserved:
			return conflict{code: busy, waits: fresh}
		case o.sql.verb == verbBegin:
			return conflict{code: busyIf(o.sql.mode == "exclusive"), waits: true}
		case !conn.open: // it commits at once
			return conflict{code: busyIf(b.wouldEnd(c, o)), waits: true}
		}
	}
	return conflict{}
}

func busyIf(yes bool) int {
	if yes {
		return busy
	}
	return 0
}

// commits says whether an op ends the transaction of its connection for good.
func (o op) commits(conn connState) bool {
	switch o.sql.verb {
	case verbCommit:
		return conn.open
	case verbRelease:
		return conn.saved && len(conn.saves) > 0 && conn.saves[0] == o.sql.name && !slices.Contains(conn.saves[1:], o.sql.name)
	}
	return false
}

// wouldEnd tries out whether a statement of its own comes to its end, where it
// needs the database for itself even if it changed nothing. An error undoes it
// before, but for one with OR FAIL. What looks at the clock is taken to come there.
func (b *backend) wouldEnd(c *content, o op) bool {
	if o.timed {
		return true
	}
	var a *answer
	var failed error
	if err := b.try(position{base: c}, o.keys, func() error {
		if !o.keys { // else deferred foreign keys must come to be checked
			if err := b.worker.exec("BEGIN"); err != nil {
				return err
			}
		}
		a, failed = b.worker.do(o.command, false, clock.Epoch)
		return nil
	}); err != nil {
		return true
	}
	return failed == nil || a.total > 0 || slices.Contains(o.sql.words, "FAIL")
}

// wouldCommit tries out whether a transaction keeps its deferred foreign keys.
func (b *backend) wouldCommit(c *content, conn connState, o op) bool {
	return !conn.keys || b.try(position{conn.from(c), conn.log}, true, func() error {
		_, err := b.worker.do(o.command, false, clock.Epoch)
		return err
	}) == nil
}

// try lets the worker do something at a position that is then undone.
func (b *backend) try(at position, keys bool, f func() error) error {
	if err := b.goTo(at, keys); err != nil {
		return err
	}
	if err := b.save(at.base); err != nil {
		return err
	}
	err := f()
	if b.worker.within() {
		_ = b.worker.exec("ROLLBACK")
		b.at = position{base: at.base}
	} else {
		b.at = position{}
	}
	return err
}

// conflictWAL is conflictRollback in WAL mode.
func (b *backend) conflictWAL(c *content, conn connState, o op, highest lock) conflict {
	if conn.lock >= reserved || b.access(c, conn, o) != accessWrite {
		return conflict{}
	}
	switch {
	case highest >= reserved:
		return conflict{code: busy, waits: conn.base == nil}
	case conn.base != nil && conn.base.id != c.id:
		return conflict{code: busySnapshot}
	}
	return conflict{}
}
