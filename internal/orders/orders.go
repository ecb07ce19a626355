// Package orders is a plain handler over database/sql that tests and benchmarks of
// ordinary code share.
package orders

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/simhttp"
	"exactlyone/simsql"
)

// Handler takes orders: it looks for the key, and inserts.
type Handler struct {
	DB  *sql.DB
	Now func() time.Time // time.Now
}

// ServeHTTP takes one order.
func (o Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct{ Title string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	key := r.Header.Get("Idempotency-Key")
	var id int64
	switch err := o.DB.QueryRowContext(r.Context(), "SELECT id FROM orders WHERE key = ?", key).Scan(&id); {
	case errors.Is(err, sql.ErrNoRows):
		res, err := o.DB.ExecContext(r.Context(), "INSERT INTO orders (key, title, at) VALUES (?, ?, ?)", key, in.Title, o.Now().UTC().Format(time.RFC3339))
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

// Schema is what the database holds; with unique, a key but once.
func Schema(unique bool) string {
	constraint := ""
	if unique {
		constraint = " UNIQUE"
	}
	return "CREATE TABLE orders (id INTEGER PRIMARY KEY, key TEXT" + constraint + ", title TEXT, at TEXT)"
}

// System is the handler with its database and its clients.
func System(unique bool, now func() time.Time) exactlyone.System {
	return exactlyone.System{
		Stores: []exactlyone.Store{simsql.Store("orders", Schema(unique), simsql.Options{})},
		Start:  func(env *exactlyone.Env) exactlyone.Server { return simhttp.Serve(Handler{env.DB("orders"), now}) },
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
