package sqlhttp

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W01: look, then insert.

func w01Flawed(db *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		switch n, err := findRecord(ctx, db, q); {
		case err == nil:
			return replayed, id(n)
		case !errors.Is(err, sql.ErrNoRows):
			return again()
		}
		n, err := insertRecord(ctx, db, q)
		if err != nil {
			return again()
		}
		return created, id(n)
	}
}

const w01Unique = `CREATE UNIQUE INDEX once ON records (scope, req_key);`

func w01Corrected(db *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		res, err := db.ExecContext(ctx, `INSERT INTO records (scope, req_key, payload) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, q.scope, q.key, q.payload)
		is, err := changed(res, err)
		if err != nil {
			return again()
		}
		if is {
			n, err := res.LastInsertId()
			if err != nil {
				return again()
			}
			return created, id(n)
		}
		n, err := findRecord(ctx, db, q)
		if err != nil {
			return again()
		}
		return replayed, id(n)
	}
}

// w01InTx is the flawed writer in one transaction: on SQLite one of two that have
// both looked gets SQLITE_BUSY.
func w01InTx(db *sql.DB) writer {
	return func(ctx context.Context, q request) (status int, body string) {
		err := inTx(ctx, db, func(tx *sql.Tx) error {
			n, err := findRecord(ctx, tx, q)
			if err == nil {
				status, body = replayed, id(n)
				return nil
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			n, err = insertRecord(ctx, tx, q)
			status, body = created, id(n)
			return err
		})
		if err != nil {
			return again()
		}
		return status, body
	}
}

func TestW01(t *testing.T) {
	// A sends, A1, B sends, B1, A3, B3; the two answers are told besides.
	breaks(t, system("w01", "", on(w01Flawed)), "", alone(t, 2, 1, ""), props.AtMostOne(), 0, 6)
	breaks(t, system("w01", "", on(w01Flawed)), "", alone(t, 2, 1, ""), props.SameAnswer(), 0, 8)
	holds(t, system("w01 in a transaction", "", on(w01InTx)), "")
	holds(t, system("w01 corrected", w01Unique, on(w01Corrected)), w01Unique)
}

// W02: effect first, mark later.

const w02Keys = `CREATE TABLE keys (scope TEXT, key TEXT, record_id INTEGER, PRIMARY KEY (scope, key));`

func findKey(ctx context.Context, db queryer, q request) (n int64, err error) {
	err = db.QueryRowContext(ctx, `SELECT record_id FROM keys WHERE scope = ? AND key = ?`, q.scope, q.key).Scan(&n)
	return n, err
}

func w02Flawed(db *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		switch n, err := findKey(ctx, db, q); {
		case err == nil:
			return replayed, id(n)
		case !errors.Is(err, sql.ErrNoRows):
			return again()
		}
		n, err := insertInTx(ctx, db, q)
		if err != nil {
			return again()
		}
		if err := inTx(ctx, db, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO keys (scope, key, record_id) VALUES (?, ?, ?)`, q.scope, q.key, n)
			return err
		}); err != nil {
			return again()
		}
		return created, id(n)
	}
}

func w02Corrected(db *sql.DB) writer {
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
			n, err := insertRecord(ctx, tx, q)
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

func TestW02(t *testing.T) {
	// Send, look, BEGIN, INSERT, COMMIT, crash, wait, and the first five again.
	breaks(t, system("w02", w02Keys, on(w02Flawed)), w02Keys, alone(t, 1, 2, "crashes"), props.AtMostOne(), 1, 12)
	holds(t, system("w02 corrected", w02Keys, on(w02Corrected)), w02Keys)
}

// W03: mark first, effect later.

const w03Keys = `CREATE TABLE keys (scope TEXT, key TEXT, PRIMARY KEY (scope, key));`

func w03Flawed(db *sql.DB) writer {
	return func(ctx context.Context, q request) (int, string) {
		var mine bool
		err := inTx(ctx, db, func(tx *sql.Tx) (err error) {
			mine, err = changed(tx.ExecContext(ctx, `INSERT INTO keys (scope, key) VALUES (?, ?) ON CONFLICT DO NOTHING`, q.scope, q.key))
			return err
		})
		if err != nil {
			return again()
		}
		if !mine {
			return replayed, "already accepted"
		}
		n, err := insertInTx(ctx, db, q)
		if err != nil {
			return again()
		}
		return created, id(n)
	}
}

func w03Corrected(db *sql.DB) writer {
	return func(ctx context.Context, q request) (status int, body string) {
		err := inTx(ctx, db, func(tx *sql.Tx) error {
			mine, err := changed(tx.ExecContext(ctx, `INSERT INTO keys (scope, key) VALUES (?, ?) ON CONFLICT DO NOTHING`, q.scope, q.key))
			if err != nil {
				return err
			}
			var n int64
			if status = replayed; mine {
				status = created
				n, err = insertRecord(ctx, tx, q)
			} else {
				n, err = findRecord(ctx, tx, q)
			}
			body = id(n)
			return err
		})
		if err != nil {
			return again()
		}
		return status, body
	}
}

func TestW03(t *testing.T) {
	flawed := system("w03", w03Keys, on(w03Flawed))
	// Send, BEGIN, INSERT, COMMIT, crash, wait, send, BEGIN, INSERT, COMMIT, told.
	breaks(t, flawed, w03Keys, alone(t, 1, 2, "crashes"), props.ExactlyOneOnceTold(), 1, 11)
	// Without a crash a duplicate between the two is promised what is not there.
	breaks(t, flawed, w03Keys, alone(t, 2, 1, ""), props.ExactlyOneOnceTold(), 0, 9)
	holds(t, system("w03 corrected", w03Keys, on(w03Corrected)), w03Keys)
}

// W09: a key that is not tied to the payload.

const w09Keys = `CREATE TABLE keys (scope TEXT, key TEXT, fingerprint TEXT, record_id INTEGER, PRIMARY KEY (scope, key));`

func w09(ties bool) func(db *sql.DB) writer {
	return func(db *sql.DB) writer {
		return func(ctx context.Context, q request) (status int, body string) {
			sum := sha256.Sum256([]byte(q.payload))
			fingerprint := hex.EncodeToString(sum[:])
			err := inTx(ctx, db, func(tx *sql.Tx) error {
				mine, err := changed(tx.ExecContext(ctx, `INSERT INTO keys (scope, key, fingerprint) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, q.scope, q.key, fingerprint))
				if err != nil {
					return err
				}
				if mine {
					n, err := insertRecord(ctx, tx, q)
					if err != nil {
						return err
					}
					status, body = created, id(n)
					_, err = tx.ExecContext(ctx, `UPDATE keys SET record_id = ? WHERE scope = ? AND key = ?`, n, q.scope, q.key)
					return err
				}
				var n int64
				var stored string
				if err := tx.QueryRowContext(ctx, `SELECT record_id, fingerprint FROM keys WHERE scope = ? AND key = ?`, q.scope, q.key).Scan(&n, &stored); err != nil {
					return err
				}
				status, body = created, id(n)
				if ties && stored != fingerprint {
					status, body = http.StatusUnprocessableEntity, "another payload"
				}
				return nil
			})
			if err != nil {
				return again()
			}
			return status, body
		}
	}
}

func TestW09(t *testing.T) {
	reused := func(ties bool) (sys exactlyone.System) {
		sys = system("w09", w09Keys, on(w09(ties)))
		one := sys.Client
		sys.Client = func(i int) model.Client {
			c := one(i)
			if i == 1 {
				c.Operation.Name, c.Operation.Body = "the other request", `{"amount":99}`
			}
			return c
		}
		return sys
	}
	// Send, BEGIN, INSERT, INSERT, UPDATE, COMMIT; send, BEGIN, INSERT, SELECT,
	// COMMIT, told; the first is told as well.
	breaks(t, reused(false), w09Keys, alone(t, 2, 1, ""), props.AcknowledgedExists(), 0, 13)
	breaks(t, reused(false), w09Keys, alone(t, 2, 1, ""), props.KeyReuseRefused(), 0, 13)
	holds(t, reused(true), w09Keys)
}
