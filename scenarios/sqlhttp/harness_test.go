package sqlhttp

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/simhttp"
	"exactlyone/simsql"
)

// What all writers have in common. None of it knows of exactlyone.

// request is what a client asks for.
type request struct{ scope, key, payload string }

func read(r *http.Request) (request, error) {
	body, err := io.ReadAll(r.Body)
	return request{r.Header.Get("X-Forwarded-User"), r.Header.Get("Idempotency-Key"), string(body)}, err
}

// writer carries a request out and says what to answer: a status and a body.
type writer func(ctx context.Context, q request) (int, string)

// ServeHTTP answers a request.
func (w writer) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	q, err := read(r)
	if err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	status, body := w(r.Context(), q)
	rw.WriteHeader(status)
	_, _ = io.WriteString(rw, body)
}

const (
	created  = http.StatusCreated
	replayed = http.StatusOK
	conflict = http.StatusConflict
)

func id(n int64) string { return fmt.Sprintf(`{"id":%d}`, n) }

// again tells a client to try again: the database was busy, or worse.
func again() (int, string) { return http.StatusServiceUnavailable, "try again" }

func inTx(ctx context.Context, db *sql.DB, f func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// queryer is a database or a transaction.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func insertRecord(ctx context.Context, db queryer, q request) (int64, error) {
	res, err := db.ExecContext(ctx, `INSERT INTO records (scope, req_key, payload) VALUES (?, ?, ?)`, q.scope, q.key, q.payload)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// insertInTx is insertRecord in a transaction of its own.
func insertInTx(ctx context.Context, db *sql.DB, q request) (n int64, err error) {
	err = inTx(ctx, db, func(tx *sql.Tx) (err error) {
		n, err = insertRecord(ctx, tx, q)
		return err
	})
	return n, err
}

func findRecord(ctx context.Context, db queryer, q request) (n int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT id FROM records WHERE scope = ? AND req_key = ?`, q.scope, q.key).Scan(&n)
	return n, err
}

// changed says whether a statement changed a row.
func changed(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// millis is a time as it is stored.
func millis(t time.Time) int64 { return t.UnixMilli() }

func newOwner() string { return rand.Text() }

// What surrounds a writer.

const records = `CREATE TABLE records (id INTEGER PRIMARY KEY, scope TEXT NOT NULL, req_key TEXT NOT NULL, payload TEXT NOT NULL);`

// system is a writer over one database, whose clients all send one request.
func system(name, schema string, serve func(env *exactlyone.Env) writer) exactlyone.System {
	return exactlyone.System{
		Name:   name,
		Stores: []exactlyone.Store{simsql.Store("db", records+schema, simsql.Options{BusyTimeout: 5 * time.Second})},
		Start:  func(env *exactlyone.Env) exactlyone.Server { return simhttp.Serve(serve(env)) },
		Client: func(int) model.Client {
			return model.Client{
				Operation: model.Operation{Name: "the request", Path: "/records", Caller: "acme", Body: `{"amount":10}`, RunID: "run", ToolUseID: "call"},
				Key:       model.KeyToolCall, Backoff: time.Second, MaxBackoff: 10 * time.Second,
			}
		},
		Effects: simsql.Effects("db", `SELECT id, payload AS body FROM records`),
		ID: func(a model.Answer) string {
			var made struct{ ID json.Number }
			_ = json.Unmarshal([]byte(a.Body), &made)
			return made.ID.String()
		},
		Stateless: true,
	}
}

// withLog is a system whose database has a write-ahead log.
func withLog(sys exactlyone.System, schema string) exactlyone.System {
	sys.Name += " wal"
	sys.Stores = append([]exactlyone.Store{simsql.Store("db", records+schema, simsql.Options{BusyTimeout: 5 * time.Second, Journal: simsql.WAL})}, sys.Stores[1:]...)
	return sys
}

// on is a writer over the database.
func on(f func(db *sql.DB) writer) func(env *exactlyone.Env) writer {
	return func(env *exactlyone.Env) writer { return f(env.DB("db")) }
}

// alone is bounds in which nothing goes wrong but so much of one kind.
func alone(t *testing.T, clients, attempts int, fault string) exactlyone.Bounds {
	t.Helper()
	b := exactlyone.Bounds{Clients: clients, Attempts: attempts}
	known := fault == ""
	for _, l := range b.Limits() {
		switch {
		case l.Name == fault:
			known, *l.N = true, 1
		case l.Least == 0:
			*l.N = exactlyone.None
		}
	}
	if !known {
		t.Fatalf("no fault %q", fault)
	}
	return b
}

// breaks checks that a flawed writer breaks a property, judged alone, with so many
// faults and in no more than so many steps, in either journal mode.
func breaks(t *testing.T, sys exactlyone.System, schema string, b exactlyone.Bounds, p props.Property, faults, steps int) {
	t.Helper()
	for _, sys := range []exactlyone.System{sys, withLog(sys, schema)} {
		sys.Properties = []props.Property{p}
		r, err := exactlyone.Run(t.Context(), sys, b, exactlyone.Options{Test: t})
		switch {
		case err != nil:
			t.Errorf("%s, %s: %v", sys.Name, p.Name, err)
		case r.Verdict != exactlyone.Violated:
			t.Errorf("%s, %s: %s %s", sys.Name, p.Name, r.Verdict, r.Why)
		case r.Faults != faults || len(r.Story.Steps) > steps:
			t.Errorf("%s, %s: %d faults and %d steps, want %d and at most %d\n%s", sys.Name, p.Name, r.Faults, len(r.Story.Steps), faults, steps, text(r))
		}
	}
}

func text(r *exactlyone.Result) string {
	var b strings.Builder
	_ = r.WriteText(&b, exactlyone.TextOptions{})
	return b.String()
}

// holds checks that a corrected writer keeps all properties in either journal mode:
// under each kind of fault alone, and under a lost answer, a crash and a jump of
// the clock together.
func holds(t *testing.T, sys exactlyone.System, schema string) {
	t.Helper()
	if testing.Short() {
		return // many searches
	}
	together := exactlyone.Bounds{Jumps: 1}
	all := []exactlyone.Bounds{together}
	for _, l := range new(exactlyone.Bounds).Limits() {
		if l.Least == 0 && l.Default == 0 && (l.Name != "calls" || len(sys.Services) > 0) {
			all = append(all, alone(t, 2, 2, l.Name))
		}
	}
	for _, sys := range []exactlyone.System{sys, withLog(sys, schema)} {
		for _, b := range all {
			if b == together && strings.HasSuffix(sys.Name, " wal") {
				b.Jumps = exactlyone.None // it has been searched with, and takes long
			}
			r, err := exactlyone.Run(t.Context(), sys, b, exactlyone.Options{Test: t})
			switch {
			case err != nil:
				t.Errorf("%s: %v: %v", sys.Name, b, err)
			case r.Verdict == exactlyone.Violated, r.Verdict == exactlyone.Inconclusive, r.Verdict == exactlyone.Vacuous && len(r.NotApplicable) == 0:
				t.Errorf("%s: %v: %s", sys.Name, r.Bounds, text(r))
			}
		}
	}
}
