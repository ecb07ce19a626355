package sqlhttp

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/props"
	"exactlyone/simhttp"
)

// W04: the claim is dropped although the effect stands.

const w04Keys = `CREATE TABLE keys (scope TEXT, key TEXT, state TEXT, body TEXT, PRIMARY KEY (scope, key));
CREATE TABLE notifications (id INTEGER PRIMARY KEY, key TEXT);`

func notify(ctx context.Context, client *http.Client, q request) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://notifier.example/", strings.NewReader(q.payload))
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// stored answers from a key that somebody else has claimed.
func stored(ctx context.Context, db queryer, q request) (int, string) {
	var state string
	var body sql.NullString
	if err := db.QueryRowContext(ctx, `SELECT state, body FROM keys WHERE scope = ? AND key = ?`, q.scope, q.key).Scan(&state, &body); err != nil {
		return again()
	}
	if state != "done" {
		return conflict, state
	}
	return replayed, body.String
}

func w04Flawed(db *sql.DB, client *http.Client) writer {
	return func(ctx context.Context, q request) (int, string) {
		mine, err := changed(db.ExecContext(ctx, `INSERT INTO keys (scope, key, state) VALUES (?, ?, 'busy') ON CONFLICT DO NOTHING`, q.scope, q.key))
		if err != nil {
			return again()
		}
		if !mine {
			return stored(ctx, db, q)
		}
		n, err := insertInTx(ctx, db, q)
		if err != nil {
			return again()
		}
		if err := notify(ctx, client, q); err != nil {
			_, _ = db.ExecContext(ctx, `DELETE FROM keys WHERE scope = ? AND key = ?`, q.scope, q.key)
			return http.StatusInternalServerError, "not notified"
		}
		if _, err := db.ExecContext(ctx, `UPDATE keys SET state = 'done', body = ? WHERE scope = ? AND key = ?`, id(n), q.scope, q.key); err != nil {
			return http.StatusInternalServerError, "not stored"
		}
		return created, id(n)
	}
}

func w04Corrected(db *sql.DB) writer {
	return func(ctx context.Context, q request) (status int, body string) {
		err := inTx(ctx, db, func(tx *sql.Tx) error {
			mine, err := changed(tx.ExecContext(ctx, `INSERT INTO keys (scope, key, state) VALUES (?, ?, 'done') ON CONFLICT DO NOTHING`, q.scope, q.key))
			if err != nil {
				return err
			}
			if !mine {
				status, body = stored(ctx, tx, q)
				return nil
			}
			n, err := insertRecord(ctx, tx, q)
			if err != nil {
				return err
			}
			status, body = created, id(n)
			if _, err := tx.ExecContext(ctx, `UPDATE keys SET body = ? WHERE scope = ? AND key = ?`, body, q.scope, q.key); err != nil {
				return err
			}
			_, err = tx.ExecContext(ctx, `INSERT INTO notifications (key) VALUES (?)`, q.key)
			return err
		})
		if err != nil {
			return again()
		}
		return status, body
	}
}

func TestW04(t *testing.T) {
	flawed := system("w04", w04Keys, func(env *exactlyone.Env) writer {
		return w04Flawed(env.DB("db"), simhttp.Client(env, "notifier"))
	})
	flawed.Services = []exactlyone.Service{{Name: "notifier"}}
	// Send, claim, BEGIN, INSERT, COMMIT, the call fails, DELETE, told 500, wait,
	// send, claim, BEGIN, INSERT, COMMIT.
	breaks(t, flawed, w04Keys, alone(t, 1, 2, "calls"), props.AtMostOne(), 1, 14)
	// Send, claim, crash, wait, send, claim, look, told 409: busy for ever.
	breaks(t, flawed, w04Keys, alone(t, 1, 2, "crashes"), props.Converges(), 1, 8)
	holds(t, system("w04 corrected", w04Keys, on(w04Corrected)), w04Keys)
}

// W05: a lease without a fence.

const w05Keys = `CREATE TABLE keys (scope TEXT, key TEXT, owner TEXT, lease_until INTEGER, state TEXT, body TEXT, PRIMARY KEY (scope, key));`

const lease = 10 * time.Second

// claim takes a key that is free or whose lease has ended.
func claim(ctx context.Context, db queryer, q request, owner string) (bool, error) {
	now := time.Now()
	return changed(db.ExecContext(ctx, `INSERT INTO keys (scope, key, owner, lease_until, state) VALUES (?, ?, ?, ?, 'busy')
		ON CONFLICT DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until, state = 'busy'
		WHERE state = 'failed' OR state = 'busy' AND lease_until < ?`,
		q.scope, q.key, owner, millis(now.Add(lease)), millis(now)))
}

// finish inserts the record and stores the answer; with a fence only if the owner
// still holds the key.
func finish(ctx context.Context, db *sql.DB, q request, owner string, fenced bool) (status int, body string, err error) {
	err = inTx(ctx, db, func(tx *sql.Tx) error {
		if fenced {
			still, err := changed(tx.ExecContext(ctx, `UPDATE keys SET state = 'done' WHERE scope = ? AND key = ? AND owner = ? AND state = 'busy'`, q.scope, q.key, owner))
			if err != nil {
				return err
			}
			if !still {
				status, body = stored(ctx, tx, q)
				return nil
			}
		}
		n, err := insertRecord(ctx, tx, q)
		if err != nil {
			return err
		}
		status, body = created, id(n)
		_, err = tx.ExecContext(ctx, `UPDATE keys SET state = 'done', body = ? WHERE scope = ? AND key = ?`, body, q.scope, q.key)
		return err
	})
	return status, body, err
}

func w05(fenced bool) func(db *sql.DB) writer {
	return func(db *sql.DB) writer {
		return func(ctx context.Context, q request) (status int, body string) {
			owner := newOwner()
			mine, err := claim(ctx, db, q, owner)
			if err != nil {
				return again()
			}
			if !mine {
				return stored(ctx, db, q)
			}
			status, body, err = finish(ctx, db, q, owner, fenced)
			if err != nil {
				return again()
			}
			return status, body
		}
	}
}

func leased(sys exactlyone.System) exactlyone.System {
	sys.Durations = []time.Duration{lease}
	return sys
}

func TestW05(t *testing.T) {
	flawed := leased(system("w05", w05Keys, on(w05(false))))
	late := alone(t, 2, 1, "jumps")
	// A: send, claim (2); the clock; B: send, claim, BEGIN, INSERT, UPDATE, COMMIT
	// (6); A: BEGIN, INSERT, UPDATE, COMMIT. Two answers are told besides.
	breaks(t, flawed, w05Keys, late, props.AtMostOne(), 1, 13)
	breaks(t, flawed, w05Keys, late, props.SameAnswer(), 1, 15)
	holds(t, leased(system("w05 corrected", w05Keys, on(w05(true)))), w05Keys)
}

// W06: a lock that a past owner releases.

const (
	w06Locks  = `CREATE TABLE locks (name TEXT PRIMARY KEY, until INTEGER, token TEXT);`
	w06Unique = w06Locks + `CREATE UNIQUE INDEX once ON records (scope, req_key);`
)

func w06(fixed bool) func(db *sql.DB) writer {
	return func(db *sql.DB) writer {
		return func(ctx context.Context, q request) (status int, body string) {
			token, now := newOwner(), time.Now()
			deadline, name := now.Add(lease), q.scope+"/"+q.key
			var mine bool
			err := inTx(ctx, db, func(tx *sql.Tx) error {
				if _, err := tx.ExecContext(ctx, `DELETE FROM locks WHERE name = ? AND until < ?`, name, millis(now)); err != nil {
					return err
				}
				var err error
				mine, err = changed(tx.ExecContext(ctx, `INSERT INTO locks (name, until, token) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, name, millis(deadline), token))
				return err
			})
			switch {
			case err != nil:
				return again()
			case !mine:
				return conflict, "locked"
			}
			defer func() {
				var err error
				if fixed {
					_, err = db.ExecContext(ctx, `DELETE FROM locks WHERE name = ? AND token = ?`, name, token)
				} else {
					_, err = db.ExecContext(ctx, `DELETE FROM locks WHERE name = ?`, name)
				}
				if err != nil {
					status, body = again()
				}
			}()
			n, err := findRecord(ctx, db, q)
			if err == nil {
				return replayed, id(n)
			}
			time.Sleep(time.Second) // slow preparation
			if time.Now().After(deadline) {
				return again()
			}
			n, err = insertRecord(ctx, db, q)
			if isUnique(err) {
				n, err = findRecord(ctx, db, q)
				status = replayed
			} else {
				status = created
			}
			if err != nil {
				return again()
			}
			return status, id(n)
		}
	}
}

func TestW06(t *testing.T) {
	// As stated, three requests: A: send, BEGIN, DELETE, INSERT, COMMIT, look; the
	// clock; B: send to look (6); A: has slept, DELETE; C: send to look (6); B: has
	// slept, INSERT; C: the same.
	breaks(t, leased(system("w06", w06Locks, on(w06(false)))), w06Locks, alone(t, 3, 1, "jumps"), props.AtMostOne(), 1, 6+1+6+2+6+2+2)
	holds(t, leased(system("w06 corrected", w06Unique, on(w06(true)))), w06Unique)
}

// W07: a commit error taken for a rollback; the flawed writer is in elsewhere_test.go.

func w07Corrected(db *sql.DB) writer {
	return func(ctx context.Context, q request) (status int, body string) {
		owner := newOwner()
		mine, err := claim(ctx, db, q, owner)
		if err != nil {
			return again()
		}
		if !mine {
			return stored(ctx, db, q)
		}
		status, body, err = finish(ctx, db, q, owner, true)
		if err == nil {
			return status, body
		}
		if status, body := stored(ctx, db, q); status == replayed {
			return status, body
		}
		_, _ = db.ExecContext(ctx, `UPDATE keys SET state = 'failed' WHERE scope = ? AND key = ? AND owner = ? AND state = 'busy'`, q.scope, q.key, owner)
		return again()
	}
}

func TestW07(t *testing.T) {
	holds(t, leased(system("w07 corrected", w05Keys, on(w07Corrected))), w05Keys)
}
