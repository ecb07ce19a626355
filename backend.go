package exactlyone

import (
	"fmt"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// State is the content of a store, or of one open transaction, at one moment.
// It never changes. Equal strings mean that nothing can tell the two apart.
type State interface{ fmt.Stringer }

// Backend carries out what tasks ask of one store. It is a state machine: what
// an op does depends only on the states it is given. So the search can go back
// to any state it has seen, and performs each op once for each state in which
// it is asked for.
//
// A session is one open transaction; nil means that none is open.
type Backend interface {
	// Start is the content after set-up.
	Start() (State, error)
	// Do carries out one op for a session at a time, and returns the content
	// and the session after it.
	Do(shared, session State, op interleave.Op, now time.Time) (State, State, Reply)
	// Waits says whether an op of a session must wait because of others that
	// are open. To a statement of its own, an Auto one, the session itself is
	// one of the others.
	Waits(shared, session State, op interleave.Op, others []State) bool
	// Close releases what the backend holds.
	Close() error
}

// Timed is an op of a custom backend that may look at the time it is given.
type Timed interface{ Timed() bool }

// Reply is the outcome of an op on a store.
type Reply struct {
	Result model.Result
	Err    error
	Value  fmt.Stringer // what a custom backend answers
}

// String tells replies apart.
func (r Reply) String() string {
	switch {
	case r.Err != nil:
		return "error: " + r.Err.Error()
	case r.Value != nil:
		return r.Value.String()
	case r.Result.Rows != nil:
		s := "no row"
		if n := len(r.Result.Rows); n > 0 {
			s = fmt.Sprintf("%d of", n)
		}
		for _, row := range r.Result.Rows {
			s += " " + row.String()
		}
		return s
	case r.Result.ID != 0:
		return fmt.Sprintf("id %d", r.Result.ID)
	}
	return fmt.Sprintf("%d changed", r.Result.Affected)
}

// Brief tells how many rows were found instead of what they hold. A value tells
// itself, by a method Brief where it has one.
func (r Reply) Brief() string {
	if b, ok := r.Value.(interface{ Brief() string }); ok && r.Err == nil {
		return b.Brief()
	}
	switch n := len(r.Result.Rows); {
	case r.Err != nil || r.Value != nil || n == 0:
		return r.String()
	case n == 1:
		return "1 row"
	default:
		return fmt.Sprintf("%d rows", n)
	}
}

// Ops on a store that has tables.
type (
	// BeginOp opens a transaction.
	BeginOp struct{}
	// CommitOp ends one.
	CommitOp struct{}
	// RollbackOp undoes one.
	RollbackOp struct{}
	// StmtOp is a statement: in the session's transaction, or in one of its
	// own if none is open. Auto ones never use the session's.
	StmtOp struct {
		Stmt model.Stmt
		Auto bool
	}
)

// SerialWaits is Waits of a store whose transactions run one after another.
func SerialWaits(session State, op interleave.Op, others []State) bool {
	return len(others) > 0 || session != nil && NeedsTurn(op)
}

// NeedsTurn says whether an op begins a transaction, and so must wait on a
// serial store until every open one is over, its own session's as well.
func NeedsTurn(op interleave.Op) bool {
	kind := kindOf(op)
	return kind == KindBegin || kind == KindAuto
}

// Brief is the statement without its values.
func (o StmtOp) Brief() string { return o.Stmt.Brief() }

func (BeginOp) String() string    { return "BEGIN" }
func (CommitOp) String() string   { return "COMMIT" }
func (RollbackOp) String() string { return "ROLLBACK" }
func (o StmtOp) String() string   { return o.Stmt.String() }

// Memory is a store in memory. Transactions are serial: while one is open,
// everybody else waits. [MemoryAt] lets them run side by side.
func Memory(s Store) (Backend, error) {
	t, err := setUp(s)
	if err != nil {
		return nil, err
	}
	return memory{t}, nil
}

// setUp is the tables of a store with the rows it begins with.
func setUp(s Store) (*model.Tables, error) {
	t := model.NewTables(s.Tables)
	for _, st := range s.Rows {
		var err error
		if t, _, err = t.Do(st); err != nil {
			return nil, fmt.Errorf("set-up of store %s: %w", s.Name, err)
		}
	}
	return t, nil
}

type memory struct{ start *model.Tables }

func (m memory) Start() (State, error) { return m.start, nil }
func (m memory) Close() error          { return nil }

func (m memory) Waits(_, session State, op interleave.Op, others []State) bool {
	return SerialWaits(session, op, others)
}

func (m memory) Do(shared, session State, op interleave.Op, _ time.Time) (State, State, Reply) {
	switch op := op.(type) {
	case BeginOp:
		return shared, shared, Reply{}
	case CommitOp:
		return session, nil, Reply{}
	case RollbackOp:
		return shared, nil, Reply{}
	case StmtOp:
		if session != nil {
			tables, res, err := session.(*model.Tables).Do(op.Stmt)
			return shared, tables, Reply{Result: res, Err: err}
		}
		tables, res, err := shared.(*model.Tables).Do(op.Stmt)
		return tables, nil, Reply{Result: res, Err: err}
	}
	panic(fmt.Sprintf("exactlyone: the store cannot do %T", op))
}
