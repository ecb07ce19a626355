package scenarios

import (
	"context"
	"errors"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W02: effect first, mark later. A crash between the two commits, and a retry.
// Both in one transaction, the mark first.

func w02Tables() model.Schema {
	return model.Schema{records(false), byKey("keys", number("record_id"))}
}

func w02Flawed(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	look, err := db.Do(ctx, model.Select("keys", mine(req)...))
	if err != nil {
		return again
	}
	if len(look.Rows) > 0 {
		return found(look.Rows[0].Int("record_id"))
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
	err = inTx(ctx, db, func(tx model.Tx) error {
		_, err := tx.Do(ctx, model.Insert("keys", named(req, model.Set("record_id", id))...))
		return err
	})
	if err != nil {
		return again
	}
	return model.Created(id)
}

var errTaken = errors.New("the key is taken")

func w02Corrected(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
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
		if r, err = tx.Do(ctx, insertRecord(req)); err != nil {
			return err
		}
		id = r.ID
		_, err = tx.Do(ctx, model.Update("keys", model.Set("record_id", id)).If(mine(req)...))
		return err
	})
	switch {
	case err == nil:
		return model.Created(id)
	case !errors.Is(err, errTaken):
		return again
	}
	look, err := db.Do(ctx, model.Select("keys", mine(req)...))
	if err != nil || len(look.Rows) == 0 {
		return again
	}
	return found(look.Rows[0].Int("record_id"))
}

func TestW02(t *testing.T) {
	t.Parallel()
	// Send, look, BEGIN, INSERT, COMMIT, crash, wait, and the first five again.
	breaks(t, system("w02", w02Tables(), w02Flawed), alone(t, 1, 2, "crashes", 1), props.AtMostOne(), 1, 12)
	holds(t, system("w02 corrected", w02Tables(), w02Corrected), 2, 2)
}
