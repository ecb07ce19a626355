package simsql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/simsql"
)

// moment is an op in a history: the states it met and what came of it.
type moment struct {
	shared, session exactlyone.State
	op              interleave.Op
	left            string
}

func outcome(shared, session exactlyone.State, r exactlyone.Reply) string {
	s := r.String() + "\n" + shared.String()
	if session != nil {
		s += "\nopen: " + session.String()
	}
	return s
}

// TestAnyOrder goes from every moment of a history to every other, and finds the
// same there as the first time: what an op does depends on its states alone.
func TestAnyOrder(t *testing.T) {
	for name, o := range modes {
		t.Run(name, func(t *testing.T) {
			s := simsql.Store("db", schema, o)
			m := newMachine(t, s)
			var all []moment
			db := sql.OpenDB(s.Connector(func(ctx context.Context, op interleave.Op) exactlyone.Reply {
				at := moment{shared: m.shared, session: m.session, op: op}
				r := m.do(ctx, op)
				at.left = outcome(m.shared, m.session, r)
				all = append(all, at)
				return r
			}))
			defer db.Close()
			db.SetMaxOpenConns(1)
			var r record
			for _, name := range []string{"ids", "savepoints", "transactions", "foreign keys", "rollback by an error"} {
				programs[name](&r, db)
			}
			for i := 0; i < len(all); i += 3 {
				for j, to := range all {
					from := all[i]
					m.backend.Do(from.shared, from.session, from.op, clock.Epoch)
					shared, session, r := m.backend.Do(to.shared, to.session, to.op, clock.Epoch)
					if diff := cmp.Diff(to.left, outcome(shared, session, r)); diff != "" {
						t.Fatalf("from moment %d to %d, %s:\n%s", i, j, to.op, diff)
					}
				}
			}
		})
	}
}

// TestTablesMove: tables that were dropped and made again in another order lie
// elsewhere, though nothing else tells.
func TestTablesMove(t *testing.T) {
	s := simsql.Store("db", "CREATE TABLE a (x); CREATE TABLE b (x)", simsql.Options{})
	m := newMachine(t, s)
	start := m.shared
	db := openDB(t, s, m)
	for range 2 {
		for _, sql := range []string{
			"INSERT INTO a VALUES (1)", "DELETE FROM a", "DROP TABLE a", "DROP TABLE b",
			"CREATE TABLE b (x)", "CREATE TABLE a (x)", "INSERT INTO a VALUES (2)", "INSERT INTO b VALUES (3)",
		} {
			if _, err := db.Exec(sql); err != nil {
				t.Fatal(err)
			}
			if sql == "CREATE TABLE a (x)" && m.shared.String() != start.String() {
				t.Errorf("made again: %s, want %s", m.shared, start)
			}
		}
		if got, want := m.shared.String(), "db: a(1, 2)\nb(1, 3)\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		m.shared = start
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("DROP TABLE a; DROP TABLE b; CREATE TABLE b (x); CREATE TABLE a (x)"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("INSERT INTO a VALUES (4)"); err != nil || m.shared.String() != "db: a(1, 4)\n" {
		t.Errorf("after a transaction that made both again: %q, %v", m.shared, err)
	}
}

// TestClock: SQL sees virtual time, wherever it looks at it, and says so.
func TestClock(t *testing.T) {
	s := simsql.Store("db", `
		CREATE TABLE a (id INTEGER PRIMARY KEY, made TEXT DEFAULT CURRENT_TIMESTAMP, day TEXT DEFAULT (date()));
		CREATE TABLE b (at INTEGER);
		CREATE TRIGGER c AFTER INSERT ON a BEGIN INSERT INTO b VALUES (unixepoch('now')); END;
	`, simsql.Options{})
	m := newMachine(t, s)
	db := openDB(t, s, m)
	m.now = clock.Epoch.Add(26*time.Hour + 1500*time.Millisecond)
	if _, err := db.Exec("INSERT INTO a (id) VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	if timed, ok := m.ops[0].(exactlyone.Timed); !ok || !timed.Timed() {
		t.Errorf("%s: it is not said to look at the clock, but a default does", m.ops[0])
	}
	var made, day, now, half string
	var at int64
	if err := db.QueryRow("SELECT made, day, at, datetime('now', '+1 hour'), strftime('%f', 'now') FROM a, b").Scan(&made, &day, &at, &now, &half); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(made, "|", day, "|", at, "|", now, "|", half)
	want := fmt.Sprint("2026-01-02 02:00:01|2026-01-02|", clock.Epoch.Unix()+26*3600+1, "|2026-01-02 03:00:01|01.500")
	if got != want {
		t.Errorf("SQL sees %s, want %s", got, want)
	}
	m.now = m.now.Add(time.Hour)
	if err := db.QueryRow("SELECT datetime('now', '+1 hour')").Scan(&now); err != nil || now != "2026-01-02 04:00:01" {
		t.Errorf("an hour later SQL sees %s, %v", now, err)
	}
}

// TestTimes: the times in arguments and rows are boundaries for the clock.
func TestTimes(t *testing.T) {
	s := simsql.Store("db", "CREATE TABLE a (at)", simsql.Options{})
	m := newMachine(t, s)
	db := openDB(t, s, m)
	at := clock.Epoch.Add(90 * time.Second)
	for _, v := range []any{
		at, at.Unix(), at.UnixMilli(), at.UnixMicro(), at.UnixNano(),
		at.Format(time.RFC3339), at.Format(time.DateTime), at.Format("2006-01-02 15:04:05.000"), at.String(),
	} {
		for _, sql := range []string{"DELETE FROM a", "INSERT INTO a VALUES (?)"} {
			var args []any
			if strings.Contains(sql, "?") {
				args = append(args, v)
			}
			if _, err := db.Exec(sql, args...); err != nil {
				t.Fatal(err)
			}
		}
		for _, timely := range []any{m.ops[len(m.ops)-1], m.shared} {
			got := timely.(exactlyone.Timely).Times()
			if len(got) != 1 || !got[0].Equal(at) {
				t.Errorf("%T %v in %T: times %v, want %v", v, v, timely, got, at)
			}
		}
	}
	for _, v := range []any{1, 12345, "2026", "x", at.AddDate(20, 0, 0), nil, 1.5} {
		if _, err := db.Exec("UPDATE a SET at = ?", v); err != nil {
			t.Fatal(err)
		}
		if got := m.shared.(exactlyone.Timely).Times(); len(got) != 0 {
			t.Errorf("%T %v: times %v, want none", v, v, got)
		}
	}
}

// TestMonotonic: the text that the driver makes of a time that was just read does
// not depend on how long the process has been running.
func TestMonotonic(t *testing.T) {
	s := simsql.Store("db", "CREATE TABLE a (at)", simsql.Options{})
	m := newMachine(t, s)
	db := openDB(t, s, m)
	now := time.Now()
	var text string
	if err := db.QueryRow("SELECT ?", now).Scan(&text); err != nil {
		t.Fatal(err)
	}
	d := now.Sub(clock.Epoch)
	if want := fmt.Sprintf("%s m=+%d.%09d", now.Round(0), d/time.Second, d%time.Second); text != want {
		t.Errorf("a time is stored as %s, want %s", text, want)
	}
}

// TestRefused: what simsql cannot do right it refuses, and says why.
func TestRefused(t *testing.T) {
	s := simsql.Store("db", schema, simsql.Options{})
	db := openDB(t, s, newMachine(t, s))
	for sql, want := range map[string]string{
		"CREATE TEMP TABLE x (y)":       "temporary tables",
		"INSERT INTO temp.x VALUES (1)": "temporary tables",
		"ATTACH 'x.db' AS x":            "ATTACH",
		"VACUUM":                        "VACUUM",
		"PRAGMA writable_schema = ON":   "PRAGMA writable_schema",
		"PRAGMA journal_mode = WAL":     "Options.Journal",
		"CREATE TRIGGER x AFTER DELETE ON log BEGIN INSERT INTO log VALUES ('x', changes()); END": "changes()",
		"CREATE TABLE dated (at TEXT DEFAULT CURRENT_TIMESTAMP)":                                  "set-up",
	} {
		_, err := db.Exec(sql)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "simsql: ") {
			t.Errorf("%s: %v, want an error that speaks of %q", sql, err, want)
		}
	}
	for _, sql := range []string{
		"PRAGMA synchronous = NORMAL", "PRAGMA cache_size(-2000)", "PRAGMA journal_mode = DELETE",
		"PRAGMA busy_timeout = 5000", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA optimize",
	} {
		if _, err := db.Exec(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// TestUsage: options and set-ups that cannot be used are told when the store opens.
func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		setup   string
		options simsql.Options
		want    string
	}{
		{"CREATE TABLE a (x); INSRT INTO a", simsql.Options{}, "set-up of store db: INSRT INTO a: SQL logic error"},
		{"CREATE TABLE a (x UNIQUE); INSERT INTO a VALUES (1), (1)", simsql.Options{}, "UNIQUE constraint failed: a.x"},
		{"BEGIN", simsql.Options{}, "it leaves a transaction open"},
		{"CREATE TEMP TABLE a (x)", simsql.Options{}, "temporary tables"},
		{"", simsql.Options{Journal: 7}, "journal 7: Rollback, WAL or Memory was expected"},
		{"", simsql.Options{BusyTimeout: -1}, "zero or more was expected"},
		{"", simsql.Options{TxLock: "later"}, `transaction lock "later": deferred, immediate or exclusive was expected`},
		{"", simsql.Options{DSN: "_pragma=journal_mode(off)"}, "a journal that survives a crash was expected"},
		{"", simsql.Options{DSN: "_pragma=query_only(1)"}, "one PRAGMA that simsql knows was expected"},
		{"", simsql.Options{DSN: "_time_format=nonsense"}, "unknown _time_format"},
	} {
		s := simsql.Store("db", tt.setup, tt.options)
		b, err := s.Open(s)
		if err == nil {
			_ = b.Close()
		}
		if !errors.Is(err, exactlyone.ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q, %+v: %v, want a usage error with %q", tt.setup, tt.options, err, tt.want)
		}
	}
}
