package model

import (
	"context"
	"errors"
)

// OutboxTables is the schema of [Outbox], beside [MailTables].
var OutboxTables = append(ReportTables[:len(ReportTables):len(ReportTables)], Table{
	Name:    "outbox",
	Columns: []Column{{"id", Serial}, {"report", Int}, {"body", Text}, {"sent", Int}},
})

// MailTables is where the messages of an [Outbox] arrive. The consumer sees a
// message once for each row.
func MailTables(dedup bool) Schema {
	t := Table{Name: "messages", Columns: []Column{{"report", Int}, {"body", Text}}}
	if dedup {
		t.Unique = [][]string{{"report"}}
	}
	return Schema{t}
}

// Outbox files the report, marks the key done, and writes down that a message is
// to be sent, in one transaction. A relay sends what is written down, and then
// marks it sent. Its strength: no report without a message, and no message
// without a report. A crash of the relay between the two makes it send again, so
// the consumer must drop what it has seen: Dedup.
type Outbox struct {
	Store Store
	Mail  Store
	Dedup bool // the consumer drops messages that it has seen
}

// Handle files the report once for each key.
func (w Outbox) Handle(ctx context.Context, req Request) Answer {
	if req.Key == "" {
		return answerNoKey
	}
	tx, err := w.Store.Begin(ctx)
	if err != nil {
		return answerStoreError
	}
	answer, err := w.file(ctx, tx, req)
	if err != nil {
		_ = tx.Rollback(ctx)
		if errors.Is(err, ErrDuplicate) {
			return w.original(ctx, req)
		}
		return answerStoreError
	}
	if tx.Commit(ctx) != nil {
		return answerStoreError
	}
	return answer
}

// file takes the key first: whoever comes second learns it before anything else
// is done.
func (w Outbox) file(ctx context.Context, tx Tx, req Request) (Answer, error) {
	if _, err := tx.Do(ctx, Insert("keys", Set("key", req.Key), Set("fingerprint", req.Fingerprint()), Set("status", done))); err != nil {
		return Answer{}, err
	}
	res, err := tx.Do(ctx, Insert("reports", Set("body", req.Body)))
	if err != nil {
		return Answer{}, err
	}
	answer := Created(res.ID)
	if _, err := tx.Do(ctx, Insert("outbox", Set("report", res.ID), Set("body", req.Body), Set("sent", 0))); err != nil {
		return Answer{}, err
	}
	_, err = tx.Do(ctx, Update("keys", Set("answer_status", answer.Status), Set("answer_body", answer.Body)).If(Eq("key", req.Key)))
	return answer, err
}

func (w Outbox) original(ctx context.Context, req Request) Answer {
	found, err := w.Store.Do(ctx, Select("keys", Eq("key", req.Key)))
	switch {
	case err != nil || len(found.Rows) == 0:
		return answerStoreError
	case found.Rows[0].Text("fingerprint") != req.Fingerprint():
		return answerOtherBody
	}
	return stored(found.Rows[0])
}

// Relay sends what was not sent yet. It gives up at the first error: the next
// round tries again.
func (w Outbox) Relay(ctx context.Context) {
	waiting, err := w.Store.Do(ctx, Select("outbox", Eq("sent", 0)))
	if err != nil {
		return
	}
	for _, row := range waiting.Rows {
		set := []Assign{Set("report", row.Int("report")), Set("body", row.Text("body"))}
		send := Insert("messages", set...)
		if w.Dedup {
			send = InsertIfAbsent("messages", set...)
		}
		if _, err := w.Mail.Do(ctx, send); err != nil {
			return
		}
		if _, err := w.Store.Do(ctx, Update("outbox", Set("sent", 1)).If(Eq("id", row.Int("id")))); err != nil {
			return
		}
	}
}
