package model

import (
	"context"
	"errors"
)

// Downstream calls a third party, and then files the report and marks the key
// done in one transaction. It hands its own key on. Its strength: with a third
// party that honours the key it may call again whenever it does not know. Its
// flaw: one that ignores the key charges again.
type Downstream struct {
	Store Store
	Bank  Transport
}

// Handle charges and files once for each key, as far as the third party helps.
func (w Downstream) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	found, err := w.Store.Do(ctx, Select("keys", Eq("key", req.Key)))
	if err != nil {
		return answerStoreError
	}
	if len(found.Rows) > 0 {
		return w.original(found.Rows[0], req)
	}
	charge := Request{Method: "POST", Path: "/charges", Key: req.Key, Body: req.Body}
	if _, err := w.Bank.Send(ctx, charge); err != nil {
		return answerStoreError
	}
	answer, err := w.file(ctx, req)
	switch {
	case errors.Is(err, ErrDuplicate):
		if found, err = w.Store.Do(ctx, Select("keys", Eq("key", req.Key))); err != nil || len(found.Rows) == 0 {
			return answerStoreError
		}
		return w.original(found.Rows[0], req)
	case err != nil:
		return answerStoreError
	}
	return answer
}

func (w Downstream) file(ctx context.Context, req Request) (Answer, error) {
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return Answer{}, err
	}
	res, err := tx.Do(ctx, Insert("reports", Set("body", req.Body)))
	if err != nil {
		_ = tx.Rollback(ctx)
		return Answer{}, err
	}
	answer := Created(res.ID)
	_, err = tx.Do(ctx, Insert("keys",
		Set("key", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", done),
		Set("answer_status", answer.Status), Set("answer_body", answer.Body)))
	if err != nil {
		_ = tx.Rollback(ctx)
		return Answer{}, err
	}
	return answer, tx.Commit(ctx)
}

func (w Downstream) original(row Row, req Request) Answer {
	if row.Text("fingerprint") != req.Fingerprint() {
		return answerOtherBody
	}
	return stored(row)
}
