package scenarios

import (
	"context"
	"testing"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/sqlitestore"
)

// W01: look, then insert. Two requests at once both look before either has
// inserted. A unique constraint instead, and reading what is there.

func w01Flawed(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	look, err := db.Do(ctx, selectRecord(req))
	if err != nil {
		return again
	}
	if len(look.Rows) > 0 {
		return found(look.Rows[0].Int("id"))
	}
	done, err := db.Do(ctx, insertRecord(req))
	if err != nil {
		return again
	}
	return model.Created(done.ID)
}

func w01Corrected(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	db := env.Store("db")
	done, err := db.Do(ctx, model.InsertIfAbsent("records", recordOf(req)...))
	if err != nil {
		return again
	}
	if done.Affected == 1 {
		return model.Created(done.ID)
	}
	look, err := db.Do(ctx, selectRecord(req))
	if err != nil || len(look.Rows) == 0 {
		return again
	}
	return found(look.Rows[0].Int("id"))
}

// w01InTx is the flawed writer in one transaction.
func w01InTx(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	var answer model.Answer
	err := inTx(ctx, env.Store("db"), func(tx model.Tx) error {
		look, err := tx.Do(ctx, selectRecord(req))
		if err != nil {
			return err
		}
		if len(look.Rows) > 0 {
			answer = found(look.Rows[0].Int("id"))
			return nil
		}
		done, err := tx.Do(ctx, insertRecord(req))
		answer = model.Created(done.ID)
		return err
	})
	if err != nil {
		return again
	}
	return answer
}

// w01Uncaught has the constraint, and answers 500 when it forbids the insert.
func w01Uncaught(env *exactlyone.Env, ctx context.Context, req model.Request) model.Answer {
	answer := w01Flawed(env, ctx, req)
	if answer.Status == again.Status {
		return failed
	}
	return answer
}

func TestW01(t *testing.T) {
	t.Parallel()
	flawed := system("w01", model.Schema{records(false)}, w01Flawed)
	click := alone(t, 2, 1, "", 0)
	// A sends, A1, B sends, B1, A3, B3; the two answers are told besides.
	breaks(t, flawed, click, props.AtMostOne(), 0, 6)
	breaks(t, flawed, click, props.SameAnswer(), 0, 8)
	// One transaction does not help where others run beside it. Look and insert
	// are as above; each request has BEGIN and COMMIT besides.
	inTx := system("w01 in a transaction", model.Schema{records(false)}, w01InTx)
	breaksOn(t, on(inTx, exactlyone.MemoryAt(exactlyone.ReadCommitted)), click, props.AtMostOne(), 0, 6+4)
	// On SQLite it does; and busy, answered 503 and tried again, is no violation.
	holdsIn(t, on(inTx, sqlitestore.Open), alone(t, 2, 2, "store_errors", 1))
	// The constraint alone: A sends, A1, B sends, B1, A3, B3 errs, B is told 500.
	breaks(t, system("w01 uncaught", model.Schema{records(true)}, w01Uncaught), click, cleanAnswer(), 0, 7)
	holds(t, system("w01 corrected", model.Schema{records(true)}, w01Corrected), 2, 2)
}
