package exactlyone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"exactlyone/model"
)

func TestUsageErrors(t *testing.T) {
	good := func() System { return builtin(t, "naive", "") }
	for want, f := range map[string]func() (System, Bounds, Options){
		`system "naive": Start is missing`:   func() (System, Bounds, Options) { s := good(); s.Start = nil; return s, Bounds{}, Options{} },
		`system "naive": Client is missing`:  func() (System, Bounds, Options) { s := good(); s.Client = nil; return s, Bounds{}, Options{} },
		`system "naive": Effects is missing`: func() (System, Bounds, Options) { s := good(); s.Effects = nil; return s, Bounds{}, Options{} },
		`two stores are named "db"`: func() (System, Bounds, Options) {
			s := good()
			s.Stores = append(s.Stores, s.Stores[0])
			return s, Bounds{}, Options{}
		},
		"declared duration -1s: more than zero": func() (System, Bounds, Options) {
			s := good()
			s.Durations = []time.Duration{-time.Second}
			return s, Bounds{}, Options{}
		},
		"clients: 1 to 8 was expected, not 9":           func() (System, Bounds, Options) { return good(), Bounds{Clients: 9}, Options{} },
		"crashes: 0 to 20 was expected, not -2":         func() (System, Bounds, Options) { return good(), Bounds{Crashes: -2}, Options{} },
		`reduction "some": all, none, or some of`:       func() (System, Bounds, Options) { return good(), Bounds{}, Options{Reduction: "some"} },
		`Start panicked: exactlyone: the system declar`: func() (System, Bounds, Options) { s := good(); s.Stores[0].Name = "x"; return s, Bounds{}, Options{} },
		"used outside a task": func() (System, Bounds, Options) {
			s := good()
			s.Start = func(e *Env) model.Server { e.NewID(); return nil }
			return s, Bounds{}, Options{}
		},
		"Start panicked: it returned no server": func() (System, Bounds, Options) {
			s := good()
			s.Start = func(*Env) model.Server { return nil }
			return s, Bounds{}, Options{}
		},
	} {
		sys, b, o := f()
		_, err := Run(context.Background(), sys, b, o)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want a usage error with %q", err, want)
		}
	}
}

// cached answers from the memory of its process whatever it has seen before.
type cached struct {
	model.Naive
	answers map[string]model.Answer
}

func (c cached) Handle(ctx context.Context, req model.Request) model.Answer {
	if a, ok := c.answers[req.Key]; ok {
		return a.Replay()
	}
	a := c.Naive.Handle(ctx, req)
	c.answers[req.Key] = a
	return a
}

func cachedSystem(t *testing.T) System {
	sys := builtin(t, "naive", model.KeyToolCall)
	sys.Start = func(env *Env) model.Server {
		return cached{model.Naive{Store: env.Store("db")}, map[string]model.Answer{}}
	}
	return sys
}

// TestNodeMemory: a cache in memory makes the naive writer right for one
// client as long as nothing crashes and there is one node; the search sees it
// fail otherwise.
func TestNodeMemory(t *testing.T) {
	sys := cachedSystem(t)
	sys.Stateless = false
	alone := Bounds{Clients: 1, Crashes: None}
	if r := mustRun(t, sys, alone, Options{}); r.Verdict != Holds || r.Exercised["replays"] == 0 {
		t.Errorf("one node, no crash: %s", r.Verdict)
	}
	for _, b := range []Bounds{{}, {Clients: 1}, {Clients: 1, Crashes: None, Nodes: 2}} {
		if r := mustRun(t, sys, b, Options{}); r.Verdict != Violated {
			t.Errorf("%v: %s, want violated", r.Bounds, r.Verdict)
		}
	}
}

// TestStatelessIsRefuted: the same writer declared Stateless is caught, not
// judged.
func TestStatelessIsRefuted(t *testing.T) {
	sys := cachedSystem(t)
	_, err := Run(context.Background(), sys, Bounds{Clients: 1, Crashes: None}, Options{})
	if !errors.Is(err, ErrRefuted) {
		t.Errorf("error %v, want %v", err, ErrRefuted)
	}
}

type handler func(context.Context, model.Request) model.Answer

func (h handler) Handle(ctx context.Context, req model.Request) model.Answer { return h(ctx, req) }

// TestPanicClosesTheConnection: a handler's panic is no crash: what it deferred
// takes effect, the client sees a closed connection and tries again.
func TestPanicClosesTheConnection(t *testing.T) {
	sys := builtin(t, "naive", "")
	sys.Start = func(env *Env) model.Server {
		return handler(func(ctx context.Context, req model.Request) model.Answer {
			defer func() {
				_, _ = env.Store("db").Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
			}()
			panic("boom")
		})
	}
	r := mustRun(t, sys, Bounds{Clients: 1, Crashes: None, LostAnswers: None}, Options{})
	if r.Verdict != Violated {
		t.Fatalf("%s, want violated: each attempt files a report while it unwinds", r.Verdict)
	}
	var text strings.Builder
	_ = r.Story.WriteText(&text, TextOptions{})
	for _, want := range []string{"answers panic: boom", "← connection closed"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the story does not say %q:\n%s", want, text.String())
		}
	}
}

// TestLocker: a lock in memory makes look-then-insert right on one node, and
// two requests that take two locks in opposite order stand still.
func TestLocker(t *testing.T) {
	sys := builtin(t, "key_split", "")
	sys.Stateless = false
	sys.Start = func(env *Env) model.Server {
		lock, split := env.Locker(), model.KeySplit{Store: env.Store("db")}
		return handler(func(ctx context.Context, req model.Request) model.Answer {
			lock.Lock()
			defer lock.Unlock()
			return split.Handle(ctx, req)
		})
	}
	calm := Bounds{Crashes: None, LostAnswers: 1, Jumps: None}
	if r := mustRun(t, sys, calm, Options{}); r.Verdict != Holds {
		t.Errorf("one node: %s", r.Verdict)
	}
	calm.Nodes = 2
	if r := mustRun(t, sys, calm, Options{}); r.Verdict != Violated {
		t.Errorf("two nodes: %s, want violated", r.Verdict)
	}
}

// TestReadTraceCanBeWritten: a trace fresh from its file has columns.
func TestReadTraceCanBeWritten(t *testing.T) {
	story := mustRun(t, builtin(t, "key_split", ""), Bounds{Clients: 1}, Options{}).Story
	data, err := json.Marshal(story)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ReadTrace(bytes.NewReader(data), "story")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := read.WriteText(&text, TextOptions{}); err != nil || !strings.Contains(text.String(), "node 1 crashes") && !strings.Contains(text.String(), "✗ crashes") {
		t.Errorf("%v: %s", err, text.String())
	}
}
