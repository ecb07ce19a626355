package model

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
)

// Store is a transactional store as a writer sees it.
type Store interface {
	// Begin opens a transaction. It waits while another one holds the store.
	Begin(ctx context.Context) (Tx, error)
	// Do performs one statement in a transaction of its own.
	Do(ctx context.Context, s Stmt) (Result, error)
}

// Tx is one open transaction. After Commit or Rollback, whatever they return,
// it is finished and every further call returns [ErrTxDone].
type Tx interface {
	Do(ctx context.Context, s Stmt) (Result, error)
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
}

// Errors a store returns; match them with errors.Is.
var (
	// ErrDuplicate is a unique constraint broken by an Insert or an Update. The
	// statement changed nothing; the transaction stays open.
	ErrDuplicate = errors.New("store: duplicate key")
	// ErrCommit is a failed Commit: whether it took effect is not known.
	ErrCommit = errors.New("store: connection lost during commit")
	// ErrTxDone is the use of a transaction that was committed or rolled back.
	ErrTxDone = errors.New("store: transaction is finished")
	// ErrBusy is a store that somebody else is using; nothing was done.
	ErrBusy = errors.New("store: busy")
	// ErrSerialization and ErrDeadlock are a transaction that was rolled back
	// because of what another one did; as a new one it may succeed.
	ErrSerialization = errors.New("store: could not serialize access")
	ErrDeadlock      = errors.New("store: deadlock detected")
	// ErrLost is a connection that was lost. An open transaction is rolled
	// back. A statement of its own may have taken effect.
	ErrLost = errors.New("store: connection lost")
)

// EndsTx says whether an error of a statement ended its transaction too, so
// that nothing of it takes effect.
func EndsTx(err error) bool {
	return errors.Is(err, ErrSerialization) || errors.Is(err, ErrDeadlock) || errors.Is(err, ErrLost)
}

// Result is what one statement did.
type Result struct {
	Rows     []Row // Select: the rows found, oldest first
	Affected int   // Insert, Update, Delete: how many rows changed
	ID       int64 // Insert: the serial number given to the row, if it has one
}

// Row is one row by column name. Values are nil, int64, string or time.Time.
type Row map[string]any

// String lists the columns that hold something, by name.
func (r Row) String() string {
	var b strings.Builder
	for i, col := range slices.Sorted(maps.Keys(r)) {
		if r[col] != nil {
			comma(&b, min(i, b.Len()))
			b.WriteString(col + "=" + Literal(r[col]))
		}
	}
	return "(" + b.String() + ")"
}

// Int is the integer in a column, 0 if there is none.
func (r Row) Int(col string) int64 { n, _ := r[col].(int64); return n }

// Text is the string in a column, "" if there is none.
func (r Row) Text(col string) string { s, _ := r[col].(string); return s }
