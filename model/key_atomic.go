package model

import (
	"context"
	"time"

	"exactlyone/clock"
)

// KeyAtomic claims the key with a lease and a fence in one transaction, works,
// and files the report and marks the key done in another, provided that its
// claim still stands. A request whose lease ran out may be overtaken; the
// fence, a number that grows with each claim, then stops it from committing.
//
// Without its fence it is flawed: an overtaken owner that was only slow files
// a second report.
type KeyAtomic struct {
	Store   Store
	Clock   clock.Clock
	Lease   time.Duration     // how long a claim stands
	Work    time.Duration     // how long the work between claim and report takes; 0 means none
	NoFence bool              // finish without looking whether the claim still stands
	Note    func(what string) // told of a takeover and of a fenced-out owner; nil means nobody
}

// Handle files the report at most once for each key.
func (w KeyAtomic) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	fence, answer, claimed := w.claim(ctx, req)
	if !claimed {
		return answer
	}
	if w.Work > 0 && w.Clock.Sleep(ctx, w.Work) != nil {
		return answerStoreError
	}
	return w.finish(ctx, req, fence)
}

// claim takes the key. If it is not to be had, the answer says why: replayed,
// in use for another request, or running.
func (w KeyAtomic) claim(ctx context.Context, req Request) (fence int64, answer Answer, claimed bool) {
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return 0, answerStoreError, false
	}
	fence, answer, claimed = w.claimIn(ctx, tx, req)
	if !claimed {
		_ = tx.Rollback(ctx)
		return 0, answer, false
	}
	if tx.Commit(ctx) != nil {
		return 0, answerStoreError, false
	}
	return fence, Answer{}, true
}

func (w KeyAtomic) claimIn(ctx context.Context, tx Tx, req Request) (fence int64, answer Answer, claimed bool) {
	found, err := tx.Do(ctx, Select("keys", Eq("key", req.Key)))
	if err != nil {
		return 0, answerStoreError, false
	}
	if len(found.Rows) == 0 {
		_, err := tx.Do(ctx, Insert("keys",
			Set("key", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", inProgress),
			Set("fence", 1), Set("lease", w.Clock.Now().Add(w.Lease))))
		return 1, answerStoreError, err == nil
	}
	row := found.Rows[0]
	if row.Text("fingerprint") != req.Fingerprint() {
		return 0, answerOtherBody, false
	}
	if row.Text("status") == done {
		return 0, stored(row), false
	}
	now := w.Clock.Now()
	if lease, _ := row["lease"].(time.Time); !lease.Before(now) {
		return 0, answerRunning, false
	}
	_, err = tx.Do(ctx, Update("keys", Add("fence", 1), Set("lease", now.Add(w.Lease))).If(Eq("key", req.Key)))
	if err != nil {
		return 0, answerStoreError, false
	}
	w.note("takeover")
	return row.Int("fence") + 1, Answer{}, true
}

// finish files the report and marks the key done in one transaction.
func (w KeyAtomic) finish(ctx context.Context, req Request, fence int64) Answer {
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return answerStoreError
	}
	res, err := tx.Do(ctx, Insert("reports", Set("body", req.Body)))
	if err != nil {
		_ = tx.Rollback(ctx)
		return answerStoreError
	}
	answer := Created(res.ID)
	mark := Update("keys",
		Set("status", done), Set("lease", nil),
		Set("answer_status", answer.Status), Set("answer_body", answer.Body)).If(Eq("key", req.Key))
	if !w.NoFence {
		mark = mark.If(Eq("status", inProgress), Eq("fence", fence))
	}
	marked, err := tx.Do(ctx, mark)
	if err != nil {
		_ = tx.Rollback(ctx)
		return answerStoreError
	}
	if marked.Affected == 0 {
		w.note("fenced out")
		_ = tx.Rollback(ctx)
		return w.overtaken(ctx, req)
	}
	if tx.Commit(ctx) != nil {
		return answerStoreError
	}
	return answer
}

// overtaken is the answer of an owner whose claim somebody else took over.
func (w KeyAtomic) overtaken(ctx context.Context, req Request) Answer {
	found, err := w.Store.Do(ctx, Select("keys", Eq("key", req.Key)))
	if err != nil {
		return answerStoreError
	}
	if len(found.Rows) > 0 && found.Rows[0].Text("status") == done {
		return stored(found.Rows[0])
	}
	return answerRunning
}

func (w KeyAtomic) note(what string) {
	if w.Note != nil {
		w.Note(what)
	}
}
