package exactlyone_test

import (
	"context"
	"fmt"

	"exactlyone"
	"exactlyone/model"
)

// register answers every request with a new account.
type register struct{ store model.Store }

func (r register) Handle(ctx context.Context, req model.Request) model.Answer {
	res, err := r.store.Do(ctx, model.Insert("accounts", model.Set("email", req.Body)))
	if err != nil {
		return model.Answer{Status: 503}
	}
	return model.Answer{Status: 201, Body: fmt.Sprint(res.ID)}
}

// A writer of one's own, checked outside a test. In a test, call Check.
func ExampleRun() {
	system := exactlyone.System{
		Name: "register",
		Stores: []exactlyone.Store{{Name: "db", Tables: model.Schema{{
			Name:    "accounts",
			Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "email", Kind: model.Text}},
		}}}},
		Start: func(env *exactlyone.Env) model.Server { return register{env.Store("db")} },
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Name: "the sign-up", Path: "/accounts", Body: "ann@example.com"}}
		},
		Effects: func(c exactlyone.Contents) []model.Effect {
			var all []model.Effect
			for _, row := range c.Rows("db", "accounts") {
				all = append(all, model.Effect{ID: fmt.Sprint(row.Int("id")), Body: row.Text("email")})
			}
			return all
		},
		Stateless: true, OpaqueIDs: true,
	}
	result, err := exactlyone.Run(context.Background(), system, exactlyone.Bounds{Clients: 1}, exactlyone.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Verdict, "-", result.Story.Message)
	for _, step := range result.Story.Steps {
		fmt.Println(step.N, step.Label)
	}
	// Output:
	// violated - the sign-up left 2 effects
	// 1 client 1: send POST /accounts body "ann@example.com" to node 1
	// 2 client 1: INSERT INTO accounts (email='ann@example.com')
	// 3 answer to client 1 is lost
	// 4 client 1: send POST /accounts body "ann@example.com" to node 1
	// 5 client 1: INSERT INTO accounts (email='ann@example.com')
}
