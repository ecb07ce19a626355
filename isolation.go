package exactlyone

import (
	"fmt"
	"strings"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// Isolation is how much transactions on the store in memory notice of each
// other.
type Isolation string

// The levels of isolation, the strictest first. Except where the documentation
// of [MemoryAt] says otherwise, the last two are PostgreSQL's.
const (
	Serial            Isolation = "serial"         // one at a time
	SnapshotIsolation Isolation = "snapshot"       // each sees what was committed when it began: REPEATABLE READ
	ReadCommitted     Isolation = "read_committed" // each statement sees what is committed when it is carried out
)

// Isolations are all levels.
var Isolations = []Isolation{Serial, SnapshotIsolation, ReadCommitted}

// ParseIsolation reads a level by its name. The error wraps [ErrUsage].
func ParseIsolation(text string) (Isolation, error) {
	var names []string
	for _, level := range Isolations {
		if text == string(level) {
			return level, nil
		}
		names = append(names, string(level))
	}
	return "", fmt.Errorf("%w: isolation %q: one of %s was expected", ErrUsage, text, strings.Join(names, ", "))
}

// MemoryAt opens a store in memory whose transactions have a level of
// isolation, for [System.Backend]. "" means Serial, which is [Memory].
//
// At the other levels transactions run side by side. What one has written
// locks rows until it ends: others that want to write them, or to insert what
// may be a duplicate of them, wait and are then judged anew. With snapshots,
// writing a row that was changed since returns [model.ErrSerialization] and
// rolls back. Transactions that wait for each other are found, and one of them
// is given [model.ErrDeadlock]. Reading, beginning and committing never wait.
//
// These differ from PostgreSQL:
//   - After [model.ErrDuplicate] the transaction stays open, as with a savepoint
//     around each statement.
//   - A statement that waits holds nothing yet, and once it goes on sees what it
//     would see if it were sent only then.
//   - A snapshot is taken with BEGIN, not with the first statement.
//   - Unique constraints are looked at when an UPDATE has changed all its rows.
//   - A statement that fails takes no serial number. A number given is never
//     given again, as there, even if the transaction rolls back.
//   - Rows are read in the order of their serial numbers, else of their commits.
//
// A handler has one transaction open at a time: to begin a second one it waits
// for ever. Beside it, statements of their own run as on another connection:
// one that wants what the handler's own transaction has locked waits for ever.
func MemoryAt(level Isolation) func(Store) (Backend, error) {
	if level == "" || level == Serial {
		return Memory
	}
	return func(s Store) (Backend, error) {
		if _, err := ParseIsolation(string(level)); err != nil {
			return nil, err
		}
		t, err := setUp(s)
		if err != nil {
			return nil, err
		}
		return versions{model.NewVersions(t, level == SnapshotIsolation)}, nil
	}
}

// versions is a store whose transactions run side by side.
type versions struct{ start *model.Versions }

func (m versions) Start() (State, error) { return m.start, nil }
func (m versions) Close() error          { return nil }

// Failing: a server database. What serializes or deadlocks does so by itself.
func (m versions) Failing() Failing {
	return Failing{
		CommitTook: true, CommitFails: true, CommitLate: true, ReplyLost: true, ReplyTwice: true,
		Errors: []error{model.ErrLost},
	}
}

func (m versions) Waits(shared, session State, op interleave.Op, others []State) bool {
	if _, begins := op.(BeginOp); begins {
		return session != nil
	}
	return m.Blocker(shared, session, op, others) >= 0
}

func (m versions) Blocker(shared, session State, op interleave.Op, others []State) int {
	s, ok := op.(StmtOp)
	if !ok || len(others) == 0 {
		return -1
	}
	v := shared.(*model.Versions)
	var open []*model.Transaction
	for _, o := range others {
		open = append(open, o.(*model.Transaction))
	}
	if session == nil || s.Auto {
		return v.Blocker(v.Begin(), s.Stmt, open)
	}
	return v.Blocker(session.(*model.Transaction), s.Stmt, open)
}

func (m versions) Do(shared, session State, op interleave.Op, _ time.Time) (State, State, Reply) {
	v := shared.(*model.Versions)
	switch op := op.(type) {
	case BeginOp:
		return v, v.Begin(), Reply{}
	case CommitOp:
		return v.Commit(session.(*model.Transaction)), nil, Reply{}
	case RollbackOp:
		return v, nil, Reply{}
	case StmtOp:
		if session == nil || op.Auto {
			after, res, err := v.Auto(op.Stmt)
			return after, session, Reply{Result: res, Err: err}
		}
		after, x, res, err := v.Do(session.(*model.Transaction), op.Stmt)
		if x == nil {
			return after, nil, Reply{Result: res, Err: err}
		}
		return after, x, Reply{Result: res, Err: err}
	}
	panic(fmt.Sprintf("exactlyone: the store cannot do %T", op))
}
