package exactlyone_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/props"
)

// busy is a handler that does a little of everything that could go another way each
// time: goroutines, a mutex that is held across statements, a deadline, random
// names, and a goroutine that it leaves. Goroutines do not race for anything between
// two steps: who wins is not for the search to say.
func busy(mu *sync.Mutex, db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		var g group
		for i := range 2 {
			name := rand.Text()
			g.Go(func() error {
				_, err := db.ExecContext(ctx, "UPDATE rows SET body = ? WHERE id = ?", name, i+10)
				return err
			})
		}
		if err := errors.Join(g.Wait(), ctx.Err()); err != nil {
			fails(w, err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			fails(w, err)
			return
		}
		defer func() { _ = tx.Rollback() }()
		if err := insert(ctx, tx); err != nil {
			fails(w, err)
			return
		}
		if err := tx.Commit(); err != nil {
			fails(w, err)
			return
		}
		go func() {
			time.Sleep(time.Second)
			look(context.WithoutCancel(ctx), db, "b")
		}()
	}
}

// TestSameEveryTime: a search says the same however many threads there are.
func TestSameEveryTime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, fault := range []string{"", "cancels", "jumps", "crashes"} {
		first := ""
		for i := range 4 {
			runtime.GOMAXPROCS(1 + i%2*3)
			sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
				return busy(new(sync.Mutex), db)
			})
			sys.Stateless = true
			sys.Properties = []props.Property{props.AtMostOne(), props.NoDeadlock()}
			_, text := told(t, sys, only(t, 1, 1, fault))
			if first == "" {
				first = text
			}
			if text != first {
				t.Errorf("%s: %s\nand before\n%s", fault, text, first)
			}
		}
		t.Logf("%q %x", fault, sha256.Sum256([]byte(first)))
	}
}
