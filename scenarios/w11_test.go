package scenarios

import (
	"context"
	"errors"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W11: one statement outside the transaction. It goes through the pool, and so
// stays when the rest is rolled back. With one connection it waits for ever for
// the transaction that waits for it.

func w11(pool bool) handler {
	return func(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
		db := env.Store("db")
		var answer model.Answer
		err := inTx(ctx, db, func(tx model.Tx) error {
			r, err := tx.Do(ctx, model.InsertIfAbsent("keys", named(req, model.Set("state", "done"))...))
			if err != nil {
				return err
			}
			if r.Affected == 0 {
				return errTaken
			}
			insert := tx.Do
			if pool {
				insert = db.Do
			}
			if r, err = insert(ctx, insertRecord(req)); err != nil {
				return err
			}
			answer = model.Created(r.ID)
			if _, err = tx.Do(ctx, model.Insert("audit", model.Set("note", req.Key))); err != nil {
				return err
			}
			_, err = tx.Do(ctx, model.Update("keys", model.Set("body", answer.Body)).If(mine(req)...))
			return err
		})
		switch {
		case errors.Is(err, errTaken):
			return replay(ctx, db, req)
		case err != nil:
			return failed
		}
		return answer
	}
}

func TestW11(t *testing.T) {
	t.Parallel()
	tables := model.Schema{
		records(false), byKey("keys", text("state"), text("body")),
		{Name: "audit", Columns: []model.Column{{Name: "id", Kind: model.Serial}, text("note")}},
	}
	flawed := system("w11", tables, w11(true))
	sideBySide := on(flawed, exactlyone.MemoryAt(exactlyone.ReadCommitted))
	// Send, BEGIN, INSERT, INSERT, INSERT fails, told 500, wait, send, BEGIN,
	// INSERT, INSERT. A crash before the COMMIT needs no step of its own to fail.
	breaksOn(t, sideBySide, alone(t, 1, 2, "store_errors", 1), props.AtMostOne(), 1, 11)
	breaksOn(t, sideBySide, alone(t, 1, 2, "crashes", 1), props.AtMostOne(), 1, 10)
	// Send, BEGIN, INSERT: nothing can go on.
	breaks(t, flawed, alone(t, 1, 1, "", 0), props.Converges(), 0, 3)
	holds(t, system("w11 corrected", tables, w11(false)), 2, 2)
}
