// Package simhttp answers: does this HTTP handler, as it is, leave exactly one
// effect? It makes an [http.Handler] a server of a system, and third parties of a
// system something that an [http.Client] can call.
//
//	exactlyone.System{
//		Start: func(env *exactlyone.Env) exactlyone.Server {
//			return simhttp.Serve(orders.New(env.DB("orders"), simhttp.Client(env, "payments")))
//		},
//		…
//	}
//
// The handler runs in a bubble of testing/synctest, see [exactlyone.Goroutines]:
// its goroutines, mutexes, timers and contexts are its own, time is virtual.
// Requests and answers are whole; that one is lost, arrives twice, or that its
// caller goes away, is up to the faults of the search, at every step.
package simhttp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"exactlyone"
	"exactlyone/model"
)

// Headers of requests.
const (
	KeyHeader    = "Idempotency-Key"  // the client's key, if it has one
	CallerHeader = "X-Forwarded-User" // who calls, as a proxy that authenticates says it
)

// Serve makes a handler a server. A request has the method, path, key, caller and
// body of the operation; the body's type is application/json if it is JSON. A
// handler that panics closes the connection without an answer, as net/http does.
// Of the answer's headers those are kept that say what it is: all but Date.
func Serve(h http.Handler) exactlyone.Server { return exactlyone.Goroutines(server{h}) }

type server struct{ handler http.Handler }

// Handle serves one request.
func (s server) Handle(ctx context.Context, req model.Request) model.Answer {
	path := req.Path
	if path == "" {
		path = "/"
	}
	r, err := http.NewRequestWithContext(ctx, req.Method, "http://example.com"+path, strings.NewReader(req.Body))
	if err != nil {
		panic(fmt.Errorf("%w: request %s: %w", exactlyone.ErrUsage, req, err))
	}
	r.RequestURI, r.RemoteAddr = path, "192.0.2.1:1234"
	if json.Valid([]byte(req.Body)) {
		r.Header.Set("Content-Type", "application/json")
	}
	if req.Key != "" {
		r.Header.Set(KeyHeader, req.Key)
	}
	if req.Caller != "" {
		r.Header.Set(CallerHeader, req.Caller)
	}
	w := &recorder{header: http.Header{}}
	s.handler.ServeHTTP(w, r)
	return w.answer()
}

// recorder is a ResponseWriter that keeps the answer.
type recorder struct {
	header, sent http.Header // sent are those at the first write
	status       int
	body         bytes.Buffer
}

// Header is the header that can still be changed.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader fixes the status and the headers.
func (w *recorder) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", status))
	}
	if w.status == 0 && status >= 200 {
		w.status, w.sent = status, w.header.Clone()
	}
}

// Write appends to the body.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.status == http.StatusNoContent || w.status == http.StatusNotModified {
		return 0, http.ErrBodyNotAllowed
	}
	return w.body.Write(b)
}

// WriteString appends to the body.
func (w *recorder) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// Flush does nothing: a caller gets all of an answer or, as far as it can tell,
// none.
func (w *recorder) Flush() { w.WriteHeader(http.StatusOK) }

func (w *recorder) answer() model.Answer {
	w.WriteHeader(http.StatusOK)
	a := model.Answer{Status: w.status, Body: w.body.String()}
	for _, name := range slices.Sorted(maps.Keys(w.sent)) {
		if name == "Date" {
			continue
		}
		if a.Header == nil {
			a.Header = map[string]string{}
		}
		a.Header[name] = strings.Join(w.sent[name], ", ")
	}
	return a
}

// Client calls the third party of that name, whatever the host of an URL is. It
// panics if the system declares none. A call is carried out and answered in one
// step; the faults of calls make it fail, or its answer get lost. It ends early
// when the request's context does.
func Client(env *exactlyone.Env, service string) *http.Client {
	return &http.Client{Transport: RoundTripper(env, service)}
}

// RoundTripper is the transport of [Client].
func RoundTripper(env *exactlyone.Env, service string) http.RoundTripper {
	return transport{env.Client(service)}
}

type transport struct{ to model.Transport }

// RoundTrip sends one request.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	a, err := t.to.Send(r.Context(), model.Request{
		Method: r.Method, Path: r.URL.RequestURI(), Key: r.Header.Get(KeyHeader), Caller: r.Header.Get(CallerHeader), Body: string(body),
	})
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	for name, value := range a.Header {
		header.Set(name, value)
	}
	return &http.Response{
		Status: strconv.Itoa(a.Status) + " " + http.StatusText(a.Status), StatusCode: a.Status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(strings.NewReader(a.Body)), ContentLength: int64(len(a.Body)), Request: r,
	}, nil
}
