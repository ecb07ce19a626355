package scenarios

import (
	"context"
	"errors"
	"slices"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
)

// W09: a key that is not tied to its payload. It is used again for another one,
// which is told the answer of the first. A fingerprint is stored with the key.

func w09Tables() model.Schema {
	return model.Schema{records(false), byKey("keys", text("state"), text("body"), text("fingerprint"))}
}

func w09(check bool) handler {
	return func(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
		db := env.Store("db")
		var answer model.Answer
		err := inTx(ctx, db, func(tx model.Tx) error {
			set := named(req, model.Set("state", "done"), model.Set("fingerprint", req.Fingerprint()))
			r, err := tx.Do(ctx, model.InsertIfAbsent("keys", set...))
			if err != nil {
				return err
			}
			if r.Affected == 0 {
				look, err := tx.Do(ctx, model.Select("keys", mine(req)...))
				if err != nil {
					return err
				}
				if check && look.Rows[0].Text("fingerprint") != req.Fingerprint() {
					answer = mismatch
					return errTaken
				}
				answer = model.Answer{Status: 201, Body: look.Rows[0].Text("body")}
				return nil
			}
			if r, err = tx.Do(ctx, insertRecord(req)); err != nil {
				return err
			}
			answer = model.Created(r.ID)
			_, err = tx.Do(ctx, model.Update("keys", model.Set("body", answer.Body)).If(mine(req)...))
			return err
		})
		if err != nil && !errors.Is(err, errTaken) {
			return again
		}
		return answer
	}
}

// reused are two clients that use one key for two payloads.
func reused(sys exactlyone.System) exactlyone.System {
	one := sys.Client
	sys.Client = func(i int) model.Client {
		c := one(i)
		if i == 1 {
			c.Operation.Name, c.Operation.Body = "the other request", `{"amount":99}`
		}
		return c
	}
	return sys
}

func TestW09(t *testing.T) {
	t.Parallel()
	flawed := reused(system("w09", w09Tables(), w09(false)))
	calm := alone(t, 2, 1, "", 0)
	// Send, BEGIN, INSERT, INSERT, UPDATE, COMMIT; send, BEGIN, INSERT, SELECT,
	// COMMIT, told; the first is told as well.
	breaks(t, flawed, calm, props.AcknowledgedExists(), 0, 12)
	breaks(t, flawed, calm, props.KeyReuseRefused(), 0, 13)
	corrected := system("w09 corrected", w09Tables(), w09(true))
	holds(t, reused(corrected), 2, 2)
	// The same JSON value in other words is a replay, and no second execution.
	one := corrected.Client
	corrected.Client = func(i int) model.Client {
		c := one(i)
		c.Reserialise = true
		return c
	}
	holds(t, corrected, 1, 2)
	// Callers have keys of their own here: the same key from another one is another
	// request. All properties allow that but one, which takes keys to be global.
	tenants := system("w09 tenants", w09Tables(), w09(true))
	tenants.Client = func(i int) model.Client {
		c := one(i)
		if i == 1 {
			c.Operation.Name, c.Operation.Caller, c.Operation.Body = "the other request", "umbrella", `{"amount":99}`
		}
		return c
	}
	tenants.Properties = slices.DeleteFunc(props.Pack(), func(p props.Property) bool { return p.Name == props.KeyReuseRefused().Name })
	holdsIn(t, tenants, alone(t, 2, 2, "crashes", 1), alone(t, 2, 2, "duplicates", 1))
	// Send, BEGIN, INSERT, INSERT, UPDATE, COMMIT, told, twice.
	breaks(t, tenants, calm, props.KeyReuseRefused(), 0, 14)
}
