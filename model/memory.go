package model

import "context"

// Memory is a [Store] in memory for real goroutines: transactions are serial,
// whoever comes second waits until the first is finished or its own context is
// done. It is safe for concurrent use.
type Memory struct {
	turn   chan struct{} // holds one token, taken by whoever uses the store
	tables *Tables
}

// NewMemory is an empty store. It panics if the schema is not valid.
func NewMemory(s Schema) *Memory {
	m := &Memory{turn: make(chan struct{}, 1), tables: NewTables(s)}
	m.turn <- struct{}{}
	return m
}

func (m *Memory) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-m.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Do performs one statement in a transaction of its own.
func (m *Memory) Do(ctx context.Context, s Stmt) (Result, error) {
	if err := m.take(ctx); err != nil {
		return Result{}, err
	}
	defer func() { m.turn <- struct{}{} }()
	tables, res, err := m.tables.Do(s)
	m.tables = tables
	return res, err
}

// Begin opens a transaction.
func (m *Memory) Begin(ctx context.Context) (Tx, error) {
	if err := m.take(ctx); err != nil {
		return nil, err
	}
	return &memoryTx{store: m, tables: m.tables}, nil
}

// Rows is every row of a table, oldest first. It waits for open transactions.
func (m *Memory) Rows(table string) []Row {
	<-m.turn
	defer func() { m.turn <- struct{}{} }()
	return m.tables.Rows(table)
}

type memoryTx struct {
	store  *Memory
	tables *Tables
	done   bool
}

// Do performs a statement in the transaction.
func (t *memoryTx) Do(ctx context.Context, s Stmt) (Result, error) {
	if t.done {
		return Result{}, ErrTxDone
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	tables, res, err := t.tables.Do(s)
	t.tables = tables
	return res, err
}

// Commit makes what the transaction did visible.
func (t *memoryTx) Commit(context.Context) error { return t.finish(true) }

// Rollback forgets it.
func (t *memoryTx) Rollback(context.Context) error { return t.finish(false) }

func (t *memoryTx) finish(keep bool) error {
	if t.done {
		return ErrTxDone
	}
	t.done = true
	if keep {
		t.store.tables = t.tables
	}
	t.store.turn <- struct{}{}
	return nil
}
