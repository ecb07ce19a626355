package scenarios

import (
	"context"
	"errors"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W03: mark first, effect later. After a crash between the two the retry is told
// that it was accepted, and there is no record. Both in one transaction.

func w03Tables() model.Schema { return model.Schema{records(false), byKey("keys")} }

func w03Flawed(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	err := inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, model.InsertIfAbsent("keys", named(req)...))
		if err == nil && r.Affected == 0 {
			return errTaken
		}
		return err
	})
	switch {
	case errors.Is(err, errTaken):
		return model.Answer{Status: 200, Body: "already accepted"}
	case err != nil:
		return again
	}
	var id int64
	err = inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, insertRecord(req))
		id = r.ID
		return err
	})
	if err != nil {
		return again
	}
	return model.Created(id)
}

func w03Corrected(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	var id int64
	err := inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, model.InsertIfAbsent("keys", named(req)...))
		if err != nil {
			return err
		}
		if r.Affected == 0 {
			return errTaken
		}
		r, err = tx.Do(ctx, insertRecord(req))
		id = r.ID
		return err
	})
	switch {
	case err == nil:
		return model.Created(id)
	case !errors.Is(err, errTaken):
		return again
	}
	look, err := db.Do(ctx, selectRecord(req))
	if err != nil || len(look.Rows) == 0 {
		return again
	}
	return found(look.Rows[0].Int("id"))
}

func TestW03(t *testing.T) {
	t.Parallel()
	flawed := system("w03", w03Tables(), w03Flawed)
	// Send, BEGIN, INSERT, COMMIT, crash, wait, send, BEGIN, INSERT, ROLLBACK, told.
	breaks(t, flawed, alone(t, 1, 2, "crashes", 1), props.ExactlyOneOnceTold(), 1, 11)
	// Without a crash a duplicate between the two is promised what is not there.
	breaks(t, flawed, alone(t, 2, 1, "", 0), props.ExactlyOneOnceTold(), 0, 9)
	holds(t, system("w03 corrected", w03Tables(), w03Corrected), 2, 2)
}
