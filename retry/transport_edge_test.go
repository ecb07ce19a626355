package retry_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"exactlyone/clock"
	"exactlyone/retry"
)

// stalled is a body of which nothing ever comes, as long as its context lasts.
type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) { <-s.ctx.Done(); return 0, s.ctx.Err() }
func (s stalled) Close() error             { return nil }

// TestStalledAnswer: an unwanted answer that never ends holds up neither the
// next attempt nor, past its deadline, the caller.
func TestStalledAnswer(t *testing.T) {
	for _, tt := range []struct {
		what     string
		deadline time.Duration
		attempts int
		took     time.Duration
	}{
		{"no deadline", 0, 3, 3600*time.Millisecond + 1800*time.Millisecond + 200*time.Millisecond},
		{"deadline", 2 * time.Second, 2, 2 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			attempts := 0
			tr := &retry.Transport{
				Base: base(func(r *http.Request) (*http.Response, error) {
					attempts++
					return &http.Response{StatusCode: 503, Body: stalled{r.Context()}}, nil
				}),
				Policy: retry.Policy{Attempts: 3, Deadline: tt.deadline, Backoff: retry.Backoff{Strategy: retry.Exponential, Base: 1800 * time.Millisecond}},
			}
			start := clock.Real{}.Now()
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://host.invalid/", nil)
			resp, err := tr.RoundTrip(req)
			if took := (clock.Real{}).Now().Sub(start); attempts != tt.attempts || took > tt.took {
				t.Errorf("%s: %d attempts in %v (%v), want %d in at most %v", tt.what, attempts, took, err, tt.attempts, tt.took)
			}
			if resp != nil {
				_ = resp.Body.Close()
			}
		})
	}
}

// TestLooseBase: what net/http puts up with in a Base, or names in an error,
// does no harm here either.
func TestLooseBase(t *testing.T) {
	post := func(header http.Header) *http.Request {
		req, err := http.NewRequest("POST", "http://host.invalid/", strings.NewReader("b"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		return req
	}
	for what, answer := range map[string]*http.Response{
		"no answer": nil, "no body": {StatusCode: 200}, "no body of a 503": {StatusCode: 503},
	} {
		calls := 0
		tr := &retry.Transport{
			Base:   base(func(*http.Request) (*http.Response, error) { calls++; return answer, nil }),
			Policy: retry.Policy{Attempts: 2}, NewKey: func() string { return "k" },
		}
		resp, err := tr.RoundTrip(post(nil))
		if (err != nil) != (answer == nil) {
			t.Errorf("%s: %v", what, err)
		}
		if resp != nil {
			if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 || resp.Body.Close() != nil {
				t.Errorf("%s: body %q, %v", what, rest, err)
			}
		}
	}
}

// TestFirstBodyFirst: the body itself goes first, GetBody makes the others.
func TestFirstBodyFirst(t *testing.T) {
	req, err := http.NewRequest("PUT", "http://host.invalid/", strings.NewReader("old"))
	if err != nil {
		t.Fatal(err)
	}
	req.Body = io.NopCloser(strings.NewReader("new"))
	var sent []string
	tr := &retry.Transport{Policy: retry.Policy{Attempts: 2}, Base: base(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		sent = append(sent, string(b))
		return &http.Response{StatusCode: 500}, err
	})}
	if _, err := tr.RoundTrip(req); err != nil || strings.Join(sent, " ") != "new old" {
		t.Errorf("sent %q, %v", sent, err)
	}
}

// TestTurnedAway: an answer shows that the request was sent, so a POST without a
// key is not repeated, whatever the server says of it.
func TestTurnedAway(t *testing.T) {
	for _, status := range []int{425, 429, 503} {
		for _, after := range []string{"", "0", "soon", "-5"} {
			calls := 0
			tr := &retry.Transport{Policy: retry.Policy{Attempts: 3}, Base: base(func(*http.Request) (*http.Response, error) {
				calls++
				return &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}, nil
			})}
			req, err := http.NewRequest("POST", "http://host.invalid/", strings.NewReader("b"))
			if err != nil {
				t.Fatal(err)
			}
			if resp, err := tr.RoundTrip(req); err != nil || calls != 1 || resp.StatusCode != status {
				t.Errorf("%d with Retry-After %q: %d attempts, %v", status, after, calls, err)
			}
		}
	}
}
