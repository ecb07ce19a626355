package scenarios

import (
	"context"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W01: look, then insert. Two requests at once both look before either has
// inserted. A unique constraint instead, and reading what is there.

func w01Flawed(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	look, err := db.Do(ctx, selectRecord(req))
	if err != nil {
		return again
	}
	if len(look.Rows) > 0 {
		return found(look.Rows[0].Int("id"))
	}
	done, err := db.Do(ctx, insertRecord(req))
	if err != nil {
		return again
	}
	return model.Created(done.ID)
}

func w01Corrected(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	done, err := db.Do(ctx, model.InsertIfAbsent("records", recordOf(req)...))
	if err != nil {
		return again
	}
	if done.Affected == 1 {
		return model.Created(done.ID)
	}
	look, err := db.Do(ctx, selectRecord(req))
	if err != nil || len(look.Rows) == 0 {
		return again
	}
	return found(look.Rows[0].Int("id"))
}

func TestW01(t *testing.T) {
	flawed := system("w01", model.Schema{records(false)}, w01Flawed)
	click := alone(t, 2, 1, "", 0)
	// A sends, A1, B sends, B1, A3, B3; the two answers are told besides.
	breaks(t, flawed, click, props.AtMostOne(), 0, 6)
	breaks(t, flawed, click, props.SameAnswer(), 0, 8)
	holds(t, system("w01 corrected", model.Schema{records(true)}, w01Corrected), 2, 2)
}
