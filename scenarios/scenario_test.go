package scenarios

import (
	"context"
	"strings"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/sqlitestore"
)

// handler is a writer: env is its server process.
type handler func(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer

type server struct {
	env *exactlyone.Env
	h   handler
}

func (s server) Handle(ctx context.Context, req model.Request) model.Answer {
	return s.h(s.env, ctx, req)
}

// records holds the effects: one row for each request that was carried out.
func records(unique bool) model.Table {
	t := model.Table{Name: "records", Columns: []model.Column{
		{Name: "id", Kind: model.Serial},
		{Name: "scope", Kind: model.Text},
		{Name: "req_key", Kind: model.Text},
		{Name: "payload", Kind: model.Text},
	}}
	if unique {
		t.Unique = [][]string{{"scope", "req_key"}}
	}
	return t
}

// byKey is a table with one row for each scope and key.
func byKey(name string, columns ...model.Column) model.Table {
	return model.Table{
		Name:    name,
		Columns: append([]model.Column{{Name: "scope", Kind: model.Text}, {Name: "key", Kind: model.Text}}, columns...),
		Unique:  [][]string{{"scope", "key"}},
	}
}

func text(name string) model.Column   { return model.Column{Name: name, Kind: model.Text} }
func number(name string) model.Column { return model.Column{Name: name, Kind: model.Int} }
func moment(name string) model.Column { return model.Column{Name: name, Kind: model.Time} }

// system is a writer over one store, whose clients all send one request.
func system(name string, tables model.Schema, h handler) exactlyone.System {
	return exactlyone.System{
		Name:   name,
		Stores: []exactlyone.Store{{Name: "db", Tables: tables}},
		Start:  func(env *exactlyone.Env) model.Server { return server{env, h} },
		Client: func(int) model.Client {
			return model.Client{
				Operation: model.Operation{Name: "the request", Path: "/records", Caller: "acme", Body: `{"amount":10}`, RunID: "run", ToolUseID: "call"},
				Key:       model.KeyToolCall, Backoff: time.Second, MaxBackoff: 10 * time.Second,
			}
		},
		Effects: func(c exactlyone.Contents) (all []model.Effect) {
			for _, row := range c.Rows("db", "records") {
				all = append(all, model.Effect{ID: model.Literal(row["id"]), Body: row.Text("payload")})
			}
			return all
		},
		ID:        model.CreatedID,
		Stateless: true, OpaqueIDs: true,
	}
}

// Answers that writers give.
var (
	running  = model.Answer{Status: 409, Body: "running"}
	mismatch = model.Answer{Status: 422, Body: "another payload"}
	failed   = model.Answer{Status: 500, Body: "failed"}
	again    = model.Answer{Status: 503, Body: "try again"}
)

// found is the answer of a record that is there.
func found(id int64) model.Answer {
	a := model.Created(id)
	a.Status = 200
	return a
}

// mine are the conditions on the row of a request's scope and key.
func mine(req model.Request, more ...model.Cond) []model.Cond {
	return append([]model.Cond{model.Eq("scope", req.Caller), model.Eq("key", req.Key)}, more...)
}

// named are the columns of such a row.
func named(req model.Request, more ...model.Assign) []model.Assign {
	return append([]model.Assign{model.Set("scope", req.Caller), model.Set("key", req.Key)}, more...)
}

func insertRecord(req model.Request) model.Stmt {
	return model.Insert("records", recordOf(req)...)
}

func recordOf(req model.Request) []model.Assign {
	return []model.Assign{model.Set("scope", req.Caller), model.Set("req_key", req.Key), model.Set("payload", req.Body)}
}

func selectRecord(req model.Request) model.Stmt {
	return model.Select("records", model.Eq("scope", req.Caller), model.Eq("req_key", req.Key))
}

// inTx carries out f in a transaction. Whatever fails rolls it back; the error of
// COMMIT comes back as it is.
func inTx(ctx context.Context, store model.Store, f func(tx model.Tx) error) error {
	tx, err := store.Begin(ctx)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback(ctx)
		return err
	}
	return tx.Commit(ctx)
}

// alone is bounds in which nothing goes wrong but so much of one kind.
func alone(t *testing.T, clients, attempts int, fault string, n int) exactlyone.Bounds {
	t.Helper()
	b := exactlyone.Bounds{Clients: clients, Attempts: attempts}
	known := fault == ""
	for _, l := range b.Limits() {
		switch {
		case l.Name == fault:
			known, *l.N = true, n
		case l.Least == 0:
			*l.N = exactlyone.None
		}
	}
	if !known {
		t.Fatalf("no fault %q", fault)
	}
	return b
}

// breaks checks that a flawed writer breaks a property, judged alone, with so
// many faults and in no more than so many steps; in memory and on SQLite.
func breaks(t *testing.T, sys exactlyone.System, b exactlyone.Bounds, p props.Property, faults, steps int) {
	t.Helper()
	for _, open := range []func(exactlyone.Store) (exactlyone.Backend, error){exactlyone.Memory, sqlitestore.Open} {
		breaksOn(t, on(sys, open), b, p, faults, steps)
	}
}

// on is a system over stores that open opens.
func on(sys exactlyone.System, open func(exactlyone.Store) (exactlyone.Backend, error)) exactlyone.System {
	sys.Backend = open
	return sys
}

// breaksOn is breaks over the stores of sys.
func breaksOn(t *testing.T, sys exactlyone.System, b exactlyone.Bounds, p props.Property, faults, steps int) {
	t.Helper()
	sys.Properties = []props.Property{p}
	r, err := exactlyone.Run(context.Background(), sys, b, exactlyone.Options{})
	switch {
	case err != nil:
		t.Errorf("%s, %s: %v", sys.Name, p.Name, err)
	case r.Verdict != exactlyone.Violated:
		t.Errorf("%s, %s: %s %s", sys.Name, p.Name, r.Verdict, r.Why)
	case r.Faults != faults || len(r.Story.Steps) > steps:
		var story strings.Builder
		_ = r.Story.WriteText(&story, exactlyone.TextOptions{})
		t.Errorf("%s, %s: %d faults and %d steps, want %d and at most %d\n%s", sys.Name, p.Name, r.Faults, len(r.Story.Steps), faults, steps, story.String())
	}
}

// cleanAnswer: nobody is answered 500. It is a claim about executions in which
// nothing goes wrong, and so for bounds without faults.
func cleanAnswer() props.Property {
	return props.New("clean-answer", "without a fault no request is answered 500",
		func(told told500, t model.Told) told500 { return told || t.Answer.Status == 500 },
		func(told told500, _ props.View) (bool, string) {
			if told {
				return true, "a client was told 500, and nothing went wrong"
			}
			return true, ""
		})
}

// told500 is whether a client was told 500.
type told500 bool

// holds checks that a corrected writer keeps all properties, whatever goes wrong:
// each kind of fault alone, and a lost answer, a crash and so many jumps of the
// clock together; in memory and on SQLite. Where transactions run side by side
// commits err and take effect later, which they do nowhere else.
func holds(t *testing.T, sys exactlyone.System, clients, jumps int) {
	t.Helper()
	if testing.Short() {
		return // the searches are the same as elsewhere, and take long under the race detector
	}
	calm := sys
	calm.Properties = []props.Property{cleanAnswer()}
	holdsIn(t, calm, alone(t, clients, 2, "", 0))
	together := exactlyone.Bounds{Clients: clients, Attempts: 2, Jumps: jumps}
	each := eachAlone(t, clients, len(sys.Services) > 0)
	holdsIn(t, on(sys, exactlyone.Memory), append(each, together)...)
	holdsIn(t, on(sys, sqlitestore.Open), append(each, together)...)
	holdsIn(t, on(sys, exactlyone.MemoryAt(exactlyone.ReadCommitted)), alone(t, clients, 2, "commit_faults", 1))
}

// eachAlone is every kind of fault alone, once, but for those that strike by
// default: together they are searched anyhow, and that has each of them alone in
// it. Calls fail where there are any.
func eachAlone(t *testing.T, clients int, calls bool) (each []exactlyone.Bounds) {
	t.Helper()
	for _, l := range new(exactlyone.Bounds).Limits() {
		if l.Least > 0 || l.Default > 0 || l.Name == "calls" && !calls {
			continue
		}
		b := alone(t, clients, 2, l.Name, 1)
		if l.Name == "skews" {
			b.Nodes = 2
		}
		each = append(each, b)
	}
	return each
}

// holdsIn checks that a system keeps its properties within bounds. What has no
// place to strike in it is no failure.
func holdsIn(t *testing.T, sys exactlyone.System, all ...exactlyone.Bounds) {
	t.Helper()
	for _, b := range all {
		r, err := exactlyone.Run(context.Background(), sys, b, exactlyone.Options{})
		switch {
		case err != nil:
			t.Errorf("%s: %v: %v", sys.Name, b, err)
		case r.Verdict == exactlyone.Violated:
			var story strings.Builder
			_ = r.Story.WriteText(&story, exactlyone.TextOptions{})
			t.Errorf("%s: %v: %s\n%s", sys.Name, r.Bounds, r.Story.Property, story.String())
		case r.Verdict == exactlyone.Inconclusive, r.Verdict == exactlyone.Vacuous && len(r.NotApplicable) == 0:
			t.Errorf("%s: %v: %s %s", sys.Name, r.Bounds, r.Verdict, r.Why)
		}
	}
}
