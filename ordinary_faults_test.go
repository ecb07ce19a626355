package exactlyone_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/simhttp"
	"exactlyone/simsql"
)

// only is bounds in which so much goes wrong of one kind, and else nothing.
func only(t *testing.T, clients, attempts int, fault string) exactlyone.Bounds {
	t.Helper()
	b := exactlyone.Bounds{Clients: clients, Attempts: attempts}
	for _, l := range b.Limits() {
		switch {
		case l.Name == fault:
			*l.N = 1
		case l.Least == 0:
			*l.N = exactlyone.None
		}
	}
	return b
}

// told checks a system, and returns the report and its text.
func told(t *testing.T, sys exactlyone.System, b exactlyone.Bounds) (*exactlyone.Result, string) {
	t.Helper()
	r, err := exactlyone.Run(t.Context(), sys, b, exactlyone.Options{Test: t})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.WriteText(&text, exactlyone.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return r, text.String()
}

func fails(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
}

// never is a property that says that no answer holds a text.
func never(text string) props.Property {
	return props.New("never", "no answer says "+text,
		func(n int, t model.Told) int {
			if strings.Contains(t.Answer.Body, text) {
				n++
			}
			return n
		},
		func(n int, _ props.View) (bool, string) {
			if n > 0 {
				return true, "one does"
			}
			return true, ""
		})
}

// TestCallerGone: the context of a request whose caller has gone ends, its
// transaction is rolled back, and what does not heed the context goes on.
func TestCallerGone(t *testing.T) {
	for name, tt := range map[string]struct {
		handle func(ctx context.Context, db *sql.DB) error
		broken string
	}{
		"in a transaction": {func(ctx context.Context, db *sql.DB) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			if err := insert(ctx, tx); err != nil {
				return err
			}
			return tx.Commit()
		}, ""},
		"two statements": {func(ctx context.Context, db *sql.DB) error {
			if err := insert(ctx, db); err != nil {
				return err
			}
			_, err := db.ExecContext(ctx, "UPDATE rows SET body = 'b' WHERE body = 'b'")
			return err
		}, ""},
		"without its context": {func(_ context.Context, db *sql.DB) error { return insert(context.Background(), db) }, ""},
		"an effect of it": {func(ctx context.Context, db *sql.DB) error {
			look(ctx, db, "x")
			if ctx.Err() == nil {
				return insert(ctx, db)
			}
			return errors.Join(insert(context.Background(), db), insert(context.Background(), db))
		}, "at-most-one"},
		"waits for it": {func(ctx context.Context, db *sql.DB) error {
			look(ctx, db, "x")
			select {
			case <-ctx.Done():
				return errors.Join(insert(context.WithoutCancel(ctx), db), insert(context.WithoutCancel(ctx), db))
			case <-time.After(time.Second):
			}
			return insert(ctx, db)
		}, "at-most-one"},
	} {
		t.Run(name, func(t *testing.T) {
			sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					if err := tt.handle(r.Context(), db); err != nil {
						fails(w, err)
					}
				}
			})
			sys.Stateless = true
			sys.Properties = []props.Property{props.AtMostOne(), props.NoDeadlock()}
			r, text := told(t, sys, only(t, 1, 1, "cancels"))
			if got := property(r); got != tt.broken || r.Verdict == exactlyone.Vacuous {
				t.Errorf("breaks %q, want %q\n%s", got, tt.broken, text)
			}
		})
	}
}

func property(r *exactlyone.Result) string {
	if r.Story == nil {
		return ""
	}
	return r.Story.Property
}

// TestFaultsOfOrdinaryCode: a duplicate, a crash, a lost answer and a busy store each
// make a handler without a key insert twice or say that it could not; a lost request
// does nothing.
func TestFaultsOfOrdinaryCode(t *testing.T) {
	for fault, want := range map[string]string{
		"duplicates": "at-most-one", "crashes": "at-most-one", "lost_answers": "at-most-one",
		"commit_faults": "never", "lost_requests": "", "": "",
	} {
		for _, stateless := range []bool{true, false} {
			sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
				return func(w http.ResponseWriter, r *http.Request) {
					tx, err := db.BeginTx(r.Context(), nil)
					if err != nil {
						fails(w, err)
						return
					}
					defer func() { _ = tx.Rollback() }()
					if err := insert(r.Context(), tx); err != nil {
						fails(w, err)
						return
					}
					if err := tx.Commit(); err != nil {
						fails(w, err)
					}
				}
			})
			sys.Stateless = stateless
			sys.Properties = []props.Property{props.AtMostOne(), props.NoDeadlock(), never("SQLITE_"), never("full")}
			r, text := told(t, sys, only(t, 1, 2, fault))
			if got := property(r); got != want {
				t.Errorf("%s, stateless %t: breaks %q, want %q\n%s", fault, stateless, got, want, text)
			}
		}
	}
}

// TestJumpAcrossDeadline: a statement is tried before and after its deadline; which
// of both it is, is the clock's doing.
func TestJumpAcrossDeadline(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
				defer cancel()
				look(ctx, db, "x")
				if err := insert(ctx, db); err != nil {
					fails(w, err)
				}
			}
		})
		sys.Stateless = stateless
		sys.Properties = []props.Property{never("deadline exceeded")}
		if r, text := told(t, sys, calm); r.Verdict != exactlyone.Holds {
			t.Error(text)
		}
		r, text := told(t, sys, only(t, 1, 1, "jumps"))
		if r.Verdict != exactlyone.Violated || r.Faults != 1 || !strings.Contains(text, "the clock jumps to +5") {
			t.Error(text)
		}
	}
}

// drain moves rows from an inbox to the rows, as an actor beside the requests.
type drain struct {
	exactlyone.Server
	db *sql.DB
}

func (d drain) round(ctx context.Context) {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "INSERT INTO rows (body) SELECT body FROM inbox"); err != nil {
		return
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM inbox"); err == nil {
		_ = tx.Commit()
	}
}

// TestBackgroundOverSQL: an actor uses a database that the server has.
func TestBackgroundOverSQL(t *testing.T) {
	var running drain
	sys := sqlSystem(nil)
	sys.Stores = []exactlyone.Store{simsql.Store("db", "CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT); CREATE TABLE inbox (key TEXT PRIMARY KEY, body TEXT)", simsql.Options{BusyTimeout: time.Second})}
	sys.Start = func(env *exactlyone.Env) exactlyone.Server {
		db := env.DB("db")
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := db.ExecContext(r.Context(), "INSERT INTO inbox VALUES (?, 'b') ON CONFLICT DO NOTHING", r.Header.Get(simhttp.KeyHeader)); err != nil {
				fails(w, err)
			}
			w.WriteHeader(http.StatusAccepted)
		})
		running = drain{simhttp.Serve(h), db}
		return exactlyone.Goroutines(running)
	}
	sys.Background = []exactlyone.Background{{Name: "drain", Run: func(ctx context.Context, s exactlyone.Server) { s.(drain).round(ctx) }}}
	sys.Stateless = true
	sys.Properties = []props.Property{props.AtMostOne(), props.NoDeadlock()}
	b := only(t, 2, 1, "")
	b.Rounds = 2
	r, text := told(t, sys, b)
	if r.Verdict != exactlyone.Violated || r.Faults != 0 || !strings.Contains(text, "drain") {
		t.Errorf("a request after the inbox was emptied inserts again: %s", text) // the key is gone with the row
	}
}

// TestTwoDatabasesTwoNodes: requests at two nodes share databases, not memory.
func TestTwoDatabasesTwoNodes(t *testing.T) {
	for nodes, want := range map[int]exactlyone.Verdict{1: exactlyone.Holds, 2: exactlyone.Violated} {
		sys := sqlSystem(nil)
		sys.Stores = append(sys.Stores, simsql.Store("log", "CREATE TABLE log (line TEXT)", simsql.Options{Journal: simsql.WAL}))
		sys.Start = func(env *exactlyone.Env) exactlyone.Server {
			db, log := env.DB("db"), env.DB("log")
			var done atomic.Bool
			return simhttp.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !done.CompareAndSwap(false, true) {
					w.WriteHeader(http.StatusConflict)
					return
				}
				if _, err := log.ExecContext(r.Context(), "INSERT INTO log VALUES ('begun')"); err != nil {
					fails(w, err)
					return
				}
				if err := insert(r.Context(), db); err != nil {
					fails(w, err)
				}
			}))
		}
		sys.Properties = []props.Property{props.AtMostOne(), props.NoDeadlock()}
		b := only(t, 2, 1, "")
		b.Nodes = nodes
		if r, text := told(t, sys, b); r.Verdict != want {
			t.Errorf("%d nodes: %s", nodes, text)
		}
	}
}

// TestLogInStory: what the code logs is in the story, at its step.
func TestLogInStory(t *testing.T) {
	sys := sqlSystem(func(env *exactlyone.Env, db *sql.DB) http.HandlerFunc {
		log := env.Logger().With("part", "orders")
		return func(w http.ResponseWriter, r *http.Request) {
			for i := range 2 {
				log.InfoContext(r.Context(), "inserting", "n", i)
				if err := insert(r.Context(), db); err != nil {
					log.Error("failed", "err", err)
				}
			}
		}
	})
	sys.Properties = []props.Property{props.AtMostOne()}
	r, text := told(t, sys, calm)
	for n, what := range []string{"sends", "INSERT"} {
		if cell := r.Story.Steps[n].Cells[0].What; !strings.HasPrefix(cell, what) || !strings.Contains(cell, fmt.Sprintf("(msg=inserting part=orders n=%d)", n)) {
			t.Errorf("step %d: %s\n%s", n+1, cell, text)
		}
	}
}

// TestLeftRunning: goroutines, timers and tickers that a handler leaves go on when
// it has answered, and are gone after a crash.
func TestLeftRunning(t *testing.T) {
	for name, leave := range map[string]func(f func()){
		"goroutine":         func(f func()) { go f() },
		"goroutine sleeps":  func(f func()) { go func() { time.Sleep(time.Second); f() }() },
		"timer":             func(f func()) { time.AfterFunc(time.Second, f) },
		"goroutine by one":  func(f func()) { go func() { go f() }() },
		"context.AfterFunc": nil,
		"ticker": func(f func()) {
			go func() {
				tick := time.NewTicker(time.Second)
				defer tick.Stop()
				<-tick.C
				<-tick.C
				f()
			}()
		},
	} {
		for _, stateless := range []bool{true, false} {
			t.Run(fmt.Sprint(name, stateless), func(t *testing.T) {
				sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
					return func(w http.ResponseWriter, r *http.Request) {
						f := func() { _ = insert(context.Background(), db) }
						if leave == nil {
							context.AfterFunc(r.Context(), f)
						} else {
							leave(f)
						}
						w.WriteHeader(http.StatusOK)
					}
				})
				sys.Stateless = stateless
				sys.Properties = []props.Property{exactlyoneInTheEnd()}
				if r, text := told(t, sys, calm); r.Verdict != exactlyone.Holds || r.Left != nil {
					t.Errorf("calm: %s", text)
				}
				if r, text := told(t, sys, only(t, 1, 1, "crashes")); r.Verdict != exactlyone.Violated || r.Faults != 1 {
					t.Errorf("crash: %s", text)
				}
			})
		}
	}
}

// exactlyoneInTheEnd is a property that says that success has one effect in the end.
func exactlyoneInTheEnd() props.Property {
	return props.New("in-the-end", "success has one effect in the end",
		func(n int, t model.Told) int {
			if t.Success {
				n++
			}
			return n
		},
		func(n int, v props.View) (bool, string) {
			if v.End && n > 0 && len(v.Effects) != 1 {
				return true, fmt.Sprintf("there are %d effects", len(v.Effects))
			}
			return v.End, ""
		})
}

// TestStatelessIsRefuted: a server that keeps something between requests, and says
// that it does not.
func TestStatelessIsRefuted(t *testing.T) {
	for name, start := range map[string]func(db *sql.DB) http.HandlerFunc{
		"a set of keys": func(db *sql.DB) http.HandlerFunc {
			var done atomic.Bool
			return func(_ http.ResponseWriter, r *http.Request) {
				if done.CompareAndSwap(false, true) {
					_ = insert(r.Context(), db)
				}
			}
		},
		"a cached answer": func(db *sql.DB) http.HandlerFunc {
			var n atomic.Int64
			return func(w http.ResponseWriter, r *http.Request) {
				_ = insert(r.Context(), db)
				_, _ = fmt.Fprint(w, n.Add(1))
			}
		},
		"a pool of one": func(db *sql.DB) http.HandlerFunc {
			db.SetMaxOpenConns(1)
			return func(_ http.ResponseWriter, r *http.Request) {
				tx, err := db.BeginTx(r.Context(), nil)
				if err != nil {
					return
				}
				defer func() { _ = tx.Rollback() }()
				_ = insert(r.Context(), tx)
				_ = tx.Commit()
			}
		},
	} {
		sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc { return start(db) })
		sys.Stateless = true
		sys.Properties = []props.Property{props.NoDeadlock()}
		_, err := exactlyone.Run(t.Context(), sys, only(t, 2, 1, ""), exactlyone.Options{Test: t})
		if !errors.Is(err, exactlyone.ErrRefuted) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestPanics: a handler that panics closes the connection, with its transaction
// rolled back.
func TestPanics(t *testing.T) {
	sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			tx, err := db.BeginTx(r.Context(), nil)
			if err != nil {
				fails(w, err)
				return
			}
			defer func() { _ = tx.Rollback() }()
			_ = insert(r.Context(), tx)
			_, _ = io.WriteString(w, "made")
			panic("oh")
		}
	})
	sys.Properties = []props.Property{never("made"), props.AtMostOne()}
	sys.Stateless = true
	b := only(t, 1, 2, "")
	if r, text := told(t, sys, b); r.Verdict != exactlyone.Vacuous || !strings.Contains(text, "a handler panicked: oh: 2") {
		t.Error(text)
	}
}
