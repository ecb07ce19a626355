package sqlitestore

import (
	"testing"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/model"
)

// openSmall opens a store with one table.
func openSmall(t *testing.T) *store {
	b, err := Open(exactlyone.Store{Tables: model.Schema{{
		Name: "t", Columns: []model.Column{{Name: "a", Kind: model.Int}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b.(*store)
}

// TestLostTransaction: SQLite rolls back by itself when it is short of memory.
// The op that meets this fails; all others find what they should.
func TestLostTransaction(t *testing.T) {
	b := openSmall(t)
	shared, session, _ := b.Do(b.start, b.start, exactlyone.StmtOp{Stmt: model.Insert("t", model.Set("a", 1))}, clock.Epoch)

	if _, err := b.conn.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	after, open, r := b.Do(shared, session, exactlyone.CommitOp{}, clock.Epoch)
	if r.Err == nil || after != shared || open != session {
		t.Errorf("the commit of a lost transaction: %s; want an error and unchanged states", r)
	}
	look := exactlyone.StmtOp{Stmt: model.Select("t")}
	for range 2 {
		if _, _, r = b.Do(shared, session, look, clock.Epoch); r.String() != "1 of (a=1)" {
			t.Errorf("the session sees %s", r)
		}
		if _, _, r = b.Do(shared, nil, look, clock.Epoch); r.String() != "no row" {
			t.Errorf("everybody else sees %s", r)
		}
	}
}

// TestPreparedOnce: statements that differ in their values only share one
// prepared statement.
func TestPreparedOnce(t *testing.T) {
	b := openSmall(t)
	var prepared []int
	for i := range 3 {
		b.Do(b.start, nil, exactlyone.StmtOp{Stmt: model.Insert("t", model.Set("a", i))}, clock.Epoch)
		prepared = append(prepared, len(b.conn.prepared))
	}
	if prepared[1] <= 1 || prepared[2] != prepared[1] {
		t.Errorf("prepared statements after one, two and three inserts: %v", prepared)
	}
}
