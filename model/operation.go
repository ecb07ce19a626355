package model

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"exactlyone/retry"
)

// Operation is one logical submit, e.g. "file this bug report". It must end as
// exactly one effect, however many attempts carry it.
type Operation struct {
	Name   string // how reports call it; "" means "the operation"
	Method string // "" means POST
	Path   string
	Caller string
	Body   string

	// What the client's key is made of, by key source.
	RunID, ToolUseID string // tool_call
	Module, Title    string // business, with RunID

	OtherTitle string // the title as an agent words it the second time; Body holds Title
}

// KeySource says how a client derives the Idempotency-Key of an attempt.
type KeySource string

// The key sources.
const (
	KeyNone       KeySource = "none"        // no key is sent
	KeyPerAttempt KeySource = "per_attempt" // a new UUID each try
	KeyToolCall   KeySource = "tool_call"   // run_id:tool_use_id
	KeyBusiness   KeySource = "business"    // hash of run, module, normalised title
)

// KeySources lists them all.
var KeySources = []KeySource{KeyNone, KeyPerAttempt, KeyToolCall, KeyBusiness}

// ParseKeySource is the key source of that name.
func ParseKeySource(name string) (KeySource, error) {
	for _, k := range KeySources {
		if string(k) == name {
			return k, nil
		}
	}
	return "", fmt.Errorf("key source %q: one of none, per_attempt, tool_call, business was expected", name)
}

// Key is the key for one attempt of op; newID is called only by per_attempt.
func (k KeySource) Key(op Operation, newID func() string) string {
	switch k {
	case KeyPerAttempt:
		return newID()
	case KeyToolCall:
		return retry.ToolCallKey(op.RunID, op.ToolUseID)
	case KeyBusiness:
		sum := sha256.Sum256([]byte(op.RunID + "\x00" + op.Module + "\x00" + NormalTitle(op.Title)))
		return hex.EncodeToString(sum[:8])
	}
	return ""
}

// NormalTitle is a title in lower case, its words separated by single spaces,
// without punctuation: what two wordings of one report most likely share.
func NormalTitle(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	return strings.Join(words, " ")
}

// request is the attempt that carries op under a key.
func (op Operation) request(key string) Request {
	method := op.Method
	if method == "" {
		method = "POST"
	}
	return Request{Method: method, Path: op.Path, Caller: op.Caller, Key: key, Body: op.Body}
}
