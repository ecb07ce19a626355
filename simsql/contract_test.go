package simsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"

	"exactlyone/clock"
	"exactlyone/simsql"
)

// record is what a program saw of its database.
type record struct{ lines []string }

func (r *record) add(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (r *record) exec(db runner, query string, args ...any) {
	res, err := db.ExecContext(context.Background(), query, args...)
	if err != nil {
		r.add("%s: %s", query, told(err))
		return
	}
	id, _ := res.LastInsertId()
	n, _ := res.RowsAffected()
	r.add("%s: id %d, %d rows", query, id, n)
}

func (r *record) query(db runner, query string, args ...any) {
	rows, err := db.QueryContext(context.Background(), query, args...)
	if err != nil {
		r.add("%s: %s", query, told(err))
		return
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	types, _ := rows.ColumnTypes()
	r.add("%s: %q", query, columns)
	for _, c := range types {
		n, sized := c.Length()
		r.add("  %s %s %v %d %t", c.Name(), c.DatabaseTypeName(), c.ScanType(), n, sized)
	}
	for rows.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err := rows.Scan(into...)
		var line []string
		for _, v := range values {
			line = append(line, fmt.Sprintf("%T %v", v, v))
		}
		r.add("  %s %v", strings.Join(line, ", "), err)
		types, _ := rows.ColumnTypes()
		for _, c := range types {
			r.add("    %v", c.ScanType())
		}
	}
	r.add("  end %v", rows.Err())
}

// programs are what the two drivers are compared by.
var programs = map[string]func(r *record, db *sql.DB){
	"values": func(r *record, db *sql.DB) {
		at := clock.Epoch.Add(90 * time.Second)
		r.exec(db, "INSERT INTO orders (key, body, at, blob, price, ok) VALUES (?, ?, ?, ?, ?, ?)", "a", "x'y", at, []byte{1, 2}, 1.5, true)
		r.exec(db, "INSERT INTO orders (key, body, at, blob, price) VALUES (?, ?, ?, ?, ?)", nil, "", "2026-01-01 10:00:00", []byte{}, 2)
		r.exec(db, "INSERT INTO orders (key, body, at) VALUES ($1, @b, :c)", "n", sql.Named("b", "named"), sql.Named("c", at.Unix()))
		r.query(db, "SELECT * FROM orders ORDER BY id")
		r.query(db, "SELECT max(at), count(*), body || '!', NULL, x'00' FROM orders")
		r.query(db, "SELECT * FROM orders WHERE id > 99")
		r.query(db, "SELECT 1; SELECT 2")
		r.query(db, "VALUES (1, 'a'), (2, NULL)")
		r.query(db, "  -- nothing")
		r.query(db, "")
	},
	"errors": func(r *record, db *sql.DB) {
		r.exec(db, "INSERT INTO orders (key, body) VALUES ('a', 'b')")
		r.exec(db, "INSERT INTO orders (key, body) VALUES ('a', 'b')")
		r.exec(db, "INSERT INTO orders (key) VALUES ('c')")
		r.exec(db, "INSERT INTO nowhere VALUES (1)")
		r.exec(db, "INSRT")
		r.query(db, "SELECT nothing FROM orders")
		r.exec(db, "INSERT INTO orders (key, body) VALUES (?, ?)", "only one")
		r.exec(db, "COMMIT")
		r.exec(db, "ROLLBACK")
		r.exec(db, "RELEASE nothing")
		r.exec(db, "INSERT INTO log VALUES ('a', 1); INSERT INTO nowhere VALUES (1); INSERT INTO log VALUES ('b', 2)")
		r.query(db, "SELECT * FROM log")
		_, err := db.Prepare("SELECT FROM")
		r.add("prepare: %s", told(err))
	},
	"ids": func(r *record, db *sql.DB) {
		r.exec(db, "INSERT INTO orders (key, body) VALUES ('a', 'b')")
		r.exec(db, "INSERT OR IGNORE INTO orders (key, body) VALUES ('a', 'b')")
		r.exec(db, "INSERT INTO orders (key, body) VALUES ('b', 'b') ON CONFLICT (key) DO UPDATE SET body = 'again'")
		r.exec(db, "INSERT INTO orders (key, body) VALUES ('b', 'b') ON CONFLICT (key) DO UPDATE SET body = 'again'")
		r.exec(db, "UPDATE orders SET body = 'c'")
		r.exec(db, "CREATE TABLE later (x)")
		r.exec(db, "INSERT INTO later VALUES (1), (2), (3)")
		r.exec(db, "DELETE FROM later")
		r.exec(db, "REPLACE INTO orders (id, key, body) VALUES (1, 'b', 'z')")
		r.query(db, "INSERT INTO orders (key, body) VALUES ('q', 'r') RETURNING id, body")
		r.query(db, "SELECT last_insert_rowid()")
		r.exec(db, "WITH w AS (SELECT 'w' k) INSERT INTO orders (key, body) SELECT k, k FROM w")
		r.query(db, "SELECT last_insert_rowid(), changes(), total_changes() > 5")
		r.query(db, "SELECT * FROM log")
		r.query(db, "SELECT * FROM sqlite_sequence")
		r.exec(db, "PRAGMA user_version = 7")
		r.query(db, "PRAGMA user_version")
		r.query(db, "PRAGMA table_info(orders)")
		r.exec(db, "DROP TABLE later")
		r.query(db, "SELECT * FROM later")
		r.exec(db, "INSERT INTO pairs VALUES ('z', 1), ('a', 2)")
		r.query(db, "SELECT * FROM pairs")
	},
	"transactions": func(r *record, db *sql.DB) {
		ctx := context.Background()
		tx, err := db.BeginTx(ctx, nil)
		r.add("begin %s", told(err))
		r.exec(tx, "INSERT INTO log VALUES ('one', 1)")
		r.exec(tx, "SAVEPOINT a")
		r.exec(tx, "INSERT INTO log VALUES ('two', 2)")
		r.exec(tx, "ROLLBACK TO a")
		r.exec(tx, "RELEASE a")
		r.query(tx, "SELECT * FROM log")
		st, err := tx.Prepare("INSERT INTO log VALUES (?, ?)")
		r.add("prepare %s", told(err))
		for i := range 2 {
			res, err := st.Exec("many", i)
			n, _ := res.RowsAffected()
			r.add("%d %s", n, told(err))
		}
		r.add("commit %s", told(tx.Commit()))
		r.add("commit %s", told(tx.Commit()))
		tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelSerializable})
		r.add("begin %s", told(err))
		r.exec(tx, "DELETE FROM log")
		r.add("rollback %s", told(tx.Rollback()))
		r.query(db, "SELECT * FROM log")
		r.exec(db, "SAVEPOINT top")
		r.exec(db, "DELETE FROM log")
		r.exec(db, "RELEASE top")
		r.query(db, "SELECT * FROM log")
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err = db.BeginTx(ended, nil)
		r.add("begin %s", told(err))
		_, err = db.ExecContext(ended, "DELETE FROM log")
		r.add("exec %s", told(err))
	},
	"savepoints": func(r *record, db *sql.DB) {
		for _, sql := range []string{
			"INSERT INTO log VALUES ('first', 0)",
			"SAVEPOINT s", "BEGIN IMMEDIATE", "ROLLBACK TO s", "INSERT INTO log VALUES ('x', 1)",
			"SAVEPOINT s", "DELETE FROM log", "ROLLBACK TO s", "RELEASE s", "RELEASE s",
		} {
			r.exec(db, sql)
		}
		r.query(db, "SELECT * FROM log")
	},
	"foreign keys": func(r *record, db *sql.DB) {
		r.exec(db, "INSERT INTO child VALUES (1, 77)")
		r.exec(db, "DELETE FROM child")
		r.query(db, "PRAGMA foreign_keys")
		r.exec(db, "PRAGMA foreign_keys = ON")
		r.query(db, "PRAGMA foreign_keys")
		r.exec(db, "INSERT INTO child VALUES (1, 77)")
		tx, _ := db.Begin()
		r.exec(tx, "INSERT INTO child VALUES (1, 77)")
		r.query(tx, "SELECT * FROM child")
		r.add("commit %s", told(tx.Commit()))
		r.query(db, "SELECT * FROM child")
		tx, _ = db.Begin()
		r.exec(tx, "INSERT INTO child VALUES (1, 77)")
		r.exec(tx, "INSERT INTO parent VALUES (77)")
		r.add("commit %s", told(tx.Commit()))
		r.query(db, "SELECT * FROM child")
	},
	"rollback by an error": func(r *record, db *sql.DB) {
		r.exec(db, "INSERT INTO orders (key, body) VALUES ('a', 'b')")
		tx, _ := db.Begin()
		r.exec(tx, "INSERT INTO log VALUES ('x', 1)")
		r.exec(tx, "INSERT OR ROLLBACK INTO orders (key, body) VALUES ('a', 'b')")
		r.query(tx, "SELECT * FROM log")
		r.exec(tx, "INSERT INTO log VALUES ('y', 1)")
		r.add("commit %s", told(tx.Commit()))
		r.query(db, "SELECT * FROM log")
		r.exec(db, "INSERT OR FAIL INTO orders (key, body) VALUES ('c', 'b'), ('a', 'b'), ('d', 'e')")
		r.query(db, "SELECT key FROM orders")
	},
	"rows": func(r *record, db *sql.DB) {
		r.exec(db, "INSERT INTO log VALUES ('x', 1), ('y', 2)")
		var n int
		r.add("%s %d", told(db.QueryRow("SELECT n FROM log WHERE what = ?", "y").Scan(&n)), n)
		r.add("%s", told(db.QueryRow("SELECT n FROM log WHERE what = ?", "z").Scan(&n)))
		conn, err := db.Conn(context.Background())
		r.add("conn %s", told(err))
		rows, err := conn.QueryContext(context.Background(), "SELECT * FROM log")
		r.add("query %s %t", told(err), rows.Next())
		r.exec(conn, "INSERT INTO log VALUES ('z', 3)")
		r.query(conn, "SELECT count(*) FROM log")
		r.add("close %s", told(rows.Close()))
		r.add("ping %s", told(conn.PingContext(context.Background())))
		r.add("close %s", told(conn.Close()))
		tx, _ := db.Begin()
		rows, err = tx.Query("SELECT * FROM log")
		r.add("query %s %t", told(err), rows.Next())
		r.add("commit %s", told(tx.Commit()))
		r.query(db, "SELECT count(*) FROM log")
	},
}

// TestContract: programs see the same through the simulated driver as through
// modernc.org/sqlite.
func TestContract(t *testing.T) {
	for mode, o := range modes {
		for _, dsn := range []string{"", "_time_format=sqlite&_texttotime=1&_inttotime=1", "_time_integer_format=unix_milli&_inttotime=1&_txlock=immediate"} {
			for name, program := range programs {
				t.Run(fmt.Sprintf("%s/%s/%s", mode, dsn, name), func(t *testing.T) {
					var want, got record
					real := plain(t, o, dsn)
					program(&want, real)
					o.DSN = dsn
					s := simsql.Store("db", schema, o)
					db := openDB(t, s, newMachine(t, s))
					db.SetMaxOpenConns(1)
					program(&got, db)
					if diff := cmp.Diff(want.lines, got.lines); diff != "" {
						t.Errorf("the simulated driver differs:\n%s", diff)
					}
				})
			}
		}
	}
}

// plain is a database as modernc.org/sqlite opens it.
func plain(t testing.TB, o simsql.Options, dsn string) *sql.DB {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.db")
	switch o.Journal {
	case simsql.Memory:
		name = ":memory:"
	case simsql.WAL:
		dsn += "&_pragma=journal_mode(WAL)"
	}
	db, err := sql.Open("sqlite", name+"?"+dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(schema); err != nil {
		t.Fatal(err)
	}
	return db
}
