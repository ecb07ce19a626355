package scenarios

import (
	"context"
	"errors"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W04: the claim is dropped although the effect stands. The notifier fails once;
// and after a crash the key stays busy for ever. One transaction that also writes
// down what is to be sent, so that nothing is ever deleted by hand.

func w04Tables() model.Schema {
	return model.Schema{
		records(false), byKey("keys", text("state"), text("body")),
		{Name: "notifications", Columns: []model.Column{{Name: "id", Kind: model.Serial}, text("payload")}},
	}
}

// replay is the answer of a key that somebody has.
func replay(ctx context.Context, db model.Store, req model.Request) model.Answer {
	look, err := db.Do(ctx, model.Select("keys", mine(req)...))
	switch {
	case err != nil || len(look.Rows) == 0:
		return again
	case look.Rows[0].Text("state") != "done":
		return running
	}
	return model.Answer{Status: 201, Body: look.Rows[0].Text("body")}.Replay()
}

func w04Flawed(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	claim, err := db.Do(ctx, model.InsertIfAbsent("keys", named(req, model.Set("state", "busy"))...))
	if err != nil {
		return again
	}
	if claim.Affected == 0 {
		return replay(ctx, db, req)
	}
	var id int64
	err = inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, insertRecord(req))
		id = r.ID
		return err
	})
	if err == nil {
		_, err = env.Client("notifier").Send(ctx, model.Request{Method: "POST", Path: "/notify", Body: req.Body})
	}
	if err != nil {
		_, _ = db.Do(ctx, model.Delete("keys", mine(req)...))
		return failed
	}
	answer := model.Created(id)
	if _, err := db.Do(ctx, model.Update("keys", model.Set("state", "done"), model.Set("body", answer.Body)).If(mine(req)...)); err != nil {
		return failed
	}
	return answer
}

func w04Corrected(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	var answer model.Answer
	err := inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, model.InsertIfAbsent("keys", named(req, model.Set("state", "busy"))...))
		if err != nil {
			return err
		}
		if r.Affected == 0 {
			return errTaken
		}
		if r, err = tx.Do(ctx, insertRecord(req)); err != nil {
			return err
		}
		answer = model.Created(r.ID)
		if _, err = tx.Do(ctx, model.Update("keys", model.Set("state", "done"), model.Set("body", answer.Body)).If(mine(req)...)); err != nil {
			return err
		}
		_, err = tx.Do(ctx, model.Insert("notifications", model.Set("payload", req.Body)))
		return err
	})
	switch {
	case errors.Is(err, errTaken):
		return replay(ctx, db, req)
	case err != nil:
		return again
	}
	return answer
}

func TestW04(t *testing.T) {
	t.Parallel()
	flawed := system("w04", w04Tables(), w04Flawed)
	flawed.Services = []exactlyone.Service{{Name: "notifier"}}
	// Send, claim, BEGIN, INSERT, COMMIT, the call fails, DELETE, told 500, wait,
	// send, claim, BEGIN, INSERT, COMMIT.
	breaks(t, flawed, alone(t, 1, 2, "calls", 1), props.AtMostOne(), 1, 14)
	// Send, claim, crash, wait, send, claim, look, told 409: busy for ever.
	breaks(t, flawed, alone(t, 1, 2, "crashes", 1), props.Converges(), 1, 8)
	// The same, when step 5 fails: send, claim, BEGIN, INSERT, COMMIT, call, UPDATE
	// fails, told 500, wait, send, claim, look, told 409.
	breaks(t, flawed, alone(t, 1, 2, "store_errors", 1), props.Converges(), 1, 13)
	holds(t, system("w04 corrected", w04Tables(), w04Corrected), 2, 2)
}
