package model

import "context"

// CheckFirst looks whether the report is there, and inserts it if not. Its flaw:
// two requests that both look before either has inserted file two reports. No
// fault is needed, and a transaction around both does not help below
// serializable.
type CheckFirst struct {
	Store Store
	Tx    bool // look and insert in one transaction
}

// Handle files the report unless one with its key is there.
func (w CheckFirst) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	if !w.Tx {
		answer, _ := w.look(ctx, req, w.Store.Do)
		return answer
	}
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return answerStoreError
	}
	answer, err := w.look(ctx, req, tx.Do)
	if err != nil {
		_ = tx.Rollback(ctx)
		return answer
	}
	if tx.Commit(ctx) != nil {
		return answerStoreError
	}
	return answer
}

func (w CheckFirst) look(ctx context.Context, req Request, do func(context.Context, Stmt) (Result, error)) (Answer, error) {
	found, err := do(ctx, Select("reports", Eq("op", req.Key)))
	if err != nil {
		return answerStoreError, err
	}
	if len(found.Rows) > 0 {
		return filed(found.Rows[0], req), nil
	}
	res, err := do(ctx, Insert("reports",
		Set("body", req.Body), Set("op", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", done)))
	if err != nil {
		return answerStoreError, err
	}
	return Created(res.ID), nil
}
