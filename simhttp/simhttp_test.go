package simhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/simhttp"
)

// payer is a handler that has a third party make a payment.
func payer(env *exactlyone.Env, key func(*http.Request) string) http.Handler {
	client := simhttp.Client(env, "bank")
	log := env.Logger()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /pay", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank.example/transfer", strings.NewReader(string(body)))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if k := key(r); k != "" {
			out.Header.Set(simhttp.KeyHeader, k)
		}
		resp, err := client.Do(out)
		if err != nil {
			log.Warn("bank", "err", err)
			http.Error(w, "bank", http.StatusBadGateway)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			http.Error(w, "bank", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(answer)
	})
	return recovers(mux)
}

// recovers is middleware that turns a panic into an answer.
func recovers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				http.Error(w, fmt.Sprint(p), http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func bank(honours bool, key func(*http.Request) string) exactlyone.System {
	return exactlyone.System{
		Services: []exactlyone.Service{{Name: "bank", HonoursKey: honours}},
		Start:    func(env *exactlyone.Env) exactlyone.Server { return simhttp.Serve(payer(env, key)) },
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Path: "/pay", Body: `{"amount":5}`, RunID: "r", ToolUseID: "t"}, Key: model.KeyToolCall}
		},
		Effects: func(c exactlyone.Contents) []model.Effect {
			var all []model.Effect
			for _, r := range c.Rows("bank", "calls") {
				all = append(all, model.Effect{ID: fmt.Sprint(r.Int("id")), Body: r.Text("body")})
			}
			return all
		},
		ID: func(a model.Answer) string {
			var call struct{ Call int }
			_ = json.Unmarshal([]byte(a.Body), &call)
			return fmt.Sprint(call.Call)
		},
		Stateless: true,
	}
}

func run(t *testing.T, sys exactlyone.System, b exactlyone.Bounds) (*exactlyone.Result, string) {
	t.Helper()
	sys.Name = "payer"
	r, err := exactlyone.Run(t.Context(), sys, b, exactlyone.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.WriteText(&text, exactlyone.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return r, text.String()
}

// TestOutbound: a bank that honours keys is paid once, if it is sent the client's
// key; without, or if it does not honour them, a lost answer makes two payments.
func TestOutbound(t *testing.T) {
	pass := func(r *http.Request) string { return r.Header.Get(simhttp.KeyHeader) }
	for name, tt := range map[string]struct {
		honours bool
		key     func(*http.Request) string
		want    exactlyone.Verdict
	}{
		"key passed on": {true, pass, exactlyone.Holds},
		"no key":        {true, func(*http.Request) string { return "" }, exactlyone.Violated},
		"key of no use": {false, pass, exactlyone.Violated},
	} {
		t.Run(name, func(t *testing.T) {
			sys := bank(tt.honours, tt.key)
			b := exactlyone.Bounds{Calls: 1}
			r, text := run(t, sys, b)
			if r.Verdict != tt.want {
				t.Fatalf("%s\n%s", r.Verdict, text)
			}
			if r.Verdict == exactlyone.Violated && r.Story.Faults != 0 && r.Story.Faults != 1 {
				t.Error(text)
			}
		})
	}
}

// TestPanic: a call that panics is answered by the code's own middleware.
func TestPanic(t *testing.T) {
	sys := bank(true, func(*http.Request) string { return "k" })
	seen := false
	sys.Success = func(a model.Answer) bool {
		seen = seen || a.Status == 500 && strings.Contains(a.Body, "the call panicked")
		return a.Status == 201
	}
	run(t, sys, exactlyone.Bounds{Clients: 1, Calls: 1})
	if !seen {
		t.Error("no answer of the middleware was seen")
	}
}

func handle(h http.HandlerFunc, req model.Request) (a model.Answer, err error) {
	sys := exactlyone.System{
		Name: "one", Stateless: true,
		Start: func(*exactlyone.Env) exactlyone.Server { return simhttp.Serve(h) },
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Method: req.Method, Path: req.Path, Body: req.Body, Caller: req.Caller}}
		},
		Effects: func(exactlyone.Contents) []model.Effect { return nil },
		Success: func(got model.Answer) bool { a = got; return false },
	}
	b := exactlyone.Bounds{Clients: 1, Attempts: 1, Crashes: exactlyone.None, LostAnswers: exactlyone.None, Jumps: exactlyone.None}
	_, err = exactlyone.Run(context.Background(), sys, b, exactlyone.Options{})
	return a, err
}

// TestAnswer: what a handler writes is what the client gets.
func TestAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		h    http.HandlerFunc
		want string
	}{
		"nothing":     {func(http.ResponseWriter, *http.Request) {}, "200 "},
		"status":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204); w.WriteHeader(500) }, "204 "},
		"early hints": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(201) }, "201 "},
		"late header": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x"); w.Header().Set("A", "b") }, "200 x"},
		"header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("A", "b")
			w.Header().Add("A", "c")
			w.Header().Set("Date", "now")
		}, "200  [A: b, c]"},
		"streams": {func(w http.ResponseWriter, _ *http.Request) {
			for i := range 3 {
				_, _ = fmt.Fprint(w, i)
				w.(http.Flusher).Flush()
			}
		}, "200 012"},
		"echoes": {func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			_, _ = fmt.Fprint(w, r.Method, r.URL.Path, r.URL.Query().Get("q"), string(b), r.Header.Get(simhttp.CallerHeader), r.Header.Get("Content-Type"))
		}, "200 PUT/a7{}meapplication/json"},
	} {
		a, err := handle(tt.h, model.Request{Method: "PUT", Path: "/a?q=7", Body: "{}", Caller: "me"})
		if err != nil && !errors.Is(err, exactlyone.ErrUsage) {
			t.Errorf("%s: %v", name, err)
		}
		if a.String() != tt.want {
			t.Errorf("%s: %q, want %q", name, a, tt.want)
		}
	}
}
