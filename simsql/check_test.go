package simsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"modernc.org/sqlite"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/simsql"
)

const reports = `
CREATE TABLE reports (id INTEGER PRIMARY KEY, key TEXT UNIQUE, body TEXT NOT NULL, made TEXT DEFAULT CURRENT_TIMESTAMP);
`

// service files a report: look first, then insert, in one transaction or not.
type service struct {
	db     *sql.DB
	unique bool // rely on the unique key
	looks  bool // look first
	inTx   bool
}

func (s service) Handle(ctx context.Context, req model.Request) model.Answer {
	id, err := s.file(ctx, req)
	if err != nil {
		return model.Answer{Status: 503, Body: err.Error()}
	}
	return model.Answer{Status: 201, Body: fmt.Sprint(id)}
}

type queryer interface {
	runner
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func (s service) file(ctx context.Context, req model.Request) (int64, error) {
	if !s.inTx {
		return s.store(ctx, s.db, req)
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	id, err := s.store(ctx, tx, req)
	if err != nil {
		return 0, err
	}
	return id, tx.Commit()
}

func (s service) store(ctx context.Context, db queryer, req model.Request) (int64, error) {
	var id int64
	if s.looks {
		err := db.QueryRowContext(ctx, "SELECT id FROM reports WHERE body = ?", req.Body).Scan(&id)
		if !errors.Is(err, sql.ErrNoRows) {
			return id, err
		}
	}
	var key any
	if s.unique {
		key = req.Key
	}
	err := db.QueryRowContext(ctx, "INSERT INTO reports (key, body) VALUES (?, ?) RETURNING id", key, req.Body).Scan(&id)
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code() == 2067 {
		err = db.QueryRowContext(ctx, "SELECT id FROM reports WHERE key = ?", key).Scan(&id)
	}
	return id, err
}

func systemOf(s service, o simsql.Options) exactlyone.System {
	return exactlyone.System{
		Name:   "reports",
		Stores: []exactlyone.Store{simsql.Store("db", reports, o)},
		Start: func(env *exactlyone.Env) model.Server {
			s.db = env.DB("db")
			return exactlyone.Goroutines(s)
		},
		Client: func(int) model.Client {
			return model.Client{
				Key:       model.KeyToolCall,
				Operation: model.Operation{Name: "the report", Path: "/reports", Body: "broken lamp", RunID: "r", ToolUseID: "t"},
			}
		},
		Effects:   simsql.Effects("db", "SELECT id, body FROM reports ORDER BY id"),
		ID:        func(a model.Answer) string { return a.Body },
		Stateless: true, OpaqueIDs: true,
	}
}

// TestCheck: the engine finds what goes wrong in code over database/sql, and what
// does not.
func TestCheck(t *testing.T) {
	wal := simsql.Options{Journal: simsql.WAL}
	patient := simsql.Options{BusyTimeout: time.Second}
	memory := simsql.Options{Journal: simsql.Memory}
	for _, tt := range []struct {
		name    string
		service service
		options simsql.Options
		want    exactlyone.Verdict
	}{
		{"insert", service{}, memory, exactlyone.Violated},
		{"look, then insert", service{looks: true}, simsql.Options{}, exactlyone.Violated},
		{"look, then insert, in a transaction in memory", service{looks: true, inTx: true}, memory, exactlyone.Holds},
		// Both read, both want to write, and each keeps the other from it, again and again.
		{"look, then insert, in a transaction", service{looks: true, inTx: true}, simsql.Options{}, exactlyone.Violated},
		{"the same, waiting", service{looks: true, inTx: true}, patient, exactlyone.Holds},
		{"the same, with a log", service{looks: true, inTx: true}, wal, exactlyone.Holds},
		{"a unique key", service{unique: true}, wal, exactlyone.Holds},
	} {
		result, err := exactlyone.Run(context.Background(), systemOf(tt.service, tt.options), exactlyone.Bounds{Jumps: -1}, exactlyone.Options{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if result.Verdict != tt.want {
			var text strings.Builder
			_ = result.WriteText(&text, exactlyone.TextOptions{})
			t.Errorf("%s: %v, want %v\n%s", tt.name, result.Verdict, tt.want, text.String())
		}
	}
}

// TestWaitsForItself: a request that waits for a lock which it holds itself, on
// another connection, gets SQLITE_BUSY in the end.
func TestWaitsForItself(t *testing.T) {
	s := simsql.Store("db", reports, simsql.Options{BusyTimeout: time.Second})
	db := openDB(t, s, newMachine(t, s))
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	insert := "INSERT INTO reports (body) VALUES ('x')"
	if _, err := tx.Exec(insert); err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(insert)
	var e *sqlite.Error
	if !errors.As(err, &e) || e.Code() != 5 {
		t.Errorf("a second connection of the request: %v, want SQLITE_BUSY", err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if _, err := db.Exec(insert); err != nil {
		t.Error(err)
	}
}

// TestRead: queries that cannot be used are usage errors, told by the check.
func TestRead(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT id, body AS text FROM reports":           `column "text": operation, key, id, body or kind was expected`,
		"SELECT nowhere FROM reports":                    "no such column: nowhere",
		"DELETE FROM reports":                            "one SELECT was expected",
		"SELECT id FROM reports; SELECT id FROM reports": "one SELECT was expected",
	} {
		sys := systemOf(service{}, simsql.Options{})
		sys.Effects = simsql.Effects("db", query)
		_, err := exactlyone.Run(context.Background(), sys, exactlyone.Bounds{}, exactlyone.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", query, err, want)
		}
	}
	sys := systemOf(service{}, simsql.Options{})
	sys.Effects = func(c exactlyone.Contents) (all []model.Effect) {
		for _, row := range simsql.Rows(c, "db", "SELECT id, body, NULL AS none, 1.5 AS price FROM reports WHERE id < ?", 100) {
			if row["none"] != nil || row["price"] != 1.5 {
				panic(fmt.Sprint(row))
			}
			all = append(all, model.Effect{ID: fmt.Sprint(row["id"].(int64)), Body: row["body"].(string)})
		}
		return all
	}
	result, err := exactlyone.Run(context.Background(), sys, exactlyone.Bounds{}, exactlyone.Options{})
	if err != nil || result.Story == nil || result.Story.Message != "the report left 2 effects" {
		t.Errorf("read by Rows: %v, %v", result, err)
	}
}
