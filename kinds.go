package exactlyone

import (
	"time"

	"exactlyone/interleave"
)

// OpKind is what an op means to transactions and faults.
type OpKind int

// Kinds of ops on a store.
const (
	KindOther     OpKind = iota
	KindBegin            // it opens a transaction
	KindCommit           // it ends one
	KindRollback         // it undoes one
	KindStatement        // a statement of a transaction that is open
	KindAuto             // a statement in a transaction of its own
)

// Kinded is an op of a custom [Backend] that says what it is. [BeginOp],
// [CommitOp], [RollbackOp] and [StmtOp] need not.
type Kinded interface {
	Kind() OpKind
	ReadsOnly() bool // it changes nothing that is stored
}

// Connected is an op of a custom [Backend] on one of several connections. Which of
// a pool's a request is given depends on others, so they are numbered anew for each
// request: with the smallest number that is not in use.
type Connected interface {
	Connection() int
	On(connection int) interleave.Op
}

// Idler is a connector that says which of its connections are not in use: no
// transaction is open on them, and no result.
type Idler interface{ Idle(connection int) bool }

// Immediate is an op of a custom [Backend] that is carried out as soon as it is
// asked for, and is no step: nothing that others do could come before it.
type Immediate interface{ Immediate() bool }

// Timely is an op or a [State] of a custom [Backend] that names times: each is
// a boundary to which the clock may jump.
type Timely interface{ Times() []time.Time }

// Refuser is a [Backend] some of whose ops err at once, without effect, because
// of what others have open, as in SQLite when two readers both want to write.
type Refuser interface {
	// Refuses is the error, nil if the op may wait or be carried out.
	Refuses(shared, session State, op interleave.Op, others []State) error
}

// Impatient is a [Backend] whose ops wait for others only so long.
type Impatient interface {
	// GivesUp is what an op errs with that has waited in vain, since nobody else
	// can go on; nil if it waits for ever.
	GivesUp(op interleave.Op) error
}

// kindOf is what an op on a store is.
func kindOf(op interleave.Op) OpKind {
	switch op := op.(type) {
	case BeginOp:
		return KindBegin
	case CommitOp:
		return KindCommit
	case RollbackOp:
		return KindRollback
	case StmtOp:
		if op.Auto {
			return KindAuto
		}
		return KindStatement
	case Kinded:
		return op.Kind()
	}
	return KindOther
}

// refusal is what an op of a slot errs with at once because of others.
func (w *world) refusal(v []uint32, c, s int, op storeOp) error {
	b, ok := w.backends[op.store].(Refuser)
	if !ok {
		return nil
	}
	w.findOthers(v, c, s, op)
	var session State
	if id := v[w.slot(c, s)+slotSession+op.store]; id != 0 {
		session = w.values.Value(id).(State)
	}
	return b.Refuses(w.values.Value(v[atStores+op.store]).(State), session, op.op, w.others)
}

// offerGivingUp lists the requests that have waited in vain; to be called where
// nobody can go on.
func (w *world) offerGivingUp(v []uint32, buf []interleave.Action) []interleave.Action {
	w.eachStoreOp(v, func(c, s int, op storeOp) {
		if w.patience(op) != nil {
			buf = append(buf, action(actGiveUp, c, s, 0))
		}
	})
	return buf
}

// patience is what an op errs with that has waited in vain, nil if it waits for
// ever.
func (w *world) patience(op storeOp) error {
	if b, ok := w.backends[op.store].(Impatient); ok {
		return b.GivesUp(op.op)
	}
	return nil
}

// giveUp lets a request's op err that has waited in vain.
func (w *world) giveUp(v []uint32, c, s int) {
	err := w.patience(w.handlerStands(v, c, s).Op.(storeOp))
	w.noted("waited in vain: " + err.Error())
	w.silent(v, c, s)
	w.give(v, c, s, w.values.ID(Reply{Err: err}))
}
