package sqlhttp

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"testing"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// Flaws that need a database server, and what comes of them on SQLite.

// keeps checks that a flawed writer keeps a property in either journal mode.
func keeps(t *testing.T, sys exactlyone.System, schema string, b exactlyone.Bounds, all ...props.Property) {
	t.Helper()
	for _, sys := range []exactlyone.System{sys, withLog(sys, schema)} {
		sys.Properties = all
		r, err := exactlyone.Run(t.Context(), sys, b, exactlyone.Options{Test: t})
		if err != nil || r.Verdict != exactlyone.Holds {
			t.Errorf("%s: %v %s", sys.Name, err, text(r))
		}
	}
}

// cleanAnswer: with no fault injected nobody is answered 500.
func cleanAnswer() props.Property {
	return props.OfHistory("clean-answer", "without a fault nobody is answered 500", func(h model.History, _ props.View) (bool, string) {
		for _, t := range h {
			if t.Answer.Status == http.StatusInternalServerError {
				return true, "somebody was answered 500"
			}
		}
		return true, ""
	})
}

// isUnique says whether SQLite refused a row because there is one like it.
func isUnique(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// W07: a commit error taken for a rollback. A database that is part of the program
// loses no answer of a COMMIT: an error does mean that there is no effect.

const w07Keys = `CREATE TABLE keys (scope TEXT, key TEXT, state TEXT, body TEXT, PRIMARY KEY (scope, key));`

func w07Flawed(db *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		mine, err := changed(db.ExecContext(ctx, `INSERT INTO keys (scope, key, state) VALUES (?, ?, 'busy')
			ON CONFLICT DO UPDATE SET state = 'busy' WHERE state = 'failed'`, q.scope, q.key))
		if err != nil {
			return again()
		}
		if !mine {
			return stored(ctx, db, q)
		}
		var body string
		err = inTx(ctx, db, func(tx *sql.Tx) error {
			n, err := insertRecord(ctx, tx, q)
			if err != nil {
				return err
			}
			body = id(n)
			_, err = tx.ExecContext(ctx, `UPDATE keys SET state = 'done', body = ? WHERE scope = ? AND key = ?`, body, q.scope, q.key)
			return err
		})
		if err != nil {
			_, _ = db.ExecContext(ctx, `UPDATE keys SET state = 'failed' WHERE scope = ? AND key = ?`, q.scope, q.key)
			return http.StatusInternalServerError, "failed"
		}
		return created, body
	}
}

func TestW07Flawed(t *testing.T) {
	flawed := system("w07", w07Keys, on(w07Flawed))
	keeps(t, flawed, w07Keys, alone(t, 2, 2, "commit_faults"), props.AtMostOne(), props.SameAnswer())
	// Its claim has no lease: send, claim, crash, wait, send, claim, look, told 409.
	breaks(t, flawed, w07Keys, alone(t, 1, 2, "crashes"), props.Converges(), 1, 8)
}

// W08: recovery inside a doomed transaction. SQLite dooms none.

func w08(db *sql.DB) writer {
	return func(ctx context.Context, q request) (status int, body string) {
		err := inTx(ctx, db, func(tx *sql.Tx) error {
			n, err := insertRecord(ctx, tx, q)
			if isUnique(err) {
				n, err = findRecord(ctx, tx, q)
				status, body = replayed, id(n)
				return err
			}
			status, body = created, id(n)
			return err
		})
		var e *sqlite.Error
		switch {
		case err == nil:
			return status, body
		case errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY:
			return again()
		}
		return http.StatusInternalServerError, err.Error()
	}
}

func TestW08(t *testing.T) {
	keeps(t, system("w08", w01Unique, on(w08)), w01Unique, alone(t, 2, 2, ""), cleanAnswer(), props.AtMostOne(), props.SameAnswer())
}

// W11: one statement outside the transaction. SQLite has one writer at a time: the
// statement waits for the transaction that waits for it, and errs, or, with a pool
// of one connection, waits for ever.

func w11(db *sql.DB) writer {
	return func(ctx context.Context, q request) (status int, body string) {
		err := inTx(ctx, db, func(tx *sql.Tx) error {
			mine, err := changed(tx.ExecContext(ctx, `INSERT INTO keys (scope, key) VALUES (?, ?) ON CONFLICT DO NOTHING`, q.scope, q.key))
			if err != nil {
				return err
			}
			if !mine {
				n, err := findKey(ctx, tx, q)
				status, body = replayed, id(n)
				return err
			}
			n, err := insertRecord(ctx, db, q)
			if err != nil {
				return err
			}
			status, body = created, id(n)
			_, err = tx.ExecContext(ctx, `UPDATE keys SET record_id = ? WHERE scope = ? AND key = ?`, n, q.scope, q.key)
			return err
		})
		if err != nil {
			return again()
		}
		return status, body
	}
}

func TestW11(t *testing.T) {
	everBusy := props.New("never-done", "nobody is told success", func(n int, t model.Told) int {
		if t.Success {
			n++
		}
		return n
	}, func(n int, _ props.View) (bool, string) {
		if n > 0 {
			return true, "somebody is"
		}
		return true, ""
	})
	keeps(t, system("w11", w02Keys, on(w11)), w02Keys, alone(t, 1, 2, "crashes"), everBusy)
	// Send, BEGIN, INSERT.
	breaks(t, system("w11 one connection", w02Keys, on(func(db *sql.DB) writer {
		db.SetMaxOpenConns(1)
		return w11(db)
	})), w02Keys, alone(t, 1, 1, ""), props.NoDeadlock(), 0, 3)
}
