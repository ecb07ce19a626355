package exactlyone_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"exactlyone"
	"exactlyone/interleave"
)

// moody is handlers that do something else each time, and what is said of why.
var moody = map[string]struct {
	handle func(ctx context.Context, db *sql.DB)
	source string
}{
	"order of a map": {func(ctx context.Context, db *sql.DB) {
		for body := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8} {
			look(ctx, db, body)
		}
	}, "order of a map"},
	"global random source": {func(ctx context.Context, db *sql.DB) {
		_, _ = db.ExecContext(ctx, "INSERT INTO rows (body) VALUES (?)", fmt.Sprint(rand.IntN(1000)))
	}, "math/rand/v2"},
	"coin": {func(ctx context.Context, db *sql.DB) {
		if rand.IntN(2) == 0 {
			_ = insert(ctx, db)
		}
	}, "math/rand/v2"},
	"coin between goroutines": {func(ctx context.Context, db *sql.DB) {
		n := 1 + rand.IntN(3)
		var g group
		for i := range n {
			g.Go(func() error { look(ctx, db, fmt.Sprint(i)); return nil })
		}
		_ = g.Wait()
	}, ""},
	"select over several": {func(ctx context.Context, db *sql.DB) {
		a, b := make(chan string, 8), make(chan string, 8)
		for range 8 {
			a <- "a"
			b <- "b"
		}
		for range 8 {
			select {
			case body := <-a:
				look(ctx, db, body)
			case body := <-b:
				look(ctx, db, body)
			}
		}
	}, ""},
	"endless": {func(ctx context.Context, db *sql.DB) {
		for {
			look(ctx, db, fmt.Sprint(rand.IntN(1000)))
		}
	}, ""},
}

func look(ctx context.Context, db *sql.DB, body string) {
	var n int
	_ = db.QueryRowContext(ctx, "SELECT id FROM rows WHERE body = ?", body).Scan(&n)
}

// TestOrdinaryNondeterminism: code in a bubble that does something else each time is
// named as such, whatever it breaks.
func TestOrdinaryNondeterminism(t *testing.T) {
	for name, m := range moody {
		for _, stateless := range []bool{true, false} {
			sys := sqlSystem(func(_ *exactlyone.Env, db *sql.DB) http.HandlerFunc {
				return func(_ http.ResponseWriter, r *http.Request) { m.handle(r.Context(), db) }
			})
			sys.Stateless = stateless
			r, err := exactlyone.Run(t.Context(), sys, calm, exactlyone.Options{Test: t})
			if r != nil || !errors.Is(err, interleave.ErrNondeterministic) || !strings.Contains(err.Error(), m.source) {
				t.Errorf("%s, stateless %t: %v %v", name, stateless, r, err)
			}
			t.Log(err)
		}
	}
}
