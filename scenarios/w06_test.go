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

// w06Variant is how far the writer is corrected.
type w06Variant struct {
	token  bool // on the lock
	unique bool // a constraint on the records
	guard  bool // the clock is read and the record inserted in one transaction
}

// w06 is the writer.
func w06(how w06Variant) handler {
	return func(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
		db, me := env.Store("db"), ""
		if how.token {
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
		answer := w06Work(env, ctx, req, start, how)
		release := model.Delete("locks", model.Eq("name", req.Key))
		if how.token {
			release.Where = append(release.Where, model.Eq("token", me))
		}
		_, _ = db.Do(ctx, release) // the lease heals what this leaves
		return answer
	}
}

func w06Work(env *exactlyone.Env, ctx context.Context, req model.Request, start time.Time, how w06Variant) model.Answer {
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
	insert := insertRecord(req)
	insert.OrIgnore = how.unique
	var r model.Result
	inTime := func(do func(context.Context, model.Stmt) (model.Result, error)) error {
		if env.Clock().Now().After(start.Add(w06Lease)) {
			return errLost
		}
		var err error
		r, err = do(ctx, insert)
		return err
	}
	if how.guard {
		err = inTx(ctx, db, func(tx model.Tx) error { return inTime(tx.Do) })
	} else {
		err = inTime(db.Do)
	}
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

func w06System(name string, how w06Variant) exactlyone.System {
	sys := system(name, w06Tables(how.unique), w06(how))
	sys.Durations = []time.Duration{w06Lease}
	return sys
}

func TestW06(t *testing.T) {
	t.Parallel()
	// A: send, clock, BEGIN, DELETE, INSERT, COMMIT, look, begin to wait; the
	// clock; B: send to look (7); A: waited, clock, DELETE; C: send to look (7); B:
	// waited, clock, INSERT; C: the same.
	late := alone(t, 3, 1, "jumps", 1)
	stated := 8 + 1 + 7 + 3 + 7 + 3 + 3
	breaks(t, w06System("w06", w06Variant{}), late, props.AtMostOne(), 1, stated)
	// The token alone: A falls asleep between its look at the clock and the insert.
	token := w06System("w06 token", w06Variant{token: true})
	breaks(t, token, alone(t, 2, 1, "jumps", 1), props.AtMostOne(), 1, 8+2+1+7+2+1+1+1)
	// That is also the smallest story of the first. Where nobody comes between the
	// clock and the insert, on a store with one transaction at a time, only what A
	// releases is left. It takes three: B and C have BEGIN and COMMIT besides, and
	// both begin to wait.
	released := w06System("w06 released", w06Variant{guard: true})
	breaks(t, released, late, props.AtMostOne(), 1, stated+2*2+2)
	holdsIn(t, released, alone(t, 2, 1, "jumps", 1))
	holdsIn(t, w06System("w06 token and guard", w06Variant{token: true, guard: true}), late)
	// Within default bounds, with two jumps, it holds as well: 4 million states.
	holds(t, w06System("w06 corrected", w06Variant{token: true, unique: true}), 2, 1)
}
