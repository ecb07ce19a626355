package sqlitestore_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"exactlyone"
	"exactlyone/interleave"
	"exactlyone/model"
)

// values are the few values of each column, so that rows often meet.
var values = map[string][]any{
	"owner": {nil, "x", "y", ""},
	"n":     {nil, -3, 0, 1, 2},
	"title": {nil, "", "a", "A", "b'"},
	"due":   {nil, at(-time.Hour), at(0), at(time.Microsecond)},
	"id":    {1, 2, 3, 5},

	"rowid":    {nil, 1, 2, 3},
	"Position": {nil, "p"},
	`group"`:   {nil, at(0), at(time.Second)},
}

// draws names the columns of a table, those that can be set first.
var draws = map[string]struct {
	columns []string
	set     int
}{
	"jobs": {[]string{"owner", "n", "title", "due", "id"}, 4},
	odd:    {[]string{"rowid", "Position", `group"`}, 3},
}

func drawConds(t *rapid.T, table string) []model.Cond {
	var all []model.Cond
	for range rapid.SampledFrom([]int{1, 0, 2}).Draw(t, "conditions") {
		col := rapid.SampledFrom(draws[table].columns).Draw(t, "column")
		op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "comparison")
		all = append(all, model.Where(col, op, rapid.SampledFrom(values[col]).Draw(t, "value")))
	}
	return all
}

// drawSet adds to n alone: it is in no unique constraint.
func drawSet(t *rapid.T, table string) []model.Assign {
	var all []model.Assign
	for range rapid.IntRange(0, 4).Draw(t, "assignments") {
		col := rapid.SampledFrom(draws[table].columns[:draws[table].set]).Draw(t, "column")
		if col == "n" && rapid.Bool().Draw(t, "add") {
			all = append(all, model.Add(col, rapid.Int64Range(-2, 2).Draw(t, "by")))
			continue
		}
		all = append(all, model.Set(col, rapid.SampledFrom(values[col]).Draw(t, "value")))
	}
	return all
}

func drawOp(t *rapid.T, open bool) interleave.Op {
	verbs := []string{"insert", "select", "if absent", "update", "delete", "begin"}
	if open {
		verbs = append(verbs[:5], "commit", "rollback")
	}
	table := rapid.SampledFrom([]string{"jobs", odd}).Draw(t, "table")
	var st model.Stmt
	switch rapid.SampledFrom(verbs).Draw(t, "op") {
	case "begin":
		return begin
	case "commit":
		return commit
	case "rollback":
		return rollback
	case "insert":
		st = model.Insert(table, drawSet(t, table)...)
	case "if absent":
		st = model.InsertIfAbsent(table, drawSet(t, table)...)
	case "update":
		st = model.Update(table, drawSet(t, table)...).If(drawConds(t, table)...)
	case "delete":
		st = model.Delete(table, drawConds(t, table)...)
	case "select":
		st = model.Select(table, drawConds(t, table)...)
	}
	return exactlyone.StmtOp{Stmt: st}
}

// place is a pair of states, in memory and in SQLite.
type place struct{ memory, sqlite walk }

// intern is what a search does: of equal states it keeps the first.
type intern map[string]exactlyone.State

func (in intern) first(s exactlyone.State) exactlyone.State {
	if s == nil {
		return nil
	}
	if _, ok := in[s.String()]; !ok {
		in[s.String()] = s
	}
	return in[s.String()]
}

// TestEqualsMemory performs random ops, jumping back at random to states seen
// before, or to the same committed state with another session, and asks that
// states and replies are those of memory.
func TestEqualsMemory(t *testing.T) {
	memory, sqlite := open(t, stores[0].open), open(t, stores[1].open)
	duplicates, jumps := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		keep := intern{}
		now := place{*memory, *sqlite}
		seen := []place{now}
		for range rapid.IntRange(1, 200).Draw(t, "ops") {
			if rapid.IntRange(0, 3).Draw(t, "jump") == 3 {
				jumps++
				now = rapid.SampledFrom(seen).Draw(t, "to")
				if rapid.Bool().Draw(t, "another session") {
					other := rapid.SampledFrom(seen).Draw(t, "session")
					now.memory.session, now.sqlite.session = other.memory.session, other.sqlite.session
				}
			}
			op := drawOp(t, now.memory.session != nil)
			a, b := now.memory.op(op), now.sqlite.op(op)
			if a.Err == model.ErrDuplicate {
				duplicates++
			}
			want := outcome(now.memory.shared, now.memory.session, a)
			if diff := cmp.Diff(want, outcome(now.sqlite.shared, now.sqlite.session, b)); diff != "" {
				t.Fatalf("%s: SQLite is not as memory:\n%s", op, diff)
			}
			if diff := cmp.Diff(a.Result, b.Result); diff != "" {
				t.Fatalf("%s: results:\n%s", op, diff)
			}
			now.sqlite.shared, now.sqlite.session = keep.first(now.sqlite.shared), keep.first(now.sqlite.session)
			seen = append(seen, now)
		}
	})
	if _, restores := counts(sqlite); !t.Failed() && (duplicates == 0 || jumps == 0 || restores == 0) {
		t.Errorf("%d duplicates, %d jumps, %d restores: each was expected to happen", duplicates, jumps, restores)
	}
}
