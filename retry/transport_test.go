package retry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"exactlyone/clock"
	"exactlyone/retry"
)

// step is one answer of a peer, or its error.
type step struct {
	status int
	after  string // Retry-After
	err    error
}

// peer is a base transport that answers by a script and records what it got.
type peer struct {
	steps        []step
	bodies, keys []string
	at           []time.Duration // since the first
	start        time.Time
	open         int // bodies of answers that are not closed
	whenAnswered []int
}

func (p *peer) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(p.keys) == 0 {
		p.start = clock.Real{}.Now()
	}
	p.at = append(p.at, clock.Real{}.Now().Sub(p.start))
	p.whenAnswered = append(p.whenAnswered, p.open)
	body := "none"
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if body = string(b); err != nil {
			body += " " + err.Error()
		}
		_ = req.Body.Close()
	}
	p.bodies = append(p.bodies, body)
	p.keys = append(p.keys, req.Header.Get(retry.KeyHeader))
	s := p.steps[len(p.keys)-1]
	if s.err != nil {
		return nil, s.err
	}
	p.open++
	resp := &http.Response{StatusCode: s.status, Header: http.Header{}, Request: req}
	resp.Body = &tracked{Reader: strings.NewReader(strings.Repeat("x", 10_000)), closed: func() { p.open-- }, ctx: req.Context()}
	if s.after != "" {
		resp.Header.Set("Retry-After", s.after)
	}
	return resp, nil
}

// tracked is a body that fails once its context has ended, as a real one does.
type tracked struct {
	io.Reader
	closed func()
	ctx    context.Context
}

func (b *tracked) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	return b.Reader.Read(p)
}

func (b *tracked) Close() error { b.closed(); return nil }

// stream hides what kind of reader a body is, so that it has no GetBody.
type stream struct {
	io.Reader
	closed *int
}

func (s stream) Close() error                { *s.closed++; return nil }
func (s stream) Write(p []byte) (int, error) { return len(p), nil }

func TestTransport(t *testing.T) {
	fixed := func() func() string { n := 0; return func() string { n++; return fmt.Sprint("key", n) } }
	big := strings.Repeat("b", 100)
	type seen struct {
		Status  int // 0: an error
		Bodies  []string
		Keys    []string
		At      []time.Duration
		Outcome retry.OutcomeKind
	}
	for _, tt := range []struct {
		what, method, body, key string
		stream                  bool // the body has no GetBody
		newKey                  func() string
		maxBody                 int64
		steps                   []step
		want                    seen
	}{
		{what: "GET", method: "GET", steps: []step{{err: io.EOF}, {status: 503, after: "5"}, {status: 200}}, want: seen{200, []string{"none", "none", "none"}, []string{"", "", ""}, []time.Duration{0, time.Second, 6 * time.Second}, retry.Success}},
		{what: "PUT", method: "PUT", body: "b", newKey: fixed(), steps: []step{{status: 500}, {status: 200}}, want: seen{200, []string{"b", "b"}, []string{"", ""}, []time.Duration{0, time.Second}, retry.Success}},
		{what: "POST", method: "POST", body: "b", steps: []step{{status: 500}}, want: seen{500, []string{"b"}, []string{""}, []time.Duration{0}, retry.Unknown}},
		{what: "POST that was not sent", method: "POST", body: "b", stream: true, steps: []step{{err: refused}, {status: 201}}, want: seen{201, []string{"b", "b"}, []string{"", ""}, []time.Duration{0, time.Second}, retry.Success}},
		{what: "POST that broke", method: "POST", body: "b", steps: []step{{err: io.EOF}}, want: seen{0, []string{"b"}, []string{""}, []time.Duration{0}, retry.Unknown}},
		{what: "POST with a new key", method: "POST", body: "b", newKey: fixed(), steps: []step{{err: io.EOF}, {status: 409}, {status: 201}}, want: seen{201, []string{"b", "b", "b"}, []string{"key1", "key1", "key1"}, []time.Duration{0, time.Second, 3 * time.Second}, retry.Success}},
		{what: "POST with a key of its own", method: "POST", body: "b", key: "mine", newKey: fixed(), steps: []step{{err: io.EOF}, {status: 201}}, want: seen{201, []string{"b", "b"}, []string{"mine", "mine"}, []time.Duration{0, time.Second}, retry.Success}},
		{what: "out of attempts", method: "PATCH", body: "b", newKey: fixed(), steps: []step{{status: 500}, {status: 500}, {status: 502}}, want: seen{502, []string{"b", "b", "b"}, []string{"key1", "key1", "key1"}, []time.Duration{0, time.Second, 3 * time.Second}, retry.Unknown}},
		{what: "body that just fits", method: "PUT", body: big, stream: true, maxBody: 100, steps: []step{{status: 500}, {status: 200}}, want: seen{200, []string{big, big}, []string{"", ""}, []time.Duration{0, time.Second}, retry.Success}},
		{what: "body too long", method: "PUT", body: big, stream: true, maxBody: 99, steps: []step{{status: 500}}, want: seen{500, []string{big}, []string{""}, []time.Duration{0}, retry.Unknown}},
		{what: "no body kept", method: "PUT", body: big, stream: true, maxBody: -1, steps: []step{{status: 500}}, want: seen{500, []string{big}, []string{""}, []time.Duration{0}, retry.Unknown}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &peer{steps: tt.steps}
				var got seen
				tr := &retry.Transport{
					Base: p, NewKey: tt.newKey, MaxBody: tt.maxBody,
					Policy: retry.Policy{Attempts: 3, Backoff: exp, AttemptTimeout: time.Minute},
					Notify: func(_ *http.Request, o retry.Outcome) { got.Outcome = o.Kind },
				}
				closed := 0
				var body io.Reader
				switch {
				case tt.stream:
					body = stream{strings.NewReader(tt.body), &closed}
				case tt.body != "":
					body = strings.NewReader(tt.body)
				}
				req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://host.invalid/", body)
				if err != nil {
					t.Fatal(err)
				}
				if tt.key != "" {
					req.Header.Set(retry.KeyHeader, tt.key)
				}
				resp, err := tr.RoundTrip(req)
				if err == nil {
					got.Status = resp.StatusCode
					if b, err := io.ReadAll(resp.Body); len(b) != 10_000 || err != nil {
						t.Errorf("the answer cannot be read: %d bytes, %v", len(b), err)
					}
					_ = resp.Body.Close()
				} else if o := new(retry.OutcomeError); !errors.As(err, &o) || o.Outcome.Kind != tt.want.Outcome {
					t.Errorf("error %v", err)
				}
				got.Bodies, got.Keys, got.At = p.bodies, p.keys, p.at
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if p.open != 0 || tt.stream && closed == 0 || req.Header.Get(retry.KeyHeader) != tt.key {
					t.Errorf("%d answers are open, the body was closed %d times, header %v", p.open, closed, req.Header)
				}
				for i, open := range p.whenAnswered {
					if open != 0 {
						t.Errorf("attempt %d began with %d answers open", i+1, open)
					}
				}
			})
		})
	}
}

// TestTransportEnds: what becomes of a request whose context or deadline ends.
func TestTransportEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := func(ctx context.Context, closed *int) *http.Request {
			req, err := http.NewRequestWithContext(ctx, "PUT", "http://host.invalid/", stream{strings.NewReader("b"), closed})
			if err != nil {
				t.Fatal(err)
			}
			return req
		}
		closed := 0
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		p := &peer{steps: []step{{status: 500}, {status: 500}, {status: 500}}}
		tr := &retry.Transport{Base: p, Policy: retry.Policy{Attempts: 9, Backoff: exp}}
		_, err := tr.RoundTrip(request(ctx, &closed))
		if !errors.Is(err, context.DeadlineExceeded) || len(p.at) != 2 || p.open != 0 || closed == 0 {
			t.Errorf("in a wait: %v after %d attempts, %d answers open, body closed %d times", err, len(p.at), p.open, closed)
		}
		closed = 0
		_, err = tr.RoundTrip(request(ctx, &closed))
		if o := new(retry.OutcomeError); !errors.As(err, &o) || o.Outcome.Kind != retry.Refused || len(p.at) != 2 || closed == 0 {
			t.Errorf("ended before: %v after %d attempts, body closed %d times", err, len(p.at), closed)
		}
		broken := request(t.Context(), &closed)
		broken.Body = io.NopCloser(io.MultiReader(strings.NewReader("b"), failing{}))
		if _, err = tr.RoundTrip(broken); !errors.Is(err, errBody) || len(p.at) != 2 {
			t.Errorf("a body that cannot be read: %v", err)
		}
		broken.Body = io.NopCloser(strings.NewReader("b"))
		broken.GetBody = func() (io.ReadCloser, error) { return nil, errBody }
		if _, err = tr.RoundTrip(broken); !errors.Is(err, errBody) || len(p.at) != 3 {
			t.Errorf("a body that cannot be had again: %v after %d attempts", err, len(p.at))
		}
	})
}

// base is a base transport of one function.
type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(req *http.Request) (*http.Response, error) { return b(req) }

// TestTransportLetsGo: what was handed on is left alone. A body that is sent as
// it comes is not closed under its sender, who may answer before the end of it;
// the context of an attempt lasts until its answer is closed; a connection that
// was switched to another protocol can be written to.
func TestTransportLetsGo(t *testing.T) {
	closed := 0
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "PUT", "http://host.invalid/", stream{strings.NewReader("b"), &closed})
	if err != nil {
		t.Fatal(err)
	}
	var sent *http.Request
	answer := http.StatusSwitchingProtocols
	tr := &retry.Transport{Base: base(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: answer, Body: struct {
			io.Reader
			io.WriteCloser
		}{strings.NewReader("hello"), stream{nil, new(int)}}}, nil
	})}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := resp.Body.(io.Writer); !ok || closed != 0 || sent.Context().Err() != nil {
		t.Errorf("can be written to: %v %v; body closed %d times; context: %v", w, ok, closed, sent.Context().Err())
	}
	if b, err := io.ReadAll(sent.Body); string(b) != "b" || err != nil {
		t.Errorf("the body is %q, %v", b, err)
	}
	_ = resp.Body.Close()
	if sent.Context().Err() == nil {
		t.Error("the context outlived the answer")
	}

	answer = http.StatusInternalServerError
	tr.Policy = retry.Policy{Attempts: 2, Clock: stopping{cancel: cancel}}
	if _, err = tr.RoundTrip(req); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled in a wait: %v", err)
	}
}

// stopping is a clock on which somebody loses patience.
type stopping struct {
	clock.Real
	cancel context.CancelFunc
}

func (c stopping) Sleep(ctx context.Context, _ time.Duration) error {
	c.cancel()
	return ctx.Err()
}

var errBody = errors.New("broken body")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBody }

// TestTransportForReal: over a real connection, which is used again, and with
// the redirects of http.Client.
func TestTransportForReal(t *testing.T) {
	var got []string
	remotes := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprintf("%s %s %s %q", r.Method, r.URL.Path, b, r.Header.Get(retry.KeyHeader)))
		remotes[r.RemoteAddr] = true
		switch len(got) {
		case 1, 3:
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write(bytes.Repeat([]byte("x"), 1000))
		case 2:
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		default:
			_, _ = w.Write([]byte("done"))
		}
	}))
	defer s.Close()
	n := 0
	client := &http.Client{Transport: &retry.Transport{
		Policy: retry.Policy{Attempts: 3, Deadline: time.Hour}, NewKey: func() string { n++; return fmt.Sprint("key", n) },
	}}
	resp, err := client.Post(s.URL+"/here", "text/plain", strings.NewReader("b"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err := io.ReadAll(resp.Body); string(b) != "done" || err != nil {
		t.Errorf("%s, %v", b, err)
	}
	want := []string{`POST /here b "key1"`, `POST /here b "key1"`, `POST /there b "key2"`, `POST /there b "key2"`}
	if diff := cmp.Diff(want, got); diff != "" || len(remotes) != 1 {
		t.Errorf("over %d connections (-want +got):\n%s", len(remotes), diff)
	}
}
