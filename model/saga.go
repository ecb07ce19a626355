package model

import (
	"context"
	"errors"
)

// SagaTables is the schema of the first store of [Saga], ChargeTables that of
// the second.
var (
	SagaTables = Schema{
		{Name: "reports", Columns: []Column{{"id", Serial}, {"body", Text}, {"op", Text}, {"deleted", Int}}},
		ReportTables[1],
	}
	ChargeTables = Schema{{Name: "charges", Columns: []Column{{"id", Serial}, {"body", Text}}}}
)

// Saga files the report in one store and charges for it in another. If the
// charge fails it compensates: the report is deleted, softly, and the key freed.
// Its flaws: an error does not mean that the charge had no effect, so that the
// next attempt charges again; and a crash between the two leaves a report
// without a charge and a key that nobody frees.
type Saga struct{ Store, Bank Store }

// Handle files and charges, or undoes what it did.
func (w Saga) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	id, err := w.file(ctx, req)
	if errors.Is(err, ErrDuplicate) {
		return w.original(ctx, req)
	}
	if err != nil {
		return answerStoreError
	}
	if _, err := w.Bank.Do(ctx, Insert("charges", Set("body", req.Body))); err != nil {
		w.compensate(ctx, req)
		return answerStoreError
	}
	answer := Created(id)
	_, err = w.Store.Do(ctx, Update("keys", Set("status", done),
		Set("answer_status", answer.Status), Set("answer_body", answer.Body)).If(Eq("key", req.Key)))
	if err != nil {
		return answerStoreError
	}
	return answer
}

// file claims the key and files the report in one transaction.
func (w Saga) file(ctx context.Context, req Request) (int64, error) {
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return 0, err
	}
	if _, err := tx.Do(ctx, Insert("keys", Set("key", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", InProgress))); err != nil {
		_ = tx.Rollback(ctx)
		return 0, err
	}
	res, err := tx.Do(ctx, Insert("reports", Set("body", req.Body), Set("op", req.Key), Set("deleted", 0)))
	if err != nil {
		_ = tx.Rollback(ctx)
		return 0, err
	}
	return res.ID, tx.Commit(ctx)
}

// compensate deletes the report softly and frees the key.
func (w Saga) compensate(ctx context.Context, req Request) {
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return
	}
	_, errDelete := tx.Do(ctx, Update("reports", Set("deleted", 1)).If(Eq("op", req.Key), Eq("deleted", 0)))
	_, errFree := tx.Do(ctx, Delete("keys", Eq("key", req.Key), Eq("status", InProgress)))
	if errDelete != nil || errFree != nil {
		_ = tx.Rollback(ctx)
		return
	}
	_ = tx.Commit(ctx)
}

func (w Saga) original(ctx context.Context, req Request) Answer {
	found, err := w.Store.Do(ctx, Select("keys", Eq("key", req.Key)))
	switch {
	case err != nil || len(found.Rows) == 0:
		return answerStoreError
	case found.Rows[0].Text("fingerprint") != req.Fingerprint():
		return answerOtherBody
	case found.Rows[0].Text("status") != done:
		return answerRunning
	}
	return stored(found.Rows[0])
}
