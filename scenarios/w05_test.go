package scenarios

import (
	"context"
	"errors"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W05: a lease without a fence. A is slow, B takes over and finishes, and then A
// finishes as well. The last step asks whether the claim is still one's own.

const w05Lease = 10 * time.Second

func w05Tables() model.Schema {
	return model.Schema{records(false), byKey("keys", text("owner"), moment("lease_until"), text("state"), text("body"))}
}

var errLost = errors.New("somebody else has the claim")

// w05Claim takes the key if nobody has it, or the lease of who has it is over.
func w05Claim(env *exactlyone.Env, ctx context.Context, req model.Request, me string) error {
	now := env.Clock().Now()
	return inTx(ctx, env.Store("db"), func(tx model.Tx) error {
		lease := []model.Assign{model.Set("owner", me), model.Set("lease_until", now.Add(w05Lease))}
		r, err := tx.Do(ctx, model.InsertIfAbsent("keys", named(req, append(lease, model.Set("state", "busy"))...)...))
		if err != nil || r.Affected == 1 {
			return err
		}
		expired := mine(req, model.Eq("state", "busy"), model.Where("lease_until", "<", now))
		r, err = tx.Do(ctx, model.Update("keys", lease...).If(expired...))
		if err == nil && r.Affected == 0 {
			return errTaken
		}
		return err
	})
}

func w05(fenced bool) handler {
	return func(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
		db, me := env.Store("db"), env.NewID()
		switch err := w05Claim(env, ctx, req, me); {
		case errors.Is(err, errTaken):
			return replay(ctx, db, req)
		case err != nil:
			return again
		}
		var answer model.Answer
		err := inTx(ctx, db, func(tx model.Tx) error {
			if fenced {
				own := mine(req, model.Eq("owner", me), model.Eq("state", "busy"))
				r, err := tx.Do(ctx, model.Update("keys", model.Set("state", "done")).If(own...))
				if err != nil {
					return err
				}
				if r.Affected == 0 {
					return errLost
				}
			}
			r, err := tx.Do(ctx, insertRecord(req))
			if err != nil {
				return err
			}
			answer = model.Created(r.ID)
			_, err = tx.Do(ctx, model.Update("keys", model.Set("state", "done"), model.Set("body", answer.Body)).If(mine(req)...))
			return err
		})
		switch {
		case errors.Is(err, errLost):
			return replay(ctx, db, req)
		case err != nil:
			return again
		}
		return answer
	}
}

func w05System(name string, h handler) exactlyone.System {
	sys := system(name, w05Tables(), h)
	sys.Durations = []time.Duration{w05Lease}
	sys.Claims = func(c exactlyone.Contents) (all []exactlyone.Claim) {
		for _, row := range c.Rows("db", "keys") {
			if row.Text("state") == "busy" {
				all = append(all, exactlyone.Claim{Key: row.Text("key"), Owner: row.Text("owner")})
			}
		}
		return all
	}
	return sys
}

func TestW05(t *testing.T) {
	t.Parallel()
	flawed := w05System("w05", w05(false))
	// A: send, clock, claim (3); the clock; B: send, clock, claim (4), finish (4);
	// A: finish (4). Two answers are told besides.
	late := alone(t, 2, 1, "jumps", 1)
	breaks(t, flawed, late, props.AtMostOne(), 1, 20)
	breaks(t, flawed, late, props.SameAnswer(), 1, 22)
	// It shows as soon as A has finished (4) and B has only claimed.
	breaks(t, flawed, late, props.OvertakenCommitsNothing(), 1, 16)
	holds(t, w05System("w05 corrected", w05(true)), 2, 2)
	// A request that finishes after its deadline while nobody took over is right,
	// and there are such requests.
	overdue := false
	one := w05System("w05 alone", func(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
		start := env.Clock().Now()
		answer := w05(false)(env, ctx, req)
		late := env.Clock().Now().After(start.Add(w05Lease))
		overdue = overdue || late && answer.Status == 201
		return answer
	})
	holdsIn(t, one, alone(t, 1, 2, "jumps", 2))
	if !overdue {
		t.Error("no request finished after its deadline")
	}
}
