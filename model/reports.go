package model

import (
	"fmt"
	"strings"
)

// ReportTables is the schema of the built-in writers: the reports, which are
// the effects, and the idempotency keys.
var ReportTables = Schema{
	{
		Name:    "reports",
		Columns: []Column{{"id", Serial}, {"body", Text}},
	},
	{
		Name: "keys",
		Columns: []Column{
			{"key", Text},
			{"fingerprint", Text},
			{"status", Text},
			{"fence", Int},
			{"lease", Time},
			{"answer_status", Int},
			{"answer_body", Text},
		},
		Unique: [][]string{{"key"}},
	},
}

// InProgress is the status of a key that somebody has claimed, done that of one
// whose report is filed.
const (
	InProgress = "in_progress"
	done       = "done"
)

// Created is the answer to a report that was filed under id.
func Created(id int64) Answer {
	return Answer{Status: 201, Body: fmt.Sprintf(`{"id":%d}`, id)}
}

// CreatedID is the id that a [Created] answer names, "" if it names none.
func CreatedID(a Answer) string {
	id, ok := strings.CutPrefix(a.Body, `{"id":`)
	if !ok {
		return ""
	}
	return strings.TrimSuffix(id, "}")
}

// Refusals of the Idempotency-Key header field draft
// (draft-ietf-httpapi-idempotency-key-header), and the answer of a server
// whose store failed it.
var (
	answerNoKey      = Answer{Status: 400, Body: `{"error":"Idempotency-Key is missing"}`}
	answerOtherBody  = Answer{Status: 422, Body: `{"error":"Idempotency-Key was used for another request"}`}
	answerRunning    = Answer{Status: 409, Body: `{"error":"a request with this Idempotency-Key is running"}`}
	answerPartner    = Answer{Status: 502, Body: `{"error":"the partner cannot be reached"}`}
	answerStoreError = Answer{Status: 503, Body: `{"error":"try again"}`}
)

// stored is the answer kept in a row of keys, marked as a replay.
func stored(row Row) Answer {
	return Answer{Status: int(row.Int("answer_status")), Body: row.Text("answer_body")}.Replay()
}
