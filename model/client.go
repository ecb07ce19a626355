package model

import (
	"context"
	"errors"
	"time"

	"exactlyone/clock"
)

// Transport carries one request to a server and its answer back. An error
// means that the client does not know what happened: the request may or may
// not have been carried out.
type Transport interface {
	Send(ctx context.Context, req Request) (Answer, error)
}

// Errors of a [Transport].
var (
	ErrConnection = errors.New("connection closed") // the server went away
	ErrTimeout    = errors.New("timeout")           // nothing came back in time
)

// Client submits one operation, trying again while it cannot know or is told
// to come back later. The zero value of each field but Operation is usable.
type Client struct {
	Operation Operation
	Key       KeySource     // "" means none
	Attempts  int           // at most so many requests; 0 means 1
	Backoff   time.Duration // before the first retry, doubled for each further one; 0 means no wait
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

// Run submits the operation. Connection errors, time-outs and the answers for
// which [Retried] holds lead to another attempt after a wait on clk; any other
// answer is final. newID makes a fresh unique id.
func (c Client) Run(ctx context.Context, tr Transport, clk clock.Clock, newID func() string) Outcome {
	wait := c.Backoff
	for attempt := range max(1, c.Attempts) {
		if attempt > 0 {
			if clk.Sleep(ctx, wait) != nil {
				break
			}
			wait *= 2
		}
		a, err := tr.Send(ctx, c.Operation.request(c.Key.Key(c.Operation, newID)))
		if err != nil || Retried(a.Status) {
			continue
		}
		if a.Status >= 200 && a.Status < 300 {
			return Outcome{Kind: Success, Answer: a}
		}
		return Outcome{Kind: Refused, Answer: a}
	}
	return Outcome{Kind: Unknown}
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
