package simsql_test

import (
	"database/sql"
	"testing"

	"exactlyone/simsql"
)

// handle is a handler with two statements: it looks for a key and, unless it is
// there, inserts it. Every sixteenth is followed by a DELETE of all, so that the contents
// are few and small.
func handle(b *testing.B, db *sql.DB) {
	keys := [16]string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"}
	n := 0
	for b.Loop() {
		tx, err := db.Begin()
		if err != nil {
			b.Fatal(err)
		}
		var id int64
		if err := tx.QueryRow("SELECT id FROM orders WHERE key = ?", keys[n%16]).Scan(&id); err != sql.ErrNoRows {
			b.Fatal(err)
		}
		if _, err := tx.Exec("INSERT INTO orders (key, body) VALUES (?, 'x')", keys[n%16]); err != nil {
			b.Fatal(err)
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
		if n++; n%16 == 0 {
			if _, err := db.Exec("DELETE FROM orders; DELETE FROM log; DELETE FROM sqlite_sequence"); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkHandler compares a handler on a plain database with the same handler
// on a simulated one, without a scheduler.
func BenchmarkHandler(b *testing.B) {
	for _, mode := range []string{"memory", "rollback", "wal"} {
		o := modes[mode]
		b.Run(mode+"/plain", func(b *testing.B) { handle(b, plain(b, o, "")) })
		b.Run(mode+"/simulated", func(b *testing.B) {
			s := simsql.Store("db", schema, o)
			m := newMachine(b, s)
			m.forget = true
			db := openDB(b, s, m)
			db.SetMaxOpenConns(1)
			handle(b, db)
		})
	}
}
