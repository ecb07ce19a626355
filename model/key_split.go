package model

import "context"

// KeySplit looks the key up, files the report in one transaction and registers
// the key in another. Its flaws: two requests that both look before either has
// registered file two reports, and so does a crash between the two commits.
type KeySplit struct{ Store Store }

// Handle files the report unless the key is registered.
func (w KeySplit) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	found, err := w.Store.Do(ctx, Select("keys", Eq("key", req.Key)))
	if err != nil {
		return answerStoreError
	}
	if len(found.Rows) > 0 {
		if found.Rows[0].Text("fingerprint") != req.Fingerprint() {
			return answerOtherBody
		}
		return stored(found.Rows[0])
	}
	id, err := w.file(ctx, req)
	if err != nil {
		return answerStoreError
	}
	answer := Created(id)
	if err := w.register(ctx, req, answer); err != nil {
		return answerStoreError
	}
	return answer
}

func (w KeySplit) file(ctx context.Context, req Request) (int64, error) {
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return 0, err
	}
	res, err := tx.Do(ctx, Insert("reports", Set("body", req.Body)))
	if err != nil {
		_ = tx.Rollback(ctx)
		return 0, err
	}
	return res.ID, tx.Commit(ctx)
}

func (w KeySplit) register(ctx context.Context, req Request, answer Answer) error {
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return err
	}
	_, err = tx.Do(ctx, InsertIfAbsent("keys",
		Set("key", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", done),
		Set("answer_status", answer.Status), Set("answer_body", answer.Body)))
	if err != nil {
		_ = tx.Rollback(ctx)
		return err
	}
	return tx.Commit(ctx)
}
