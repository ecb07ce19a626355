package simhttp_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/simhttp"
	"exactlyone/simsql"
)

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

func TestOrders(t *testing.T) {
	r, text := run(t, orderSystem(""), exactlyone.Bounds{})
	if r.Verdict != exactlyone.Violated {
		t.Error(text)
	}
	t.Log(text)
	r, text = run(t, orderSystem(" UNIQUE"), exactlyone.Bounds{})
	t.Log(text)
	if r.Verdict != exactlyone.Holds {
		t.Error(r.Verdict)
	}
}
