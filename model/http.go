package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Server handles requests. Handle may be called from several goroutines.
type Server interface {
	Handle(ctx context.Context, req Request) Answer
}

// Request is one attempt as the server receives it.
type Request struct {
	Method string
	Path   string
	Caller string // the authenticated user or tenant
	Key    string // the Idempotency-Key header, "" if it was not sent
	Body   string
}

// String writes the request unambiguously, on one line.
func (r Request) String() string {
	s := r.Method + " " + r.Path
	if r.Caller != "" {
		s += fmt.Sprintf(" from %q", r.Caller)
	}
	if r.Key != "" {
		s += fmt.Sprintf(" key %q", r.Key)
	}
	return s + fmt.Sprintf(" body %q", r.Body)
}

// Brief names the request without its body.
func (r Request) Brief() string {
	s := r.Method + " " + r.Path
	if r.Key != "" {
		s += fmt.Sprintf(" key %q", r.Key)
	}
	return s
}

// Fingerprint is a hash of everything in a request that must be the same when
// its key is used again: method, path, caller and body. Two JSON texts for one
// value count as the same body.
func (r Request) Fingerprint() string {
	h := sha256.New()
	for _, part := range []string{r.Method, r.Path, r.Caller, string(canonical(r.Body))} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Answer is what the server sends back.
type Answer struct {
	Status int
	Body   string
	Header map[string]string // nil if there is none
}

// ReplayHeader marks an answer that repeats an earlier one.
const ReplayHeader = "Idempotent-Replayed"

// Replay is the answer with the replay mark on it.
func (a Answer) Replay() Answer {
	return Answer{Status: a.Status, Body: a.Body, Header: map[string]string{ReplayHeader: "true"}}
}

// Replayed says whether the answer has the replay mark.
func (a Answer) Replayed() bool { return a.Header[ReplayHeader] == "true" }

// String is the answer for people to read.
func (a Answer) String() string {
	var s strings.Builder
	s.WriteString(fmt.Sprintf("%d %s", a.Status, a.Body))
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		s.WriteString(fmt.Sprintf(" [%s: %s]", name, a.Header[name]))
	}
	return s.String()
}

// Key tells answers apart: equal keys mean equal answers.
func (a Answer) Key() string {
	var s strings.Builder
	s.WriteString(fmt.Sprintf("%d %q", a.Status, a.Body))
	for _, name := range slices.Sorted(maps.Keys(a.Header)) {
		s.WriteString(fmt.Sprintf(" %q: %q", name, a.Header[name]))
	}
	return s.String()
}
