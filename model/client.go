package model

import (
	"context"
	"errors"
	"time"

	"exactlyone/clock"
	"exactlyone/retry"
)

// Transport carries one request to a server and its answer back. An error
// means that the client does not know what happened: the request may or may
// not have been carried out.
type Transport interface {
	Send(ctx context.Context, req Request) (Answer, error)
}

// Errors of a [Transport].
var (
	// ErrConnection means that the server went away.
	ErrConnection error = &retry.Error{Class: retry.Class{Kind: retry.KindUpstream}, Err: errors.New("connection closed")}
	// ErrTimeout means that nothing came back in time.
	ErrTimeout error = &retry.Error{Class: retry.Class{Kind: retry.KindTimeout}, Err: errors.New("timeout")}
)

// Client submits one operation, trying again while it cannot know or is told
// to come back later. The zero value of each field but Operation is usable.
type Client struct {
	Operation Operation
	Key       KeySource     // "" means none
	Attempts  int           // at most so many requests; 0 means 1
	Backoff   time.Duration // before the first retry, doubled for each further one; 0 means no wait

	MaxBackoff time.Duration // no wait is longer; 0 means no cap

	// Agent is what an agent above the client does when it does not know how the
	// operation ended; "" means nothing.
	Agent Agent

	// Reserialise sends the body of each further attempt as other JSON text for
	// the same value.
	Reserialise bool

	// Policy makes the policy by which the client retries, with the rules of
	// package retry: what may have been carried out is tried again only if the
	// method of the operation or a key makes that harmless, and all attempts
	// carry one key, whatever the key source. It is called at the begin of each
	// run, so that a budget begins full; its Clock is set, and its Attempts and
	// Backoff where they are zero. Nil means the simple client that Run
	// describes.
	Policy func() retry.Policy
}

// Outcome is what a client knows at the end.
type Outcome struct {
	Kind   OutcomeKind
	Answer Answer // the final answer, if there was one
}

// OutcomeKind is one of success, refused, unknown.
type OutcomeKind string

// The kinds of outcome.
const (
	Success OutcomeKind = "success" // a 2xx answer
	Refused OutcomeKind = "refused" // another final answer: the operation was turned down
	Unknown OutcomeKind = "unknown" // out of attempts: it may or may not have happened
)

// Run submits the operation, and if it does not know how that ended lets the
// agent above it submit once more.
func (c Client) Run(ctx context.Context, tr Transport, clk clock.Clock, newID func() string) Outcome {
	out := c.submit(ctx, tr, clk, newID)
	if out.Kind == Unknown && c.Agent != "" {
		c.Operation = c.Agent.again(c.Operation)
		out = c.submit(ctx, tr, clk, newID)
	}
	return out
}

// submit submits the operation. Connection errors, time-outs and the answers for
// which [Retried] holds lead to another attempt after a wait on clk; any other
// answer is final. newID makes a fresh unique id.
func (c Client) submit(ctx context.Context, tr Transport, clk clock.Clock, newID func() string) Outcome {
	policy, call := c.plain()
	key := func(retry.Attempt) string { return c.Key.Key(c.Operation, newID) }
	if c.Policy != nil {
		policy, call = c.careful(newID)
		key = func(a retry.Attempt) string { return a.Key }
	}
	policy.Clock = clk
	var last Answer
	out := retry.Do(ctx, policy, call, func(ctx context.Context, a retry.Attempt) retry.Result {
		req := c.Operation.request(key(a))
		if c.Reserialise && a.N > 1 {
			req.Body = Reserialised(req.Body)
		}
		answer, err := tr.Send(ctx, req)
		last = answer
		return retry.Result{Status: answer.Status, RetryAfter: answer.Header["Retry-After"], Err: err}
	})
	switch {
	case out.Kind == retry.Success:
		return Outcome{Kind: Success, Answer: last}
	case c.Policy == nil && out.Stop == retry.StopFinal, c.Policy != nil && out.Kind == retry.Refused:
		return Outcome{Kind: Refused, Answer: last}
	}
	return Outcome{Kind: Unknown}
}

// Bodies are all the bodies that the client may send for its operation.
func (c Client) Bodies() []string {
	bodies := []string{c.Operation.Body}
	if c.Agent != "" {
		bodies = append(bodies, c.Agent.again(c.Operation).Body)
	}
	if c.Reserialise {
		for _, b := range bodies {
			bodies = append(bodies, Reserialised(b))
		}
	}
	return bodies
}

// MayRepeat says whether the client may submit its operation once more, in
// another run: always, unless it has a policy and neither the method nor a key
// makes that harmless.
func (c Client) MayRepeat() bool {
	call := retry.MethodCall(c.Operation.request("").Method)
	return c.Policy == nil || call.Safe || call.Idempotent || c.Key == KeyToolCall || c.Key == KeyBusiness
}

// plain is the simple client: it takes every operation for one that may be
// repeated, and learns from a final answer whatever came before it.
func (c Client) plain() (retry.Policy, retry.Call) {
	return retry.Policy{
		Attempts:      c.Attempts,
		Backoff:       retry.Backoff{Strategy: retry.Exponential, Base: c.Backoff, Cap: c.MaxBackoff},
		MaxRetryAfter: -1,
		Classify: func(_ retry.Call, r retry.Result) retry.Class {
			switch {
			case r.Err != nil || Retried(r.Status):
				return retry.Class{Kind: retry.KindRetryable}
			case r.Status >= 200 && r.Status < 300:
				return retry.Class{Kind: retry.KindOK}
			}
			return retry.Class{Kind: retry.KindNonRetryable}
		},
	}, retry.Call{Idempotent: true}
}

// careful is the client with a policy.
func (c Client) careful(newID func() string) (retry.Policy, retry.Call) {
	p := c.Policy()
	if p.Attempts == 0 {
		p.Attempts = c.Attempts
	}
	if p.Backoff == (retry.Backoff{}) {
		p.Backoff = retry.Backoff{Strategy: retry.Exponential, Base: c.Backoff, Cap: c.MaxBackoff}
	}
	call := retry.MethodCall(c.Operation.request("").Method)
	if c.Key != "" && c.Key != KeyNone {
		call.NewKey = func() string { return c.Key.Key(c.Operation, newID) }
	}
	return p, call
}

// Retried says whether an answer asks the client to try again: 409 (another
// attempt is running), 429, 500, 502, 503, 504.
func Retried(status int) bool {
	switch status {
	case 409, 429, 500, 502, 503, 504:
		return true
	}
	return false
}
