package exactlyone_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/simhttp"
	"exactlyone/simsql"
)

// plainly is a handler and its database as a program would have them.
func plainly(b *testing.B) (http.Handler, *sql.DB) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(fmt.Sprintf(ordersSchema, " UNIQUE")); err != nil {
		b.Fatal(err)
	}
	return orders{db}, db
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
	sys := orderSystem(" UNIQUE")
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

type orders struct{ db *sql.DB }

func (o orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	var id int64
	switch err := o.db.QueryRowContext(r.Context(), "SELECT id FROM orders WHERE key = ?", key).Scan(&id); {
	case errors.Is(err, sql.ErrNoRows):
		res, err := o.db.ExecContext(r.Context(), "INSERT INTO orders (key, title, at) VALUES (?, ?, ?)", key, in.Title, time.Now().UTC().Format(time.RFC3339))
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		id, _ = res.LastInsertId()
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, `{"id":%d}`, id)
}

const ordersSchema = "CREATE TABLE orders (id INTEGER PRIMARY KEY, key TEXT%s, title TEXT, at TEXT)"

func orderSystem(unique string) exactlyone.System {
	return exactlyone.System{
		Stores: []exactlyone.Store{simsql.Store("orders", fmt.Sprintf(ordersSchema, unique), simsql.Options{})},
		Start:  func(env *exactlyone.Env) exactlyone.Server { return simhttp.Serve(orders{env.DB("orders")}) },
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Path: "/orders", Body: `{"title":"x"}`, RunID: "r", ToolUseID: "t"}, Key: model.KeyToolCall}
		},
		Effects: simsql.Effects("orders", `SELECT id, '{"title":"' || title || '"}' AS body FROM orders`),
		ID: func(a model.Answer) string {
			var out struct{ ID int64 }
			_ = json.Unmarshal([]byte(a.Body), &out)
			return fmt.Sprint(out.ID)
		},
		Stateless: true,
	}
}
