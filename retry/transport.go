package retry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Transport is an [http.RoundTripper] that retries requests as a [Policy] says.
// Put it under an http.Client, so that each request of a redirect is judged by
// itself:
//
//	client := &http.Client{Transport: &retry.Transport{Policy: policy, NewKey: retry.RandomKey}}
//
// A request that is neither safe nor idempotent by its method and carries no
// Idempotency-Key is retried only if it was certainly not carried out. The last
// answer is returned as it came, whatever its status. Where there is none, the
// error is an [*OutcomeError], which wraps the last one. The answers before it
// are closed; up to 4 KiB of each are read first, so that connections can be used
// again.
//
// AttemptTimeout and Deadline of the policy also bound the reading of the
// returned body, which must be closed as usual. Its zero value tries once.
type Transport struct {
	// Base makes the attempts; nil means http.DefaultTransport.
	Base http.RoundTripper
	// Policy says how often and when.
	Policy Policy
	// NewKey makes the Idempotency-Key of a request whose method is neither
	// safe nor idempotent and which has none, once for all its attempts. Nil
	// sends none. Set it only for servers that act on the key: for others it
	// would make retries look safe that are not.
	NewKey func() string
	// MaxBody is how many bytes of a body without GetBody are kept so that it
	// can be sent again; 0 means 1 MiB, less than 0 none. It is read before the
	// first attempt, and before the clock of the policy starts. A longer one is sent as it comes, and only once.
	MaxBody int64
	// Notify is told how each request ended, before RoundTrip returns; may be
	// nil.
	Notify func(*http.Request, Outcome)
}

const (
	defaultMaxBody = 1 << 20
	maxDrained     = 4 << 10
)

// RoundTrip makes the attempts. It changes nothing in req.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if ctx := req.Context(); ctx.Err() != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, noAnswer(ctx, Outcome{Kind: Refused, Stop: StopCanceled})
	}
	policy := t.Policy
	limit := t.MaxBody
	if policy.Attempts <= 1 {
		limit = -1 // it is sent but once
	}
	body, err := newReplay(req, limit)
	if err != nil {
		return nil, err
	}
	defer body.close()
	if ctx := req.Context(); ctx.Err() != nil { // while the body was read
		return nil, noAnswer(ctx, Outcome{Kind: Refused, Stop: StopCanceled})
	}
	if !body.again {
		policy.Attempts = 1
	}
	call := MethodCall(req.Method)
	call.Key = req.Header.Get(KeyHeader)
	if !call.Harmless() {
		call.NewKey = t.NewKey
	}
	var resp *http.Response
	var release context.CancelFunc
	out := do(req.Context(), policy, call, func(ctx context.Context, a Attempt) Result {
		next, err := t.request(ctx, req, body, a)
		if err != nil {
			return Result{Err: err}
		}
		answer, err := t.base().RoundTrip(next)
		switch {
		case err != nil:
			return Result{Err: err}
		case answer == nil:
			return Result{Err: &Error{Class{KindNonRetryable, false}, errNoAnswer}}
		case answer.Body == nil:
			answer.Body = http.NoBody
		}
		resp, release = answer, a.keep()
		return Result{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
	}, func() func() {
		if resp == nil {
			return func() {}
		}
		waited := drain(resp.Body, release)
		resp = nil
		return waited
	})
	if t.Notify != nil {
		t.Notify(req, out)
	}
	if resp == nil {
		return nil, noAnswer(req.Context(), out)
	}
	resp.Body = withRelease(resp.Body, release)
	return resp, nil
}

// errNoAnswer is a Base that breaks the contract of http.RoundTripper.
var errNoAnswer = errors.New("retry: Base returned neither an answer nor an error")

// noAnswer is the error where there is no answer, or it was closed before a
// wait that another attempt did not follow.
func noAnswer(ctx context.Context, out Outcome) error {
	if out.Result.Err == nil {
		out.Result.Err = context.DeadlineExceeded
		if out.Stop == StopCanceled {
			out.Result.Err = context.Cause(ctx)
		}
	}
	return &OutcomeError{out}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base == nil {
		return http.DefaultTransport
	}
	return t.Base
}

// request is one attempt.
func (t *Transport) request(ctx context.Context, req *http.Request, body *replay, a Attempt) (*http.Request, error) {
	content, err := body.open()
	if err != nil {
		return nil, &Error{Class{KindNonRetryable, true}, fmt.Errorf("body of the request: %w", err)}
	}
	next := req.Clone(ctx)
	next.Body = content
	if a.Key != "" {
		if next.Header == nil {
			next.Header = http.Header{}
		}
		next.Header.Set(KeyHeader, a.Key)
	}
	return next, nil
}

// replay hands out the body of a request, once for each attempt.
type replay struct {
	again bool // it can be had more than once
	open  func() (io.ReadCloser, error)
	orig  io.ReadCloser // closed at the end; nil if it was handed out
}

// newReplay reads the body if there is no other way to have it again.
func newReplay(req *http.Request, limit int64) (*replay, error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return &replay{again: true, open: func() (io.ReadCloser, error) { return req.Body, nil }}, nil
	case req.GetBody != nil:
		first := &replay{again: true, orig: req.Body}
		first.open = func() (io.ReadCloser, error) {
			if first.orig == nil {
				return req.GetBody()
			}
			first.orig = nil // whoever sends it closes it
			return req.Body, nil
		}
		return first, nil
	case limit == 0:
		limit = defaultMaxBody
	}
	var kept []byte
	if limit > 0 {
		var err error
		if kept, err = io.ReadAll(io.LimitReader(req.Body, limit+1)); err != nil {
			return nil, errors.Join(fmt.Errorf("retry: body of the request: %w", err), req.Body.Close())
		}
	}
	if limit > 0 && int64(len(kept)) <= limit {
		return &replay{again: true, orig: req.Body, open: func() (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(kept)), nil
		}}, nil
	}
	once := &replay{orig: req.Body}
	once.open = func() (io.ReadCloser, error) {
		once.orig = nil // whoever sends it closes it, maybe after we have returned
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(kept), req.Body), req.Body}, nil
	}
	return once, nil
}

func (r *replay) close() {
	if r.orig != nil {
		_ = r.orig.Close()
	}
}

// drain reads a little of a body that is not wanted, and closes it, while the
// caller waits; a body that is still not there at the end of the wait is given
// up, with the context of its attempt.
func drain(body io.ReadCloser, release context.CancelFunc) (waited func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.CopyN(io.Discard, body, maxDrained)
		_ = body.Close()
	}()
	return func() {
		grace, cancel := context.WithTimeout(context.Background(), drainGrace)
		defer cancel()
		select {
		case <-done:
		case <-grace.Done():
		}
		release()
		<-done
	}
}

// drainGrace is how much longer than the wait a body may take.
const drainGrace = 100 * time.Millisecond

// releasing is the body of an answer, with which the context of its attempt ends.
type releasing struct {
	io.ReadCloser
	release context.CancelFunc
}

func (b *releasing) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// withRelease keeps the Write of a connection that was switched to another
// protocol.
func withRelease(body io.ReadCloser, release context.CancelFunc) io.ReadCloser {
	b := &releasing{body, release}
	if w, ok := body.(io.Writer); ok {
		return struct {
			*releasing
			io.Writer
		}{b, w}
	}
	return b
}
