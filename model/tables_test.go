package model_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"exactlyone/clock"
	"exactlyone/model"
)

var schema = model.Schema{{
	Name:    "t",
	Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "k", Kind: model.Text}, {Name: "n", Kind: model.Int}, {Name: "at", Kind: model.Time}},
	Unique:  [][]string{{"k"}},
}}

func TestTablesDo(t *testing.T) {
	soon := clock.Epoch.Add(time.Second)
	steps := []struct {
		stmt model.Stmt
		want model.Result
		err  error
	}{
		{stmt: model.Insert("t", model.Set("k", "a"), model.Set("n", 1), model.Set("at", soon)), want: model.Result{Affected: 1, ID: 1}},
		{stmt: model.Insert("t", model.Set("k", "a")), err: model.ErrDuplicate},
		{stmt: model.InsertIfAbsent("t", model.Set("k", "a"))},
		{stmt: model.Insert("t", model.Set("k", "b")), want: model.Result{Affected: 1, ID: 2}},
		{stmt: model.Insert("t", model.Set("n", 7)), want: model.Result{Affected: 1, ID: 3}}, // NULL is no duplicate
		{stmt: model.Insert("t", model.Set("n", 7)), want: model.Result{Affected: 1, ID: 4}},
		{stmt: model.Update("t", model.Set("k", "a")).If(model.Eq("k", "b")), err: model.ErrDuplicate},
		{stmt: model.Update("t", model.Add("n", 5)).If(model.Where("n", ">=", 7)), want: model.Result{Affected: 2}},
		{stmt: model.Update("t", model.Add("n", 5)).If(model.Eq("k", "b")), want: model.Result{Affected: 1}}, // NULL + 5
		{stmt: model.Select("t", model.Where("at", "<", soon)), want: model.Result{Rows: []model.Row{}}},
		{stmt: model.Select("t", model.Where("at", "<=", soon)), want: model.Result{Rows: []model.Row{{"id": int64(1), "k": "a", "n": int64(1), "at": soon}}}},
		{stmt: model.Select("t", model.Eq("k", nil), model.Where("n", ">", 0)), want: model.Result{Rows: []model.Row{
			{"id": int64(3), "k": nil, "n": int64(12), "at": nil}, {"id": int64(4), "k": nil, "n": int64(12), "at": nil},
		}}},
		{stmt: model.Select("t", model.Where("k", "<>", "a")), want: model.Result{Rows: []model.Row{{"id": int64(2), "k": "b", "n": nil, "at": nil}}}},
		{stmt: model.Delete("t", model.Where("id", ">", 2)), want: model.Result{Affected: 2}},
		{stmt: model.Delete("t", model.Eq("k", "nobody"))},
		{stmt: model.Insert("t", model.Set("k", "c")), want: model.Result{Affected: 1, ID: 5}}, // ids are not given again
	}
	tables := model.NewTables(schema)
	for _, s := range steps {
		before := tables.String()
		next, got, err := tables.Do(s.stmt)
		if !errors.Is(err, s.err) || (err != nil) != (s.err != nil) {
			t.Errorf("%s: error %v, want %v", s.stmt, err, s.err)
		}
		if diff := cmp.Diff(s.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", s.stmt, diff)
		}
		if tables.String() != before {
			t.Errorf("%s changed the tables it was given", s.stmt)
		}
		tables = next
	}
	if got := tables.LastSerial("t"); got != 5 {
		t.Errorf("last serial %d, want 5", got)
	}
}

func TestStatementsThatDoNotFit(t *testing.T) {
	tests := []struct {
		stmt model.Stmt
		want string
	}{
		{model.Select("u"), `no table "u"`},
		{model.Select("t", model.Eq("x", 1)), `no column "x"`},
		{model.Insert("t", model.Set("k", 1)), "column k does not hold int64"},
		{model.Insert("t", model.Set("id", 1)), "column id cannot be set"},
		{model.Update("t", model.Add("k", 1)), "column k does not hold int64"},
		{model.Update("t", model.Add("at", 1)), "column at does not hold int64"},
		{model.Delete("t", model.Eq("at", "now")), "column at does not hold string"},
	}
	for _, tt := range tests {
		_, _, err := model.NewTables(schema).Do(tt.stmt)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want one with %q", tt.stmt, err, tt.want)
		}
	}
	for name, f := range map[string]func(){
		"operator": func() { model.Where("k", "LIKE", "a") },
		"type":     func() { model.Set("k", 1.5) },
		"schema":   func() { model.NewTables(model.Schema{{Name: "t", Unique: [][]string{{"x"}}}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("wrong %s: no panic", name)
				}
			}()
			f()
		}()
	}
}

func TestStatementText(t *testing.T) {
	for want, s := range map[string]model.Stmt{
		"SELECT FROM t WHERE k='it''s' AND n<>3":  model.Select("t", model.Eq("k", "it's"), model.Where("n", "<>", 3)),
		"INSERT INTO t (k='a', n=NULL) OR IGNORE": model.InsertIfAbsent("t", model.Set("k", "a"), model.Set("n", nil)),
		"UPDATE t SET n=n+2, at=+30s WHERE k='a'": model.Update("t", model.Add("n", 2), model.Set("at", clock.Epoch.Add(30*time.Second))).If(model.Eq("k", "a")),
		"DELETE FROM t WHERE n>=1":                model.Delete("t", model.Where("n", ">=", true)),
	} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestDiff(t *testing.T) {
	do := func(tb *model.Tables, stmts ...model.Stmt) *model.Tables {
		for _, s := range stmts {
			tb, _, _ = tb.Do(s)
		}
		return tb
	}
	a := do(model.NewTables(schema), model.Insert("t", model.Set("k", "a"), model.Set("n", 1)), model.Insert("t", model.Set("k", "b")))
	b := do(a, model.Update("t", model.Set("n", nil)).If(model.Eq("k", "a")), model.Insert("t", model.Set("k", "c")))
	if diff := cmp.Diff([]string{"~t n=NULL", "+t id=3 k='c'"}, a.Diff(b)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"~t n=1", "-t id=3 k='c'"}, b.Diff(a)); diff != "" {
		t.Error(diff)
	}
}
