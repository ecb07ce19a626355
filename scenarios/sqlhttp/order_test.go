package sqlhttp

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/props"
	"exactlyone/simsql"
)

// W10: the answer is stored ahead of the business commit. The keys are in a second
// database.

const w10Keys = `CREATE TABLE keys (scope TEXT, key TEXT, state TEXT, body TEXT, PRIMARY KEY (scope, key));`

func w10Flawed(db, keys *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		mine, err := changed(keys.ExecContext(ctx, `INSERT INTO keys (scope, key, state) VALUES (?, ?, 'busy') ON CONFLICT DO NOTHING`, q.scope, q.key))
		if err != nil {
			return again()
		}
		if !mine {
			return stored(ctx, keys, q)
		}
		var n int64
		err = inTx(ctx, db, func(tx *sql.Tx) error {
			if n, err = insertRecord(ctx, tx, q); err != nil {
				return err
			}
			_, err := keys.ExecContext(ctx, `UPDATE keys SET state = 'done', body = ? WHERE scope = ? AND key = ?`, id(n), q.scope, q.key)
			return err
		})
		if err != nil {
			return again()
		}
		return created, id(n)
	}
}

func TestW10(t *testing.T) {
	flawed := system("w10", "", func(env *exactlyone.Env) writer { return w10Flawed(env.DB("db"), env.DB("keys")) })
	flawed.Stores = append(flawed.Stores, simsql.Store("keys", w10Keys, simsql.Options{BusyTimeout: 5 * time.Second}))
	// Send, claim, BEGIN, INSERT, UPDATE, crash, wait, send, claim, look, told.
	breaks(t, flawed, "", alone(t, 1, 2, "crashes"), props.AcknowledgedExists(), 1, 11)
	breaks(t, flawed, "", alone(t, 1, 2, "crashes"), props.ExactlyOneOnceTold(), 1, 11)
	// The corrected writer has one transaction on one connection, and so one
	// database: it is that of W02.
}

// W12: no second look after taking the lock.

const w12Tables = `CREATE TABLE done (scope TEXT, key TEXT, body TEXT, PRIMARY KEY (scope, key));
CREATE TABLE locks (name TEXT PRIMARY KEY, until INTEGER, token TEXT);`

func findDone(ctx context.Context, db queryer, q request) (body string, err error) {
	err = db.QueryRowContext(ctx, `SELECT body FROM done WHERE scope = ? AND key = ?`, q.scope, q.key).Scan(&body)
	return body, err
}

const tries = 3

func w12Flawed(db *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		switch body, err := findDone(ctx, db, q); {
		case err == nil:
			return replayed, body
		case !errors.Is(err, sql.ErrNoRows):
			return again()
		}
		name := q.scope + "/" + q.key
		for try := 1; ; try++ {
			mine, err := changed(db.ExecContext(ctx, `INSERT INTO locks (name) VALUES (?) ON CONFLICT DO NOTHING`, name))
			switch {
			case err != nil:
				return again()
			case !mine && try == tries:
				return conflict, "locked"
			}
			if mine {
				break
			}
			time.Sleep(time.Second)
		}
		var body string
		if err := inTx(ctx, db, func(tx *sql.Tx) error {
			n, err := insertRecord(ctx, tx, q)
			if err != nil {
				return err
			}
			body = id(n)
			_, err = tx.ExecContext(ctx, `INSERT INTO done (scope, key, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET body = excluded.body`, q.scope, q.key, body)
			return err
		}); err != nil {
			return again()
		}
		if _, err := db.ExecContext(ctx, `DELETE FROM locks WHERE name = ?`, name); err != nil {
			return again()
		}
		return created, body
	}
}

func w12Corrected(db *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		name, token, now := q.scope+"/"+q.key, newOwner(), time.Now()
		mine, err := changed(db.ExecContext(ctx, `INSERT INTO locks (name, until, token) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET until = excluded.until, token = excluded.token WHERE until < ?`,
			name, millis(now.Add(lease)), token, millis(now)))
		switch {
		case err != nil:
			return again()
		case !mine:
			return conflict, "locked"
		}
		status, body := w12Locked(ctx, db, q)
		if _, err := db.ExecContext(ctx, `DELETE FROM locks WHERE name = ? AND token = ?`, name, token); err != nil {
			return again()
		}
		return status, body
	}
}

// w12Locked looks once more, and inserts; the plain insert into done guards against
// an owner whose lock has passed to somebody else.
func w12Locked(ctx context.Context, db *sql.DB, q request) (int, string) {
	switch body, err := findDone(ctx, db, q); {
	case err == nil:
		return replayed, body
	case !errors.Is(err, sql.ErrNoRows):
		return again()
	}
	var body string
	err := inTx(ctx, db, func(tx *sql.Tx) error {
		n, err := insertRecord(ctx, tx, q)
		if err != nil {
			return err
		}
		body = id(n)
		_, err = tx.ExecContext(ctx, `INSERT INTO done (scope, key, body) VALUES (?, ?, ?)`, q.scope, q.key, body)
		return err
	})
	if err == nil {
		return created, body
	}
	if body, err = findDone(ctx, db, q); err != nil {
		return again()
	}
	return replayed, body
}

func TestW12(t *testing.T) {
	flawed := leased(system("w12", w12Tables, on(w12Flawed)))
	// B: send, look; A: send, look, lock, BEGIN, INSERT, INSERT, COMMIT, unlock; B:
	// lock, BEGIN, INSERT, INSERT, COMMIT; unlock and two answers told.
	breaks(t, flawed, w12Tables, alone(t, 2, 1, ""), props.AtMostOne(), 0, 15)
	breaks(t, flawed, w12Tables, alone(t, 2, 1, ""), props.SameAnswer(), 0, 18)
	holds(t, leased(system("w12 corrected", w12Tables, on(w12Corrected))), w12Tables)
}
