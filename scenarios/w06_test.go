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

// W06: a lock that a past owner releases. A gives up after its deadline and
// deletes the lock that is B's by then; C comes in. A token alone is not enough:
// between looking at the clock and the insert one may still fall asleep. A unique
// constraint has the last word.

const w06Lease = 10 * time.Second

func w06Tables(unique bool) model.Schema {
	return model.Schema{records(unique), {
		Name: "locks", Columns: []model.Column{text("name"), text("token"), moment("until")}, Unique: [][]string{{"name"}},
	}}
}

// w06 is the writer: with a token on the lock, and with a unique constraint on
// the records.
func w06(token, unique bool) handler {
	return func(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
		db, me := env.Store("db"), ""
		if token {
			me = env.NewID()
		}
		start := env.Clock().Now()
		err := inTx(ctx, db, func(tx model.Tx) error {
			if _, err := tx.Do(ctx, model.Delete("locks", model.Eq("name", req.Key), model.Where("until", "<", start))); err != nil {
				return err
			}
			_, err := tx.Do(ctx, model.Insert("locks", model.Set("name", req.Key), model.Set("token", me), model.Set("until", start.Add(w06Lease))))
			return err
		})
		switch {
		case errors.Is(err, model.ErrDuplicate):
			return running
		case err != nil:
			return again
		}
		answer := w06Work(env, ctx, req, start, unique)
		release := model.Delete("locks", model.Eq("name", req.Key))
		if token {
			release.Where = append(release.Where, model.Eq("token", me))
		}
		_, _ = db.Do(ctx, release) // the lease heals what this leaves
		return answer
	}
}

func w06Work(env *exactlyone.Env, ctx context.Context, req model.Request, start time.Time, unique bool) model.Answer {
	db := env.Store("db")
	look, err := db.Do(ctx, selectRecord(req))
	switch {
	case err != nil:
		return again
	case len(look.Rows) > 0:
		return found(look.Rows[0].Int("id"))
	}
	if env.Clock().Sleep(ctx, time.Second) != nil { // slow preparation
		return again
	}
	if env.Clock().Now().After(start.Add(w06Lease)) {
		return again
	}
	insert := insertRecord(req)
	insert.OrIgnore = unique
	r, err := db.Do(ctx, insert)
	switch {
	case err != nil:
		return again
	case r.Affected == 1:
		return model.Created(r.ID)
	}
	if look, err = db.Do(ctx, selectRecord(req)); err != nil || len(look.Rows) == 0 {
		return again
	}
	return found(look.Rows[0].Int("id"))
}

func w06System(name string, token, unique bool) exactlyone.System {
	sys := system(name, w06Tables(unique), w06(token, unique))
	sys.Durations = []time.Duration{w06Lease}
	return sys
}

func TestW06(t *testing.T) {
	// A: send, clock, BEGIN, DELETE, INSERT, COMMIT, look, begin to wait; the
	// clock; B: send to look (7); A: waited, clock, DELETE; C: send to look (7); B:
	// waited, clock, INSERT; C: the same.
	late := alone(t, 3, 1, "jumps", 1)
	breaks(t, w06System("w06", false, false), late, props.AtMostOne(), 1, 8+1+7+3+7+3+3)
	// The token alone: A falls asleep between its look at the clock and the insert.
	breaks(t, w06System("w06 token", true, false), alone(t, 2, 1, "jumps", 1), props.AtMostOne(), 1, 8+2+1+7+2+1+1+1)
	holds(t, w06System("w06 corrected", true, true), 2, 1)
}
