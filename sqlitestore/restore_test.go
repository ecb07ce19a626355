package sqlitestore_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/sqlitestore"
)

// moment is an op in a history: the states it met and those it left.
type moment struct {
	shared, session exactlyone.State
	op              interleave.Op
	left            string
}

func outcome(shared, session exactlyone.State, r exactlyone.Reply) string {
	s := r.String() + "\n" + shared.String()
	if session != nil {
		s += "in the transaction\n" + session.String()
	}
	return s
}

// history is a walk that leaves transactions in both ways.
func history(w *walk) []moment {
	stmt := func(st model.Stmt) interleave.Op { return exactlyone.StmtOp{Stmt: st} }
	look := stmt(model.Select("jobs"))
	var all []moment
	for _, op := range []interleave.Op{
		look,
		stmt(job("a", model.Set("due", at(time.Second)))),
		begin, look,
		stmt(job("b", model.Set("n", 3))),
		stmt(model.Insert(odd, model.Set("rowid", 9))),
		rollback, look,
		stmt(model.Insert(odd, model.Set("rowid", 8), model.Set("Position", "x"))),
		stmt(model.Insert(odd, model.Set("rowid", 1), model.Set("Position", ""))),
		begin,
		stmt(job("c")),
		stmt(model.Delete("jobs", model.Eq("title", "c"))),
		stmt(model.InsertIfAbsent("jobs", model.Set("title", "a"))),
		stmt(model.Update(odd, model.Add("rowid", 5)).If(model.Eq("rowid", 8))),
		stmt(job("a")),
		commit, look,
		stmt(model.Select(odd)),
		stmt(model.Delete("jobs")),
		stmt(job("d")),
	} {
		m := moment{shared: w.shared, session: w.session, op: op}
		r := w.op(op)
		m.left = outcome(w.shared, w.session, r)
		all = append(all, m)
	}
	return all
}

// TestRestore goes from every moment of a history to every other, in every
// store, and finds the same there as the first time.
func TestRestore(t *testing.T) {
	var first []string
	for _, s := range stores {
		w := open(t, s.open)
		moments := history(w)
		var left []string
		for _, m := range moments {
			left = append(left, m.left)
		}
		if first == nil {
			first = left
		}
		if diff := cmp.Diff(first, left); diff != "" {
			t.Errorf("%s is not as %s:\n%s", s.name, stores[0].name, diff)
		}
		for i, from := range moments {
			for j, to := range moments {
				w.backend.Do(from.shared, from.session, from.op, clock.Epoch)
				shared, session, r := w.backend.Do(to.shared, to.session, to.op, clock.Epoch)
				if diff := cmp.Diff(to.left, outcome(shared, session, r)); diff != "" {
					t.Errorf("%s: from moment %d to %d, %s:\n%s", s.name, i, j, to.op, diff)
				}
			}
		}
	}
}

// TestSessionsOfEqualContent: a session may come with any shared content, since
// a search takes sessions that see the same for one.
func TestSessionsOfEqualContent(t *testing.T) {
	for _, s := range stores {
		w := open(t, s.open, job("a"))
		full := w.shared
		w.op(begin)
		w.do(model.Delete("jobs"))
		session := w.session // sees nothing, was opened when there was a row
		w.op(commit)
		empty := w.shared // nothing
		for _, shared := range []exactlyone.State{empty, full, empty} {
			w.shared, w.session = shared, session
			if got := w.do(job("b")).String(); got != "id 2" {
				t.Errorf("%s: %s", s.name, got)
			}
			w.op(rollback)
			if w.shared.String() != shared.String() {
				t.Errorf("%s: rolled back to %s, want %s", s.name, w.shared, shared)
			}
			want := names(shared.(*model.Tables).Rows("jobs"))
			if got := w.titles(); got != want {
				t.Errorf("%s: finds %q after the rollback, want %q", s.name, got, want)
			}
		}
	}
}

func counts(w *walk) (statements, restores int) {
	return w.backend.(interface{ Counts() (int, int) }).Counts()
}

// TestForward: a run that only moves on never restores, even if it is given
// equal states in place of those it made.
func TestForward(t *testing.T) {
	for _, equal := range []bool{false, true} {
		w := open(t, sqlitestore.Open)
		twin := open(t, sqlitestore.Open)
		for _, op := range []interleave.Op{
			begin,
			exactlyone.StmtOp{Stmt: model.Select("jobs")},
			exactlyone.StmtOp{Stmt: job("a")},
			rollback,
			exactlyone.StmtOp{Stmt: job("b")},
			begin,
			exactlyone.StmtOp{Stmt: job("b")},
			commit,
			exactlyone.StmtOp{Stmt: model.Select("jobs")},
		} {
			w.op(op)
			twin.op(op)
			if equal {
				w.shared, w.session = twin.shared, twin.session
			}
		}
		if _, restores := counts(w); restores != 0 {
			t.Errorf("equal states %t: %d restores", equal, restores)
		}
	}
}

// TestOneStatementEach: no statement of a writer is more than one SQL statement
// that changes something, and reading is one.
func TestOneStatementEach(t *testing.T) {
	w := open(t, sqlitestore.Open)
	for _, tt := range []struct {
		op   interleave.Op
		want int
	}{
		{begin, 1},
		{exactlyone.StmtOp{Stmt: model.Select("jobs")}, 1},
		{exactlyone.StmtOp{Stmt: model.Insert(odd, model.Set("rowid", 1))}, 2},        // and the rows
		{exactlyone.StmtOp{Stmt: job("a")}, 3},                                        // and the last serial number
		{exactlyone.StmtOp{Stmt: job("a")}, 3},                                        // though it fails
		{exactlyone.StmtOp{Stmt: model.InsertIfAbsent("jobs", model.Set("n", 1))}, 3}, // a NULL title is absent
		{exactlyone.StmtOp{Stmt: model.InsertIfAbsent("jobs", model.Set("title", "a"))}, 4},
		{exactlyone.StmtOp{Stmt: model.Select("nothing")}, 0},
		{commit, 1},
	} {
		before, _ := counts(w)
		w.op(tt.op)
		after, _ := counts(w)
		if got := after - before; got != tt.want {
			t.Errorf("%s: %d SQL statements, want %d", tt.op, got, tt.want)
		}
	}
}

// TestUnlikeMemory is what SQLite refuses and memory does not. After such an
// error everything is as it was.
func TestUnlikeMemory(t *testing.T) {
	for _, inside := range []bool{false, true} {
		w := open(t, sqlitestore.Open,
			model.Insert(odd, model.Set("rowid", 1)), model.Insert(odd, model.Set("rowid", 2)), job("a", model.Set("n", 1)))
		if inside {
			w.op(begin)
		}
		before := outcome(w.shared, w.session, exactlyone.Reply{})
		for _, tt := range []struct {
			st   model.Stmt
			want string
		}{
			{model.Update(odd, model.Add("rowid", 1)), "store: duplicate key"},
			{model.Update("jobs", model.Add("n", 1<<63-1)), "UPDATE jobs SET n=n+9223372036854775807: constraint failed: cannot store REAL value"},
		} {
			r := w.do(tt.st)
			if r.Err == nil || !strings.HasPrefix(r.Err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.st, r.Err, tt.want)
			}
			if diff := cmp.Diff(before, outcome(w.shared, w.session, exactlyone.Reply{})); diff != "" {
				t.Errorf("%s:\n%s", tt.st, diff)
			}
		}
		if got := w.do(job("b")).String(); got != "id 2" {
			t.Errorf("the statement after: %s", got)
		}
		if inside {
			w.op(commit)
		}
		if got := w.titles(); got != "1a 2b" {
			t.Errorf("at the end %q, want 1a 2b", got)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	column := func(names ...string) (all []model.Column) {
		for _, n := range names {
			all = append(all, model.Column{Name: n})
		}
		return all
	}
	for name, tables := range map[string]model.Schema{
		"not valid":       {{Name: ""}},
		"SQLite's own":    {{Name: "sqlite_x", Columns: column("a")}},
		"columns by case": {{Name: "t", Columns: column("a", "A")}},
		"tables by case":  {{Name: "t", Columns: column("a")}, {Name: "T", Columns: column("a")}},
		"empty unique":    {{Name: "t", Columns: column("a"), Unique: [][]string{{}}}},
	} {
		if b, err := sqlitestore.Open(exactlyone.Store{Name: "x", Tables: tables}); err == nil {
			_ = b.Close()
			t.Errorf("%s: no error", name)
		}
	}
}

// TestGoroutines: workers share a backend.
func TestGoroutines(t *testing.T) {
	w := open(t, sqlitestore.Open)
	moments := history(w)
	var wait sync.WaitGroup
	for worker := range 4 {
		wait.Go(func() {
			for i := range moments {
				m := moments[(i*(worker+1)+worker)%len(moments)]
				shared, session, r := w.backend.Do(m.shared, m.session, m.op, clock.Epoch)
				if diff := cmp.Diff(m.left, outcome(shared, session, r)); diff != "" {
					t.Errorf("worker %d, %s:\n%s", worker, m.op, diff)
				}
			}
		})
	}
	wait.Wait()
}
