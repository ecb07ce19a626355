package scenarios

import (
	"context"
	"errors"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/sqlitestore"
)

// W07: an error of COMMIT is taken for a rollback. The claim is freed although
// the record is there. The corrected variant has the owner, lease and fence of
// W05, reads the key after a commit error, and frees only what is still its own.

func w07Tables() model.Schema {
	return model.Schema{records(false), byKey("keys", text("state"), text("body"))}
}

func w07Flawed(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	err := inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, model.InsertIfAbsent("keys", named(req, model.Set("state", "busy"))...))
		if err != nil || r.Affected == 1 {
			return err
		}
		r, err = tx.Do(ctx, model.Update("keys", model.Set("state", "busy")).If(mine(req, model.Eq("state", "failed"))...))
		if err == nil && r.Affected == 0 {
			return errTaken
		}
		return err
	})
	switch {
	case errors.Is(err, errTaken):
		return replay(ctx, db, req)
	case err != nil:
		return again
	}
	var answer model.Answer
	err = inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, insertRecord(req))
		if err != nil {
			return err
		}
		answer = model.Created(r.ID)
		_, err = tx.Do(ctx, model.Update("keys", model.Set("state", "done"), model.Set("body", answer.Body)).If(mine(req)...))
		return err
	})
	if err != nil {
		_, _ = db.Do(ctx, model.Update("keys", model.Set("state", "failed")).If(mine(req)...))
		return failed
	}
	return answer
}

func w07Corrected(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db, me := env.Store("db"), env.NewID()
	switch err := w07Claim(env, ctx, req, me); {
	case errors.Is(err, errTaken):
		return replay(ctx, db, req)
	case err != nil:
		return again
	}
	own := mine(req, model.Eq("owner", me), model.Eq("state", "busy"))
	var answer model.Answer
	err := inTx(ctx, db, func(tx model.Tx) error {
		r, err := tx.Do(ctx, model.Update("keys", model.Set("state", "done")).If(own...))
		if err != nil {
			return err
		}
		if r.Affected == 0 {
			return errLost
		}
		if r, err = tx.Do(ctx, insertRecord(req)); err != nil {
			return err
		}
		answer = model.Created(r.ID)
		_, err = tx.Do(ctx, model.Update("keys", model.Set("body", answer.Body)).If(mine(req)...))
		return err
	})
	if err == nil {
		return answer
	}
	if errors.Is(err, errLost) {
		return replay(ctx, db, req)
	}
	if a := replay(ctx, db, req); a.Status == 201 {
		return a
	}
	_, _ = db.Do(ctx, model.Update("keys", model.Set("state", "failed")).If(own...)) // the lease heals it else
	return again
}

// w07Claim is w05Claim, which also takes what has failed.
func w07Claim(env *exactlyone.Env, ctx context.Context, req model.Request, me string) error {
	now := env.Clock().Now()
	return inTx(ctx, env.Store("db"), func(tx model.Tx) error {
		lease := []model.Assign{model.Set("owner", me), model.Set("lease_until", now.Add(w05Lease)), model.Set("state", "busy")}
		r, err := tx.Do(ctx, model.InsertIfAbsent("keys", named(req, lease...)...))
		if err != nil || r.Affected == 1 {
			return err
		}
		for _, free := range []model.Cond{model.Eq("state", "failed"), model.Where("lease_until", "<", now)} {
			r, err := tx.Do(ctx, model.Update("keys", lease...).If(mine(req, model.Where("state", "<>", "done"), free)...))
			if err != nil || r.Affected == 1 {
				return err
			}
		}
		return errTaken
	})
}

func TestW07(t *testing.T) {
	t.Parallel()
	flawed := system("w07", w07Tables(), w07Flawed)
	// Send, claim (3), BEGIN, INSERT, UPDATE, COMMIT errs, UPDATE, told 500, wait,
	// send, claim (4), BEGIN, INSERT, UPDATE, COMMIT.
	lost := alone(t, 1, 2, "commit_faults", 1)
	breaksOn(t, on(flawed, exactlyone.Memory), lost, props.AtMostOne(), 1, 20)
	breaksOn(t, on(flawed, exactlyone.MemoryAt(exactlyone.ReadCommitted)), lost, props.AtMostOne(), 1, 20)
	// An embedded database loses no answer: what its COMMIT says is so.
	holdsIn(t, on(flawed, sqlitestore.Open), lost)
	holds(t, w05System("w07 corrected", w07Corrected), 2, 2)
}
