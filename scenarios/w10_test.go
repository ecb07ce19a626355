package scenarios

import (
	"context"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W10: the answer is stored ahead of the business commit, here with the keys in a
// second store. A crash between the two, and the retry is told an id that is not
// there. The corrected variant is W04's: one transaction, one store.

func w10Flawed(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db, keys := env.Store("db"), env.Store("keys")
	claim, err := keys.Do(ctx, model.InsertIfAbsent("keys", named(req, model.Set("state", "busy"))...))
	if err != nil {
		return again
	}
	if claim.Affected == 0 {
		return replay(ctx, keys, req)
	}
	var answer model.Answer
	err = inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, insertRecord(req))
		if err != nil {
			return err
		}
		answer = model.Created(r.ID)
		_, err = keys.Do(ctx, model.Update("keys", model.Set("state", "done"), model.Set("body", answer.Body)).If(mine(req)...))
		return err
	})
	if err != nil {
		return again
	}
	return answer
}

func TestW10(t *testing.T) {
	t.Parallel()
	flawed := system("w10", model.Schema{records(false)}, w10Flawed)
	flawed.Stores = append(flawed.Stores, exactlyone.Store{Name: "keys", Tables: model.Schema{byKey("keys", text("state"), text("body"))}})
	// Send, claim, BEGIN, INSERT, UPDATE, crash, wait, send, claim, look, told.
	breaks(t, flawed, alone(t, 1, 2, "crashes", 1), props.AcknowledgedExists(), 1, 11)
	breaks(t, flawed, alone(t, 1, 2, "crashes", 1), props.ExactlyOneOnceTold(), 1, 11)
	// The COMMIT fails (one step more: its answer is told), and the same happens.
	breaks(t, flawed, alone(t, 1, 2, "commit_faults", 1), props.AcknowledgedExists(), 1, 12)
}
