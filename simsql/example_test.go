package simsql_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/simhttp"
	"exactlyone/simsql"
)

// signUp is a handler as it runs in production.
func signUp(db *sql.DB) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		email, _ := io.ReadAll(r.Body)
		res, err := db.ExecContext(r.Context(), "INSERT INTO accounts (email) VALUES (?)", string(email))
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		id, _ := res.LastInsertId()
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, id)
	}
}

// A handler over database/sql, checked unmodified. In a test, call exactlyone.Check.
func ExampleStore() {
	const schema = "CREATE TABLE accounts (id INTEGER PRIMARY KEY, email TEXT)"
	system := exactlyone.System{
		Name:   "sign-up",
		Stores: []exactlyone.Store{simsql.Store("db", schema, simsql.Options{Journal: simsql.WAL})},
		Start:  func(env *exactlyone.Env) exactlyone.Server { return simhttp.Serve(signUp(env.DB("db"))) },
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Name: "the sign-up", Path: "/accounts", Body: "ann@example.com"}}
		},
		Effects:   simsql.Effects("db", "SELECT id, email AS body FROM accounts"),
		ID:        func(a model.Answer) string { return a.Body },
		Stateless: true,
	}
	result, err := exactlyone.Run(context.Background(), system, exactlyone.Bounds{Clients: 1}, exactlyone.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict, "-", result.Story.Message)
	for _, step := range result.Story.Steps {
		for _, cell := range step.Cells {
			fmt.Printf("%d %s: %s\n", step.N, cell.Who, cell.What)
		}
	}
	// Output:
	// violated - the sign-up left 2 effects
	// 1 client 1: sends POST /accounts
	// 1 node 1: ▶ client 1
	// 2 client 1: INSERT INTO accounts (email) VALUES (?) ['ann@example.com'] → id 1; answers 201 1
	// 2 store db: + accounts(1, 'ann@example.com')
	// 3 client 1: ✗ answer lost: 201 1
	// 3 client 1: ← timeout
	// 4 client 1: sends POST /accounts
	// 4 node 1: ▶ client 1
	// 5 client 1: INSERT INTO accounts (email) VALUES (?) ['ann@example.com'] → id 2; answers 201 2
	// 5 store db: + accounts(2, 'ann@example.com')
}

// Effects and claims can be worked out of any query.
func ExampleRows() {
	claims := func(c exactlyone.Contents) (all []exactlyone.Claim) {
		for _, row := range simsql.Rows(c, "db", "SELECT key, owner FROM claims WHERE done = ?", 0) {
			all = append(all, exactlyone.Claim{Key: row["key"].(string), Owner: row["owner"].(string)})
		}
		return all
	}
	_ = exactlyone.System{Claims: claims}
}
