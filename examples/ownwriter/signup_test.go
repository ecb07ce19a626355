package ownwriter_test

import (
	"context"
	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"fmt"
	"testing"

	"example.com/ownwriter"
)

// system is a sign-up with everything around it.
func system(unique bool, start func(*exactlyone.Env) model.Server) exactlyone.System {
	return exactlyone.System{
		Name:   "sign-up",
		Stores: []exactlyone.Store{{Name: "db", Tables: ownwriter.Tables(unique)}},
		Start:  start,
		Client: func(int) model.Client {
			return model.Client{
				Operation: model.Operation{
					Path: "/accounts", Body: `{"email":"ann@example.com"}`,
					RunID: "ann", ToolUseID: "example.com", // the key is ann:example.com
				},
				Key: model.KeyToolCall,
			}
		},
		Effects: func(c exactlyone.Contents) []model.Effect {
			var all []model.Effect
			for _, row := range c.Rows("db", "accounts") {
				all = append(all, model.Effect{ID: fmt.Sprint(row.Int("id")), Body: row.Text("body")})
			}
			return all
		},
		ID:         func(a model.Answer) string { return a.Body },
		Properties: append(props.Pack(), firstIsOne()),
		Stateless:  true,
		OpaqueIDs:  true,
	}
}

// firstIsOne is a property of our own: the account told has number 1.
func firstIsOne() props.Property {
	return props.New("first-is-one", "the only account has number 1",
		func(last string, t model.Told) string {
			if t.Success {
				last = t.ID
			}
			return last
		},
		func(last string, _ props.View) (held bool, broken string) {
			if last != "" && last != "1" {
				return true, "a client was told account " + last
			}
			return last != "", ""
		})
}

// TestInsertThenLook tries every behaviour of the right writer.
func TestInsertThenLook(t *testing.T) {
	exactlyone.Check(t, system(true, func(env *exactlyone.Env) model.Server {
		return ownwriter.InsertThenLook{Store: env.Store("db")}
	}), exactlyone.Bounds{Clients: 3, LostRequests: 1, Duplicates: 1, Jumps: exactlyone.None})
}

// TestLookThenInsert expects the wrong one to be caught, with no fault at all.
func TestLookThenInsert(t *testing.T) {
	result, err := exactlyone.Run(context.Background(), system(false, func(env *exactlyone.Env) model.Server {
		return ownwriter.LookThenInsert{Store: env.Store("db")}
	}), exactlyone.Bounds{}, exactlyone.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Verdict != exactlyone.Violated || result.Story.Property != "at-most-one" || result.Story.Faults != 0 {
		t.Errorf("%s, story %+v; want two accounts without a fault", result.Verdict, result.Story)
	}
}
