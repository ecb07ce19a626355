package exactlyone

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"runtime"
	"sync"
	"time"

	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
)

// Env is all that a server process has of the outside world. Whatever is
// called on it parks the calling request until the scheduler has done it.
type Env struct {
	stores []Store
	asker  asker // the task running now belongs to it

	started bool // Start has returned

	mu  sync.Mutex
	dbs map[int]opened // by store
}

// asker parks the caller until an op was carried out and returns the outcome, or
// the error of a context that is done before.
type asker interface {
	Ask(ctx context.Context, op interleave.Op) (any, error)
}

// coroutines asks for a task that is a coroutine. Its context is cancelled by
// what it is told instead.
type coroutines interleave.Tasks

func (c *coroutines) Ask(_ context.Context, op interleave.Op) (any, error) {
	return (*interleave.Tasks)(c).Ask(op), nil
}

// ask is Ask without a context.
func (e *Env) ask(op interleave.Op) any {
	outcome, err := e.asker.Ask(context.Background(), op)
	if err != nil {
		runtime.Goexit() // the process is dead, and nothing can be returned
	}
	return outcome
}

// Store is the store of that name. It panics if the system declares none.
func (e *Env) Store(name string) model.Store {
	for i, s := range e.stores {
		if s.Name == name {
			return portStore{e, i}
		}
	}
	panic(fmt.Sprintf("exactlyone: the system declares no store %q", name))
}

// opened is a database and what opens its connections.
type opened struct {
	db        *sql.DB
	connector sqldriver.Connector
}

// DB is the database of that name, as database/sql opens it: one pool for each
// process, however often it is asked for. It panics if the system declares none, or
// one that has no driver.
func (e *Env) DB(name string) *sql.DB {
	s := e.Store(name).(portStore)
	connector := e.stores[s.store].Connector
	if connector == nil {
		panic(fmt.Sprintf("exactlyone: store %q has no driver for database/sql", name))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if o, ok := e.dbs[s.store]; ok {
		return o.db
	}
	c := connector(s.ask)
	db := sql.OpenDB(c)
	if e.dbs == nil {
		e.dbs = map[int]opened{}
	}
	e.dbs[s.store] = opened{db, c}
	return db
}

// closeAll closes the databases.
func (e *Env) closeAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range e.dbs {
		_ = o.db.Close()
	}
}

// Clock is the virtual clock. Each reading is a step.
func (e *Env) Clock() clock.Clock { return portClock{e} }

// NewID is a fresh unique id, e.g. to name the owner of a lease.
func (e *Env) NewID() string { return string(e.ask(idOp{}).(token)) }

// Note counts something that happened inside the writer, such as a takeover;
// reports show it under what was exercised. It takes no step.
func (e *Env) Note(what string) { e.ask(noteOp{what}) }

// Do hands an op of a custom [Backend] to the store of that name.
func (e *Env) Do(store string, op interleave.Op) Reply {
	return e.Store(store).(portStore).ask(context.Background(), op)
}

// Locker is a lock in the memory of this process. A request that waits for it
// is parked, unlike one that waits for a sync.Mutex, which would block the
// whole search.
func (e *Env) Locker() sync.Locker { return &portLock{env: e} }

// Ops that are no store's.
type (
	sendOp  struct{ req model.Request }
	nowOp   struct{}
	sleepOp struct {
		until  time.Time
		itself bool // it goes on by itself when it is time; nobody tells it
	}
	lockOp struct{ lock *portLock }
	// Done at once, without a step:
	sinceOp struct{} // the time at which a sleep begins
	idOp    struct{}
	noteOp  struct{ what string }
	storeOp struct { // op on a store
		store int
		op    interleave.Op
	}
)

func (o sendOp) String() string  { return "send " + o.req.String() }
func (nowOp) String() string     { return "read the clock" }
func (o sleepOp) String() string { return "sleep until " + clock.Since(o.until) }
func (lockOp) String() string    { return "lock" }
func (o lockOp) Blocked() bool   { return o.lock.held }
func (sinceOp) String() string   { return "begin to sleep" }
func (idOp) String() string      { return "new id" }
func (o noteOp) String() string  { return "note " + o.what }
func (o storeOp) String() string {
	return fmt.Sprintf("%d %T %t %s", o.store, o.op, NeedsTurn(o.op), o.op)
}

// moment and token are outcomes: a time, and a fresh id.
type moment struct{ time.Time }

func (m moment) String() string { return clock.Since(m.Time) }

type token string

func (t token) String() string { return string(t) }

// ok is the outcome of ops that answer nothing.
type ok struct{}

func (ok) String() string { return "ok" }

// portStore is [model.Store] for tasks.
type portStore struct {
	env   *Env
	store int
}

func (s portStore) ask(ctx context.Context, op interleave.Op) Reply {
	outcome, err := s.env.asker.Ask(ctx, storeOp{s.store, op})
	if err != nil {
		return Reply{Err: err}
	}
	return outcome.(Reply)
}

func (s portStore) Do(ctx context.Context, st model.Stmt) (model.Result, error) {
	if err := ctx.Err(); err != nil {
		return model.Result{}, err
	}
	r := s.ask(ctx, StmtOp{Stmt: st, Auto: true})
	return r.Result, r.Err
}

func (s portStore) Begin(ctx context.Context) (model.Tx, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.ask(ctx, BeginOp{}).Err; err != nil {
		return nil, err
	}
	return &portTx{ctx: ctx, store: s}, nil
}

type portTx struct {
	ctx   context.Context // it ends with it, as in database/sql
	store portStore
	done  bool
	ended error // what ended it, other than Commit and Rollback
}

func (t *portTx) Do(ctx context.Context, st model.Stmt) (model.Result, error) {
	switch {
	case t.done:
		return model.Result{}, model.ErrTxDone
	case t.ended != nil:
		return model.Result{}, t.ended
	case ctx.Err() != nil:
		return model.Result{}, ctx.Err()
	case t.ctx.Err() != nil:
		return model.Result{}, model.ErrTxDone
	}
	r := t.store.ask(ctx, StmtOp{Stmt: st})
	if r.Err != nil && model.EndsTx(r.Err) {
		t.ended = r.Err
	}
	return r.Result, r.Err
}

func (t *portTx) Commit(context.Context) error   { return t.finish(CommitOp{}) }
func (t *portTx) Rollback(context.Context) error { return t.finish(RollbackOp{}) }

func (t *portTx) finish(op interleave.Op) error {
	if t.done {
		return model.ErrTxDone
	}
	t.done = true
	if err := t.ctx.Err(); err != nil && t.ended == nil {
		t.ended = err
	}
	if t.ended != nil {
		if _, commits := op.(CommitOp); commits {
			return t.ended
		}
		return nil
	}
	return t.store.ask(t.ctx, op).Err
}

type portClock struct{ env *Env }

func (c portClock) Now() time.Time { return c.env.ask(nowOp{}).(moment).Time }

func (c portClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	start := c.env.ask(sinceOp{}).(moment)
	_, _ = c.env.asker.Ask(ctx, sleepOp{until: start.Add(d)})
	return ctx.Err()
}

// WithTimeout ends nothing: that no answer comes in time is a fault, and the
// scheduler's to choose. So no goroutine waits beside the task.
func (c portClock) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}

// portLock is a mutex whose waiters are parked.
type portLock struct {
	env  *Env
	held bool
}

func (l *portLock) Lock() {
	l.env.ask(lockOp{l})
	l.held = true
}

func (l *portLock) Unlock() {
	if !l.held {
		panic("exactlyone: Unlock of a lock that is not held")
	}
	l.held = false
}

// portNet is [model.Transport] for clients.
type portNet struct{ tasks *interleave.Tasks }

func (n portNet) Send(ctx context.Context, req model.Request) (model.Answer, error) {
	if err := ctx.Err(); err != nil {
		return model.Answer{}, err
	}
	got := n.tasks.Ask(sendOp{req}).(received)
	return got.answer, got.err
}

// received is what a client gets for a request.
type received struct {
	answer model.Answer
	err    error
}

// Key tells apart what is received.
func (r received) Key() string {
	if r.err != nil {
		return "error " + r.err.Error()
	}
	return r.answer.Key()
}

func (r received) String() string {
	if r.err != nil {
		return r.err.Error()
	}
	return r.answer.String()
}
