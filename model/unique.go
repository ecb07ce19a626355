package model

import (
	"context"
	"errors"
)

// UniqueTables is the schema of [Unique] and [CheckFirst]: the reports carry
// the key of the operation that filed them.
func UniqueTables(unique bool) Schema {
	t := Table{
		Name:    "reports",
		Columns: []Column{{"id", Serial}, {"body", Text}, {"op", Text}, {"fingerprint", Text}, {"status", Text}},
	}
	if unique {
		t.Unique = [][]string{{"op"}}
	}
	return Schema{t}
}

// Unique leaves it to a unique constraint on the operation's key that there is
// one report: it inserts, and whoever is told of a duplicate answers with the
// report that is there. Its strength: one statement, nothing to expire, and a
// statement that a driver sends twice does no harm.
//
// Staged inserts the report unfinished and finishes it in another statement, as
// a writer does that works in between. Its flaw: a crash between the two leaves
// a report that is never finished, and everybody else is told to come back.
type Unique struct {
	Store  Store
	Staged bool
}

// Handle files the report, once for each key.
func (w Unique) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	status := done
	if w.Staged {
		status = InProgress
	}
	res, err := w.Store.Do(ctx, Insert("reports",
		Set("body", req.Body), Set("op", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", status)))
	switch {
	case errors.Is(err, ErrDuplicate):
		return w.original(ctx, req)
	case err != nil:
		return answerStoreError
	}
	if w.Staged {
		if _, err := w.Store.Do(ctx, Update("reports", Set("status", done)).If(Eq("op", req.Key))); err != nil {
			return answerStoreError
		}
	}
	return Created(res.ID)
}

// original is the answer of the request that filed the report, if it is
// complete.
func (w Unique) original(ctx context.Context, req Request) Answer {
	found, err := w.Store.Do(ctx, Select("reports", Eq("op", req.Key)))
	if err != nil || len(found.Rows) == 0 {
		return answerStoreError
	}
	return filed(found.Rows[0], req)
}

// filed is the answer of a report that is there.
func filed(row Row, req Request) Answer {
	switch {
	case row.Text("fingerprint") != req.Fingerprint():
		return answerOtherBody
	case row.Text("status") != done:
		return answerRunning
	}
	return Created(row.Int("id")).Replay()
}
