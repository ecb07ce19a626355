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
// a second report. With a lease shorter than its work two requests overtake each
// other for ever, and nobody finishes, unless its lease is renewed: see [Claims].
type KeyAtomic struct {
	Store   Store
	Clock   clock.Clock
	Lease   time.Duration     // how long a claim stands
	Work    time.Duration     // how long the work between claim and report takes; 0 means none
	NoFence bool              // finish without looking whether the claim still stands
	Note    func(what string) // told of a takeover and of a fenced-out owner; nil means nobody

	// Partner is called between claim and report; nil means nobody. It is handed
	// the key. If the call fails, the error is the answer: with StoreErrors it is
	// stored and replayed for ever, else the claim is freed and the next attempt
	// may succeed.
	Partner     Transport
	StoreErrors bool

	// Retention is for how long a finished key is kept at least; 0 means for ever.
	// Who sweeps is a [Sweeper].
	Retention time.Duration

	// Held is where the claims of this process are noted while they are worked
	// on, for a renewer; nil means nowhere.
	Held *Claims
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
	if w.Held != nil {
		w.Held.add(req.Key, fence)
		defer w.Held.remove(req.Key, fence)
	}
	if w.Work > 0 && w.Clock.Sleep(ctx, w.Work) != nil {
		return answerStoreError
	}
	if w.Partner != nil {
		call := Request{Method: "POST", Path: "/charges", Key: req.Key, Body: req.Body}
		if _, err := w.Partner.Send(ctx, call); err != nil {
			return w.failed(ctx, req, fence)
		}
	}
	return w.finish(ctx, req, fence)
}

// failed ends a claim whose work has failed.
func (w KeyAtomic) failed(ctx context.Context, req Request, fence int64) Answer {
	mine := []Cond{Eq("key", req.Key), Eq("status", InProgress), Eq("fence", fence)}
	end := Update("keys", Set("lease", w.Clock.Now().Add(-time.Millisecond))).If(mine...)
	if w.StoreErrors {
		end = Update("keys", Set("status", done), Set("lease", nil),
			Set("answer_status", answerPartner.Status), Set("answer_body", answerPartner.Body)).If(mine...)
	}
	if _, err := w.Store.Do(ctx, end); err != nil {
		return answerStoreError
	}
	return answerPartner
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
			Set("key", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", InProgress),
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
	// The fence that was read must still be there: below serializable somebody
	// else may have taken over since.
	took, err := tx.Do(ctx, Update("keys", Add("fence", 1), Set("lease", now.Add(w.Lease))).
		If(Eq("key", req.Key), Eq("fence", row.Int("fence"))))
	switch {
	case err != nil:
		return 0, answerStoreError, false
	case took.Affected == 0:
		return 0, answerRunning, false
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
	var kept any // until when
	if w.Retention > 0 {
		kept = w.Clock.Now().Add(w.Retention)
	}
	mark := Update("keys",
		Set("status", done), Set("lease", kept),
		Set("answer_status", answer.Status), Set("answer_body", answer.Body)).If(Eq("key", req.Key))
	if !w.NoFence {
		mark = mark.If(Eq("status", InProgress), Eq("fence", fence))
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
