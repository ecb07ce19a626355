package exactlyone

import "exactlyone/model"

// Failing says what can go wrong with the ops of a store. What cannot is never
// tried.
type Failing struct {
	CommitTook  bool // a commit may take effect and err
	CommitFails bool // a commit may have no effect and err
	CommitLate  bool // a commit may err now and take effect later
	ReplyLost   bool // the reply to a statement of its own may be lost, and the driver errs
	ReplyTwice  bool // the reply to one may be lost, and the pool sends it again

	// Errors are what BEGIN, statements and COMMIT may err with, without
	// effect: model.ErrBusy for whoever needs a turn, model.ErrLost,
	// model.ErrSerialization, model.ErrDeadlock.
	Errors []error
}

// Fallible is a [Backend] that says what can go wrong with it. Of any other,
// commits may err, in effect or not.
type Fallible interface{ Failing() Failing }

func failingOf(b Backend) Failing {
	if f, ok := b.(Fallible); ok {
		return f.Failing()
	}
	return Failing{CommitTook: true, CommitFails: true}
}

// Drivers of a server database, for [System.Driver].
const (
	DriverPgx   = "pgx"   // errs when a reply is lost
	DriverLibPQ = "libpq" // reports a bad connection: database/sql sends the statement again
)

// Failing: it stands for a server database, such as PostgreSQL at isolation
// level serializable. A commit that takes effect later cannot be told from one
// that takes effect at once, since everybody else waits for it.
func (memory) Failing() Failing {
	return Failing{
		CommitTook: true, CommitFails: true, ReplyLost: true, ReplyTwice: true,
		Errors: []error{model.ErrLost, model.ErrSerialization},
	}
}
