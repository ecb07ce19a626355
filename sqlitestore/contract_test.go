package sqlitestore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/sqlitestore"
)

// stores are all to keep one contract.
var stores = []struct {
	name string
	open func(exactlyone.Store) (exactlyone.Backend, error)
}{
	{"memory", exactlyone.Memory},
	{"sqlite", sqlitestore.Open},
}

// schema has every kind of column, two unique constraints beside the serial
// number, and a table without one whose names SQL knows too.
var schema = model.Schema{
	{
		Name: "jobs",
		Columns: []model.Column{
			{Name: "owner", Kind: model.Text},
			{Name: "id", Kind: model.Serial},
			{Name: "n", Kind: model.Int},
			{Name: "title", Kind: model.Text},
			{Name: "due", Kind: model.Time},
		},
		Unique: [][]string{{"title"}, {"owner", "due"}},
	},
	{
		Name: `order "by"`,
		Columns: []model.Column{
			{Name: "rowid", Kind: model.Int}, {Name: "Position", Kind: model.Text}, {Name: `group"`, Kind: model.Time},
		},
		Unique: [][]string{{"rowid"}},
	},
}

const odd = `order "by"`

// walk is one way through the states of a store.
type walk struct {
	t               testing.TB
	backend         exactlyone.Backend
	shared, session exactlyone.State
}

// open starts a walk at a store that rows set up.
func open(t testing.TB, f func(exactlyone.Store) (exactlyone.Backend, error), rows ...model.Stmt) *walk {
	t.Helper()
	b, err := f(exactlyone.Store{Name: "test", Tables: schema, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	start, err := b.Start()
	if err != nil {
		t.Fatal(err)
	}
	return &walk{t: t, backend: b, shared: start}
}

func (w *walk) op(op interleave.Op) exactlyone.Reply {
	var r exactlyone.Reply
	w.shared, w.session, r = w.backend.Do(w.shared, w.session, op, clock.Epoch)
	return r
}

func (w *walk) do(st model.Stmt) exactlyone.Reply { return w.op(exactlyone.StmtOp{Stmt: st}) }

// titles lists the jobs that a session sees, else those committed.
func (w *walk) titles() string {
	return names(w.do(model.Select("jobs")).Result.Rows)
}

func names(rows []model.Row) string {
	var all []string
	for _, r := range rows {
		all = append(all, fmt.Sprintf("%d%s", r.Int("id"), r.Text("title")))
	}
	return strings.Join(all, " ")
}

var (
	begin    = exactlyone.BeginOp{}
	commit   = exactlyone.CommitOp{}
	rollback = exactlyone.RollbackOp{}
)

func at(d time.Duration) time.Time { return clock.Epoch.Add(d) }

// job adds one with a title.
func job(title string, set ...model.Assign) model.Stmt {
	return model.Insert("jobs", append(set, model.Set("title", title))...)
}

// TestOperators compares columns of every kind, and missing values, by every
// operator.
func TestOperators(t *testing.T) {
	rows := []model.Stmt{
		job("a", model.Set("n", -1), model.Set("due", at(-time.Microsecond))),
		job("b", model.Set("n", 0), model.Set("due", at(0))),
		job("c", model.Set("n", 1), model.Set("due", at(time.Microsecond))),
		model.Insert("jobs"),
	}
	for _, s := range stores {
		w := open(t, s.open, rows...)
		for op, want := range map[string]string{
			"=": "2b", "<>": "1a 3c", "<": "1a", "<=": "1a 2b", ">": "3c", ">=": "2b 3c",
		} {
			for col, v := range map[string]any{"n": false, "title": "b", "due": at(0)} {
				got := names(w.do(model.Select("jobs", model.Where(col, op, v))).Result.Rows)
				if got != want {
					t.Errorf("%s: %s %s %v finds %q, want %q", s.name, col, op, v, got, want)
				}
				want := ""
				if op == "=" {
					want = "4"
				}
				if got := names(w.do(model.Select("jobs", model.Where(col, op, nil))).Result.Rows); got != want {
					t.Errorf("%s: %s %s NULL finds %q, want %q", s.name, col, op, got, want)
				}
			}
		}
		if got := names(w.do(model.Select("jobs", model.Where("id", ">=", 2), model.Eq("n", nil))).Result.Rows); got != "4" {
			t.Errorf("%s: two conditions find %q, want 4", s.name, got)
		}
		if got := w.do(model.Delete("jobs", model.Where("n", "<", 1), model.Where("title", ">", "a"))).String(); got != "1 changed" {
			t.Errorf("%s: delete by two conditions: %s", s.name, got)
		}
		if got := w.do(model.Update("jobs", model.Set("owner", "x")).If(model.Eq("n", nil), model.Where("id", "<>", 1))).String(); got != "1 changed" {
			t.Errorf("%s: update by two conditions: %s", s.name, got)
		}
	}
}

func TestTimes(t *testing.T) {
	zone := time.FixedZone("east", 3600)
	for _, tt := range []time.Time{at(0), at(1234567 * time.Microsecond), at(time.Hour).In(zone), at(-100 * 365 * 24 * time.Hour)} {
		for _, s := range stores {
			w := open(t, s.open, job("a", model.Set("due", tt)))
			w.do(model.Update("jobs", model.Set("n", 1)))
			rows := w.do(model.Select("jobs", model.Eq("due", tt))).Result.Rows
			if len(rows) != 1 {
				t.Errorf("%s: %d rows at %v", s.name, len(rows), tt)
				continue
			}
			if got := rows[0]["due"]; got != tt.UTC() { // to the last bit
				t.Errorf("%s: %#v, want %#v", s.name, got, tt.UTC())
			}
		}
	}
}

// TestStart: rows are set up once, and one that cannot be is an error.
func TestStart(t *testing.T) {
	for _, s := range stores {
		w := open(t, s.open, job("a"), model.Delete("jobs"), job("b"))
		want := strings.Join([]string{
			"jobs (1 rows, last serial 2)",
			"  owner=NULL  id=2  n=NULL  title='b'  due=NULL",
			"order \"by\" (0 rows, last serial 0)",
			"",
		}, "\n")
		if diff := cmp.Diff(want, w.shared.String()); diff != "" {
			t.Errorf("%s:\n%s", s.name, diff)
		}
		rows := w.shared.(interface{ Rows(string) []model.Row }).Rows("jobs")
		if got := names(rows); got != "2b" {
			t.Errorf("%s: rows %q, want 2b", s.name, got)
		}
		for _, st := range []model.Stmt{job("b"), model.Select("nothing")} {
			_, err := s.open(exactlyone.Store{Name: "test", Tables: schema, Rows: []model.Stmt{job("b"), st}})
			if err == nil || !strings.HasPrefix(err.Error(), "set-up of store test: store: ") {
				t.Errorf("%s: set-up with %s: %v", s.name, st, err)
			}
		}
	}
}

func TestWaits(t *testing.T) {
	for _, s := range stores {
		w := open(t, s.open)
		other := w.shared
		for _, tt := range []struct {
			op      interleave.Op
			session exactlyone.State
			others  []exactlyone.State
			want    bool
		}{
			{begin, nil, nil, false},
			{begin, nil, []exactlyone.State{other}, true},
			{begin, other, nil, true},
			{commit, other, nil, false},
			{exactlyone.StmtOp{Stmt: job("a")}, other, nil, false},
			{exactlyone.StmtOp{Stmt: model.Select("jobs")}, nil, []exactlyone.State{other}, true},
		} {
			if got := w.backend.Waits(w.shared, tt.session, tt.op, tt.others); got != tt.want {
				t.Errorf("%s: %s with %d others waits: %t", s.name, tt.op, len(tt.others), got)
			}
		}
	}
}
