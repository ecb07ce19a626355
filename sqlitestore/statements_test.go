package sqlitestore_test

import (
	"testing"
	"time"

	"exactlyone"
	"exactlyone/interleave"
	"exactlyone/model"
)

// TestStatements performs statements one by one and looks at every reply.
func TestStatements(t *testing.T) {
	rename := func(from, to string) model.Stmt {
		return model.Update("jobs", model.Set("title", to)).If(model.Eq("title", from))
	}
	ifAbsent := func(title string) model.Stmt { return model.InsertIfAbsent("jobs", model.Set("title", title)) }
	type step struct {
		op    any // a model.Stmt or an interleave.Op
		reply string
	}
	for _, tt := range []struct {
		name  string
		steps []step
		end   string
	}{
		{"insert and select", []step{
			{job("a", model.Set("n", 7), model.Set("owner", "o'k"), model.Set("due", at(time.Microsecond))), "id 1"},
			{model.Insert("jobs"), "id 2"},
			{model.Select("jobs"), "2 of (due=+1µs, id=1, n=7, owner='o''k', title='a') (id=2)"},
			{model.Select("jobs", model.Eq("title", "b")), "no row"},
			{model.Select(odd), "no row"},
		}, "1a 2"},
		{"odd names", []step{
			{model.Insert(odd, model.Set("rowid", 5), model.Set("Position", "first")), "1 changed"},
			{model.Insert(odd, model.Set("rowid", 3), model.Set(`group"`, at(0))), "1 changed"},
			{model.Insert(odd, model.Set("rowid", 5)), "error: store: duplicate key"},
			{model.InsertIfAbsent(odd, model.Set("rowid", 3)), "0 changed"},
			{model.Select(odd, model.Where("rowid", ">", 0)), `2 of (Position='first', rowid=5) (group"=+0s, rowid=3)`},
			{model.Update(odd, model.Add("rowid", 10)).If(model.Eq("rowid", 5)), "1 changed"},
			{model.Select(odd), `2 of (Position='first', rowid=15) (group"=+0s, rowid=3)`},
			{model.Delete(odd, model.Where("Position", "<>", "")), "1 changed"},
			{model.Select(odd), `1 of (group"=+0s, rowid=3)`},
		}, ""},
		{"texts", []step{
			{job(""), "id 1"},
			{job("\x00"), "id 2"},
			{job("\x00a\xff"), "id 3"},
			{job("A"), "id 4"},
			{job("a"), "id 5"},
			{job("7", model.Set("owner", "2026-01-01")), "id 6"},
			{model.Select("jobs", model.Where("title", "<", "A")), "4 of (id=1, title='') (id=2, title='\x00') (id=3, title='\x00a\xff') (id=6, owner='2026-01-01', title='7')"},
			{model.Select("jobs", model.Eq("title", "\x00")), "1 of (id=2, title='\x00')"},
			{model.Select("jobs", model.Eq("title", "")), "1 of (id=1, title='')"},
		}, "1 2\x00 3\x00a\xff 4A 5a 67"},
		{"update", []step{
			{job("a", model.Set("n", 1)), "id 1"},
			{job("b"), "id 2"},
			{model.Update("jobs", model.Add("n", 5)), "2 changed"}, // NULL + 5 is NULL
			{model.Update("jobs", model.Add("n", -2), model.Set("owner", "x")).If(model.Eq("id", 1)), "1 changed"},
			{model.Update("jobs", model.Set("n", 9)).If(model.Eq("id", 3)), "0 changed"},
			{model.Update("jobs", model.Set("title", nil)).If(model.Eq("title", "b")), "1 changed"},
			{model.Update("jobs"), "2 changed"},
			{model.Select("jobs"), "2 of (id=1, n=4, owner='x', title='a') (id=2)"},
		}, "1a 2"},
		{"a column set twice", []step{
			{job("a", model.Set("title", "b"), model.Add("n", 3), model.Add("n", 4)), "id 1"},
			{model.Update("jobs", model.Add("n", 1), model.Set("owner", "x"), model.Add("n", 2)), "1 changed"},
			{model.Select("jobs"), "1 of (id=1, n=7, owner='x', title='a')"},
			{model.Update("jobs", model.Add("n", 1), model.Set("n", 50), model.Set("owner", "y"), model.Add("n", 2)), "1 changed"},
			{model.Select("jobs"), "1 of (id=1, n=52, owner='y', title='a')"},
		}, "1a"},
		{"duplicates", []step{
			{job("a", model.Set("owner", "x"), model.Set("due", at(0))), "id 1"},
			{job("a"), "error: store: duplicate key"},
			{job("b", model.Set("owner", "x"), model.Set("due", at(0))), "error: store: duplicate key"},
			{job("b", model.Set("owner", "x")), "id 2"}, // a missing value makes it unique
			{job("c", model.Set("owner", "x")), "id 3"},
			{rename("c", "a"), "error: store: duplicate key"},
			{rename("a", "a"), "1 changed"},
			{model.Update("jobs", model.Set("title", "z")), "error: store: duplicate key"}, // though the first row could change
			{model.Update("jobs", model.Set("due", at(0))), "error: store: duplicate key"},
		}, "1a 2b 3c"},
		{"a duplicate leaves the transaction open", []step{
			{begin, "0 changed"},
			{job("a"), "id 1"},
			{job("a"), "error: store: duplicate key"},
			{job("b"), "id 2"},
			{rename("b", "a"), "error: store: duplicate key"},
			{commit, "0 changed"},
		}, "1a 2b"},
		{"insert if absent", []step{
			{ifAbsent("a"), "id 1"},
			{job("b"), "id 2"},
			{model.Insert(odd, model.Set("rowid", 77)), "1 changed"},
			{ifAbsent("a"), "0 changed"}, // the last id given was another's
			{ifAbsent("c"), "id 3"},      // and the ignored row uses up none
			{begin, "0 changed"},
			{ifAbsent("c"), "0 changed"},
			{ifAbsent("d"), "id 4"},
			{commit, "0 changed"},
			{job("e"), "id 5"},
		}, "1a 2b 3c 4d 5e"},
		{"serial after delete", []step{
			{job("a"), "id 1"},
			{job("b"), "id 2"},
			{model.Delete("jobs", model.Eq("id", 2)), "1 changed"},
			{job("c"), "id 3"},
			{model.Delete("jobs"), "2 changed"},
			{model.Delete("jobs"), "0 changed"},
			{job("d"), "id 4"},
		}, "4d"},
		{"serial after rollback", []step{
			{job("a"), "id 1"},
			{begin, "0 changed"},
			{job("b"), "id 2"},
			{job("c"), "id 3"},
			{model.Delete("jobs", model.Eq("id", 1)), "1 changed"},
			{rollback, "0 changed"},
			{job("d"), "id 2"},
		}, "1a 2d"},
		{"what does not fit", []step{
			{model.Select("nothing"), `error: store: SELECT FROM nothing: no table "nothing"`},
			{model.Select("jobs", model.Eq("no", 1)), `error: store: SELECT FROM jobs WHERE no=1: no column "no"`},
			{model.Insert("jobs", model.Set("n", "x")), "error: store: INSERT INTO jobs (n='x'): column n does not hold string"},
			{model.Insert("jobs", model.Set("id", 1)), "error: store: INSERT INTO jobs (id=1): column id cannot be set that way"},
			{model.Update("jobs", model.Add("title", 1)), "error: store: UPDATE jobs SET title=title+1: column title does not hold int64"},
			{model.Select("jobs", model.Eq("id", nil)), "error: store: SELECT FROM jobs WHERE id=NULL: column id does not hold <nil>"},
			{begin, "0 changed"},
			{model.Delete("nothing"), `error: store: DELETE FROM nothing: no table "nothing"`},
			{job("a"), "id 1"},
			{commit, "0 changed"},
		}, "1a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, s := range stores {
				w := open(t, s.open)
				for i, step := range tt.steps {
					op, ok := step.op.(interleave.Op)
					if st, isStmt := step.op.(model.Stmt); isStmt {
						op, ok = exactlyone.StmtOp{Stmt: st}, true
					}
					if !ok {
						t.Fatalf("step %d is no op: %T", i, step.op)
					}
					if got := w.op(op).String(); got != step.reply {
						t.Errorf("%s, step %d, %s: %q, want %q", s.name, i, op, got, step.reply)
					}
				}
				if got := w.titles(); got != tt.end {
					t.Errorf("%s: jobs at the end %q, want %q", s.name, got, tt.end)
				}
				if w.session != nil {
					t.Errorf("%s: a transaction is still open", s.name)
				}
			}
		})
	}
}
