package model

import (
	"bytes"
	"encoding/json"
	"strings"

	"exactlyone/retry"
)

// Agent is the layer above a client: a program, often a language model, that
// called a tool, was told that nobody knows what became of it, and calls it
// again. To the agent both calls are one operation.
type Agent string

// What an agent does when it calls again.
const (
	NewCall Agent = "new_call" // the same call under a new tool-call id
	Reword  Agent = "reword"   // under a new tool-call id, with the title in other words
)

// again is the operation as the agent submits it once more.
func (a Agent) again(op Operation) Operation {
	op.ToolUseID += "-again"
	if a == Reword {
		op.Body = strings.ReplaceAll(op.Body, op.Title, op.OtherTitle)
		op.Title = op.OtherTitle
	}
	return op
}

// Reserialised is other JSON text for the same value: the members of an object
// in reverse order, with white space. What is no JSON object stays as it is.
func Reserialised(body string) string {
	dec := json.NewDecoder(strings.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return body
	}
	var members []string
	for dec.More() {
		var value json.RawMessage
		name, err := dec.Token()
		if err != nil || dec.Decode(&value) != nil {
			return body
		}
		quoted, _ := json.Marshal(name)
		members = append([]string{string(quoted) + ": " + string(value)}, members...)
	}
	return "{ " + strings.Join(members, ", ") + " }"
}

// SameBody says whether two bodies are the same, or JSON text for one value.
func SameBody(a, b string) bool {
	return a == b || bytes.Equal(canonical(a), canonical(b))
}

// canonical is the one way to write a JSON value, and any other text as it is.
func canonical(body string) []byte {
	if c, err := retry.Canonical([]byte(body)); err == nil {
		return c
	}
	return []byte(body)
}
