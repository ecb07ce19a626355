package exactlyone_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"exactlyone"
	"exactlyone/internal/orders"
)

// plainly is a handler and its database as a program would have them.
func plainly(b *testing.B) (http.Handler, *sql.DB) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(orders.Schema(true)); err != nil {
		b.Fatal(err)
	}
	return orders.Handler{DB: db, Now: time.Now}, db
}

// BenchmarkExecutions compares the handler of two statements, called plainly in a
// loop on a database in memory that is emptied each time, with executions of the
// same handler that a search draws, and reports how many times as long one takes.
func BenchmarkExecutions(b *testing.B) {
	h, db := plainly(b)
	plain := time.Hour
	for b.Loop() {
		const calls = 2000
		start := time.Now()
		for range calls {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "/orders", strings.NewReader(`{"title":"x"}`))
			r.Header.Set("Idempotency-Key", "k")
			if h.ServeHTTP(w, r); w.Code != http.StatusCreated {
				b.Fatal(w.Body)
			}
			if _, err := db.Exec("DELETE FROM orders"); err != nil {
				b.Fatal(err)
			}
		}
		plain = min(plain, time.Since(start)/calls)
	}
	sys := orders.System(true, time.Now)
	sys.Name = "orders"
	one := exactlyone.Bounds{Clients: 1, Attempts: 1, Crashes: exactlyone.None, LostAnswers: exactlyone.None, Jumps: exactlyone.None}
	const n = 20000
	start := time.Now()
	_, err := exactlyone.Run(context.Background(), sys, one, exactlyone.Options{Search: "walk", Executions: n, Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	drawn := time.Since(start) / n
	run, end, err := exactlyone.Live(sys, one)
	if err != nil {
		b.Fatal(err)
	}
	defer end()
	live := time.Hour
	for range 20 {
		const runs = 200
		start = time.Now()
		for range runs {
			if err := run(); err != nil {
				b.Fatal(err)
			}
		}
		live = min(live, time.Since(start)/runs)
	}
	b.ReportMetric(float64(plain.Nanoseconds())/1000, "µs-plain")
	b.ReportMetric(float64(drawn)/float64(plain), "drawn/plain")
	b.ReportMetric(float64(live)/float64(plain), "live/plain")
}
