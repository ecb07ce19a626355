package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// contractStep is one op of session 1, 2, … and the reply at each level: at
// read_committed, and at snapshot where that differs.
type contractStep struct {
	who                 int
	op                  interleave.Op
	committed, snapshot string
}

func in(s model.Stmt) interleave.Op   { return StmtOp{Stmt: s} }
func auto(s model.Stmt) interleave.Op { return StmtOp{Stmt: s, Auto: true} }

const (
	done          = "0 changed"
	one           = "1 changed"
	waits         = "waits"
	duplicate     = "error: store: duplicate key"
	serialization = "error: store: could not serialize access"
)

var (
	begins, commit, rollback = BeginOp{}, CommitOp{}, RollbackOp{}

	readA   = model.Select("t", model.Eq("k", "a"))
	readU   = model.Select("u")
	ones    = model.Select("t", model.Eq("n", 1))
	addA    = model.Update("t", model.Add("n", 1)).If(model.Eq("k", "a"))
	addB    = model.Update("t", model.Add("n", 1)).If(model.Eq("k", "b"))
	insertC = model.Insert("u", model.Set("a", "c"), model.Set("b", 3))
	ifC     = model.InsertIfAbsent("u", model.Set("a", "c"), model.Set("b", 3))
)

const (
	a1   = "1 of (id=1, k='a', n=1)"
	a2   = "1 of (id=1, k='a', n=2)"
	a3   = "1 of (id=1, k='a', n=3)"
	both = "2 of (id=1, k='a', n=1) (id=2, k='b', n=1)"
)

// isolationContract is what transactions notice of each other. Each row was
// compared with PostgreSQL; TestContractIsPostgres does it again where one is
// installed.
var isolationContract = map[string][]contractStep{
	"dirty read": {
		{1, begins, done, ""},
		{1, in(addA), one, ""},
		{2, auto(readA), a1, ""},
		{2, begins, done, ""},
		{2, in(readA), a1, ""},
		{1, in(readA), a2, ""},
		{1, rollback, done, ""},
		{2, in(readA), a1, ""},
	},
	"non-repeatable read": {
		{1, begins, done, ""},
		{1, in(readA), a1, ""},
		{2, auto(addA), one, ""},
		{1, in(readA), a2, a1},
		{1, commit, done, ""},
		{1, auto(readA), a2, ""},
	},
	"lost update": {
		{1, begins, done, ""},
		{2, begins, done, ""},
		{1, in(readA), a1, ""},
		{2, in(readA), a1, ""},
		{1, in(addA), one, ""},
		{2, in(addA), waits, ""},
		{1, commit, done, ""},
		{2, in(addA), one, serialization},
		{3, auto(readA), a2, ""},
	},
	"updates one after another": {
		{1, begins, done, ""},
		{1, in(addA), one, ""},
		{2, auto(addA), waits, ""},
		{1, commit, done, ""},
		{2, auto(addA), one, ""},
		{3, auto(readA), a3, ""},
	},
	"write skew": {
		{1, begins, done, ""},
		{2, begins, done, ""},
		{1, in(ones), both, ""},
		{2, in(ones), both, ""},
		{1, in(addA), one, ""},
		{2, in(addB), one, ""},
		{1, commit, done, ""},
		{2, commit, done, ""},
		{3, auto(ones), "no row", ""},
	},
	"phantom": {
		{1, begins, done, ""},
		{1, in(readU), "2 of (a='a', b=1, n=1) (a='b', b=2, n=1)", ""},
		{2, auto(insertC), one, ""},
		{1, in(readU), "3 of (a='a', b=1, n=1) (a='b', b=2, n=1) (a='c', b=3)", "2 of (a='a', b=1, n=1) (a='b', b=2, n=1)"},
		{1, in(model.Update("u", model.Set("n", 7))), "3 changed", "2 changed"},
	},
	"unique, then duplicate": {
		{1, begins, done, ""},
		{2, begins, done, ""},
		{1, in(insertC), one, ""},
		{2, in(insertC), waits, ""},
		{3, auto(ifC), waits, ""},
		{1, commit, done, ""},
		{2, in(insertC), duplicate, ""},
		{3, auto(ifC), done, ""},
		{2, in(addA), one, ""},
		{2, commit, done, ""},
		{3, auto(readA), a2, ""}, // the duplicate left the transaction open
	},
	"unique, then room": {
		{1, begins, done, ""},
		{2, begins, done, ""},
		{1, in(insertC), one, ""},
		{2, in(insertC), waits, ""},
		{1, rollback, done, ""},
		{2, in(insertC), one, ""},
	},
	"a duplicate out of sight": {
		{1, begins, done, ""},
		{1, in(readU), "2 of (a='a', b=1, n=1) (a='b', b=2, n=1)", ""},
		{2, auto(insertC), one, ""},
		{1, in(insertC), duplicate, ""},
		{1, in(ifC), done, serialization},
	},
	"a key given up": {
		{1, begins, done, ""},
		{1, in(model.Delete("u", model.Eq("a", "b"))), one, ""},
		{2, auto(model.Insert("u", model.Set("a", "b"), model.Set("b", 9))), waits, ""},
		{2, auto(model.Insert("u", model.Set("a", "d"), model.Set("b", 2))), waits, ""},
		{2, auto(model.Insert("u", model.Set("a", "a"), model.Set("b", 2))), duplicate, ""}, // fails in the first set
		{1, commit, done, ""},
		{2, auto(model.Insert("u", model.Set("a", "b"), model.Set("b", 9))), one, ""},
	},
	"inserted and deleted": {
		{1, begins, done, ""},
		{1, in(insertC), one, ""},
		{1, in(model.Delete("u", model.Eq("a", "c"))), one, ""},
		{2, auto(insertC), waits, ""},
		{1, in(insertC), one, ""},
		{1, rollback, done, ""},
		{2, auto(insertC), one, ""},
	},
	"a failed statement holds nothing": {
		{1, begins, done, ""},
		{1, in(model.Insert("u", model.Set("a", "c"), model.Set("b", 1))), duplicate, ""},
		{2, auto(insertC), one, ""},
	},
	"deleted since": {
		{1, begins, done, ""},
		{1, in(readA), a1, ""},
		{2, auto(model.Delete("t", model.Eq("k", "a"))), one, ""},
		{1, in(addA), done, serialization},
	},
	"changed and changed back": {
		{1, begins, done, ""},
		{1, in(readA), a1, ""},
		{2, auto(addA), one, ""},
		{2, auto(model.Update("t", model.Add("n", -1)).If(model.Eq("k", "a"))), one, ""},
		{1, in(readA), a1, ""},
		{1, in(addA), one, serialization},
	},
	"beside the own transaction": {
		{1, begins, done, ""},
		{1, in(addA), one, ""},
		{1, auto(readA), a1, ""},
		{1, auto(addB), one, ""},
		{1, auto(addA), waits, ""},
		{1, begins, waits, ""}, // for ever
		{1, commit, done, ""},
		{1, auto(addA), one, ""},
		{1, auto(readA), a3, ""},
	},
	"a locked row that was not changed": {
		{1, begins, done, ""}, {1, in(model.Update("t", model.Set("n", 1)).If(model.Eq("k", "a"))), one, ""}, {2, auto(addA), waits, ""},
	},
	"serial numbers are not given back": {
		{1, begins, done, ""},
		{1, in(model.Insert("t", model.Set("k", "x"))), "id 3", ""},
		{2, auto(model.Insert("t", model.Set("k", "y"))), "id 4", ""},
		{1, rollback, done, ""},
		{1, auto(model.Insert("t", model.Set("k", "x"))), "id 5", ""},
	},
}

// want is the reply at a level.
func (c contractStep) want(level Isolation) string {
	if level == SnapshotIsolation && c.snapshot != "" {
		return c.snapshot
	}
	return c.committed
}

func TestIsolationContract(t *testing.T) {
	for _, level := range []Isolation{ReadCommitted, SnapshotIsolation} {
		for name, steps := range isolationContract {
			m := newMemorySide(t, level, 3)
			for n, s := range steps {
				if got := m.do(s.who-1, s.op); got != s.want(level) {
					t.Errorf("%s, %s, step %d, %s: %s, want %s", level, name, n+1, s.op, got, s.want(level))
				}
			}
		}
	}
	// One at a time, whoever is second waits for the first to end.
	for _, level := range Isolations {
		m := newMemorySide(t, level, 2)
		m.do(0, begins)
		want := done
		if level == Serial {
			want = waits
		}
		if got := m.do(1, begins); got != want {
			t.Errorf("%s: a second transaction: %s, want %s", level, got, want)
		}
	}
}

func TestParseIsolation(t *testing.T) {
	for _, level := range Isolations {
		if got, err := ParseIsolation(string(level)); got != level || err != nil {
			t.Errorf("%s: %s, %v", level, got, err)
		}
	}
	_, err := ParseIsolation("dirty")
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), `isolation "dirty": one of serial, snapshot, read_committed was expected`) {
		t.Error(err)
	}
	if _, err := MemoryAt("dirty")(Store{}); !errors.Is(err, ErrUsage) {
		t.Error(err)
	}
}

// TestAloneIsTables: to one session at a time every level gives what the plain
// tables give. A transaction that rolls back inserts nothing into t, where a
// serial number would be lost.
func TestAloneIsTables(t *testing.T) {
	level := rapid.SampledFrom(Isolations)
	rapid.Check(t, func(rt *rapid.T) {
		plain, side := newMemorySide(t, Serial, 1), newMemorySide(t, level.Draw(rt, "level"), 1)
		gaveSerial := false
		for range rapid.IntRange(1, 40).Draw(rt, "ops") {
			op := rapid.Custom(func(rt *rapid.T) interleave.Op { return drawAlone(rt, plain.sessions[0] != nil, gaveSerial) }).Draw(rt, "op")
			want, got := plain.do(0, op), side.do(0, op)
			if want != got {
				rt.Fatalf("%s: %s, want %s", op, got, want)
			}
			gaveSerial = plain.sessions[0] != nil && (gaveSerial || strings.HasPrefix(got, "id "))
			for _, table := range isolationSchema {
				want := Contents{[]string{"db"}, []State{plain.shared}}.Rows("db", table.Name)
				got := Contents{[]string{"db"}, []State{side.shared}}.Rows("db", table.Name)
				if fmt.Sprint(want) != fmt.Sprint(got) {
					rt.Fatalf("after %s, %s holds %v, want %v", op, table.Name, got, want)
				}
			}
		}
	})
}

func drawAlone(rt *rapid.T, open, gaveSerial bool) interleave.Op {
	ops := []interleave.Op{begins}
	switch {
	case open && gaveSerial:
		ops = []interleave.Op{commit}
	case open:
		ops = []interleave.Op{commit, rollback}
	}
	if n := rapid.IntRange(0, 5).Draw(rt, "verb"); n > 0 {
		return StmtOp{Stmt: drawStmt(rt, n)}
	}
	return rapid.SampledFrom(ops).Draw(rt, "op")
}

// drawStmt draws values that often meet; some are missing.
func drawStmt(rt *rapid.T, verb int) model.Stmt {
	table := rapid.SampledFrom(isolationSchema).Draw(rt, "table")
	cols := slices.Clone(table.Columns[len(table.Columns)-2:])
	if table.Name == "u" {
		cols = table.Columns
	}
	value := func(c model.Column) any {
		if c.Kind == model.Text {
			return rapid.SampledFrom([]any{"a", "b", "c", nil}).Draw(rt, c.Name)
		}
		return rapid.SampledFrom([]any{0, 1, 2, 3, nil}).Draw(rt, c.Name)
	}
	col := rapid.SampledFrom(cols)
	var where []model.Cond
	for range rapid.IntRange(0, 2).Draw(rt, "conditions") {
		c := col.Draw(rt, "column")
		where = append(where, model.Where(c.Name, rapid.SampledFrom([]string{"=", "<>", "<", ">="}).Draw(rt, "op"), value(c)))
	}
	var set []model.Assign
	for _, c := range cols {
		if rapid.Bool().Draw(rt, "set") {
			set = append(set, model.Set(c.Name, value(c)))
		} else if c.Kind == model.Int && rapid.Bool().Draw(rt, "add") && verb == 3 {
			set = append(set, model.Add(c.Name, 1))
		}
	}
	switch verb {
	case 1:
		return model.Insert(table.Name, set...)
	case 2:
		return model.InsertIfAbsent(table.Name, set...)
	case 3:
		return model.Update(table.Name, set...).If(where...)
	case 4:
		return model.Delete(table.Name, where...)
	}
	return model.Select(table.Name, where...)
}

// checkThenInsert looks for the key and files the report in one transaction,
// as W01 does in two; nothing in the schema forbids a second report.
func checkThenInsert(t *testing.T, level Isolation) System {
	sys := handled(t, func(env *Env, ctx context.Context, req model.Request) model.Answer {
		tx, err := env.Store("db").Begin(ctx)
		if err != nil {
			return model.Answer{Status: 503}
		}
		found, err := tx.Do(ctx, model.Select("reports", model.Eq("body", req.Body)))
		if err == nil && len(found.Rows) > 0 {
			_ = tx.Rollback(ctx)
			return model.Created(found.Rows[0].Int("id"))
		}
		res, err := tx.Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
		if err != nil || tx.Commit(ctx) != nil {
			return model.Answer{Status: 503}
		}
		return model.Created(res.ID)
	})
	sys.Name, sys.Backend = "check_then_insert", MemoryAt(level)
	return sys
}

// TestCheckThenInsertInOneTransaction: serial transactions make it right, two
// snapshots or statements of their own do not.
func TestCheckThenInsertInOneTransaction(t *testing.T) {
	for _, level := range Isolations {
		sys := checkThenInsert(t, level)
		r := mustRun(t, sys, Bounds{}, Options{})
		want := Violated
		if level == Serial {
			want = Holds
		}
		if r.Verdict != want {
			t.Errorf("%s: %s, want %s", level, r.Verdict, want)
			continue
		}
		if r.Story == nil {
			continue
		}
		var text strings.Builder
		_ = r.Story.WriteText(&text, TextOptions{})
		golden(t, filepath.Join("testdata", "stories", "check_then_insert_"+string(level)+".txt"), text.String())
		if again, err := Replay(sys, r.Story, 0, nil); err != nil || again.Property != r.Story.Property {
			t.Errorf("%s: the replay: %v", level, err)
		}
	}
}

// TestKeyAtomicAtEveryLevel: its unique key and its fence are enough.
func TestKeyAtomicAtEveryLevel(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: long searches")
	}
	for _, level := range Isolations {
		sys := builtin(t, "key_atomic", "")
		sys.Backend = MemoryAt(level)
		r := mustRun(t, sys, Bounds{}, Options{})
		if r.Verdict != Holds {
			t.Errorf("%s: %s %s", level, r.Verdict, r.Why)
		}
		t.Logf("%s: %d states, %d steps, %v", level, r.States, r.Steps, r.Exercised)
	}
}

// crossing updates a and b in an order that depends on the client, files its
// report, and answers 503 for a deadlock or a serialization failure.
func crossing(t *testing.T, level Isolation) System {
	sys := handled(t, func(env *Env, ctx context.Context, req model.Request) model.Answer {
		first, second := "a", "b"
		if req.Body == "2" {
			first, second = second, first
		}
		tx, _ := env.Store("db").Begin(ctx)
		for _, key := range []string{first, second} {
			if _, err := tx.Do(ctx, model.Update("keys", model.Add("fence", 1)).If(model.Eq("key", key))); err != nil {
				_ = tx.Rollback(ctx)
				return model.Answer{Status: 503}
			}
		}
		found, err := tx.Do(ctx, model.Select("reports", model.Eq("body", req.Body)))
		if err == nil && len(found.Rows) > 0 {
			_ = tx.Rollback(ctx)
			return model.Created(found.Rows[0].Int("id"))
		}
		res, err := tx.Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
		if err != nil || tx.Commit(ctx) != nil {
			return model.Answer{Status: 503}
		}
		return model.Created(res.ID)
	})
	client := sys.Client
	sys.Client = func(i int) model.Client {
		c := client(i)
		c.Operation.Name, c.Operation.Body = fmt.Sprint("report ", i+1), fmt.Sprint(i+1)
		return c
	}
	sys.Name, sys.OpaqueIDs = "crossing", false
	sys.Stores[0].Rows = []model.Stmt{model.Insert("keys", model.Set("key", "a"), model.Set("fence", 0)), model.Insert("keys", model.Set("key", "b"), model.Set("fence", 0))}
	sys.Backend = MemoryAt(level)
	return sys
}

// TestDeadlocks: two updates in opposite order are a deadlock at both levels,
// whatever is left out of the search, and after it both clients end well.
func TestDeadlocks(t *testing.T) {
	for _, level := range []Isolation{ReadCommitted, SnapshotIsolation} {
		for _, reduction := range []string{"visited", "all"} {
			r := mustRun(t, crossing(t, level), Bounds{Jumps: None, Nodes: 2}, Options{Reduction: reduction})
			if r.Verdict != Holds || r.Exercised["deadlocks"] == 0 || r.Exercised["ends in which somebody waits for ever"] > 0 {
				t.Errorf("%s, reduction %s: %s %s %v", level, reduction, r.Verdict, r.Why, r.Exercised)
			}
		}
	}
}

// TestDeadlockStory: who must always be answered 201 is told a 503.
func TestDeadlockStory(t *testing.T) {
	sys := crossing(t, ReadCommitted)
	sys.Properties = []props.Property{props.New("never-503", "every answer is a 201",
		func(bad bool, told model.Told) bool { return bad || told.Answer.Status == 503 },
		func(bad bool, v props.View) (bool, string) {
			if bad {
				return true, "a client was told 503"
			}
			return v.End, ""
		})}
	r := mustRun(t, sys, Bounds{Attempts: 1}, Options{})
	if r.Verdict != Violated || r.Faults != 0 {
		t.Fatalf("%s with %d faults", r.Verdict, r.Faults)
	}
	var text strings.Builder
	_ = r.Story.WriteText(&text, TextOptions{})
	golden(t, filepath.Join("testdata", "stories", "deadlock.txt"), text.String())
	if !slices.ContainsFunc(r.Story.Steps, func(s Step) bool { return strings.HasSuffix(s.Label, ": deadlock detected") && !s.Fault }) {
		t.Error("no step is a deadlock")
	}
	if again, err := Replay(sys, r.Story, 0, nil); err != nil || again.Property != r.Story.Property {
		t.Errorf("the replay: %v", err)
	}
}

// TestSelfDeadlock: a statement of its own waits for ever for what the
// handler's own transaction has locked; no store can know that.
func TestSelfDeadlock(t *testing.T) {
	sys := handled(t, func(env *Env, ctx context.Context, req model.Request) model.Answer {
		store := env.Store("db")
		tx, _ := store.Begin(ctx)
		_, _ = tx.Do(ctx, model.Insert("keys", model.Set("key", "a")))
		_, _ = store.Do(ctx, model.Insert("keys", model.Set("key", "a")))
		_ = tx.Commit(ctx)
		return insert(env, ctx, req)
	})
	for _, level := range []Isolation{ReadCommitted, SnapshotIsolation} {
		sys.Backend = MemoryAt(level)
		r := mustRun(t, sys, Bounds{Clients: 1, Attempts: 1, Crashes: None, LostAnswers: None, Jumps: None}, Options{})
		if r.Exercised["ends in which somebody waits for ever"] != 1 || r.Exercised["deadlocks"] != 0 {
			t.Errorf("%s: %v", level, r.Exercised)
		}
	}
}
