package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// handled is the naive writer's system with another handler, whose node keeps
// nothing in memory.
func handled(t testing.TB, handle func(env *Env, ctx context.Context, req model.Request) model.Answer) System {
	sys := builtin(t, "naive", "")
	sys.Start = func(env *Env) model.Server {
		return handler(func(ctx context.Context, req model.Request) model.Answer { return handle(env, ctx, req) })
	}
	return sys
}

func insert(env *Env, ctx context.Context, req model.Request) model.Answer {
	res, err := env.Store("db").Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
	if err != nil {
		return model.Answer{Status: 503}
	}
	return model.Created(res.ID)
}

// agree runs a system with each reduction and wants one verdict.
func agree(t *testing.T, what string, sys System, b Bounds, want Verdict) {
	t.Helper()
	for _, reduction := range []string{"visited", "symmetry", "crashes", "clients", "symmetry,clients", "all"} {
		r, err := Run(context.Background(), sys, b, Options{Reduction: reduction})
		if err != nil || r.Verdict != want {
			t.Errorf("%s, reduction %s: %+v, %v; want %s", what, reduction, r, err, want)
		}
	}
}

// TestReductionsLoseNothing: programs that once told reductions apart.
func TestReductionsLoseNothing(t *testing.T) {
	// A step that names a time has left a trace: the clock may jump there even
	// after the crash of whoever named it.
	named := handled(t, func(env *Env, ctx context.Context, req model.Request) model.Answer {
		start := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
		_, _ = env.Store("db").Do(ctx, model.Select("keys", model.Where("lease", "<", start)))
		if env.Clock().Now().Equal(start) {
			insert(env, ctx, req)
		}
		return insert(env, ctx, req)
	})
	named.Durations = []time.Duration{time.Hour}
	agree(t, "a named time", named, Bounds{Clients: 1, LostAnswers: None, Jumps: 1}, Violated)

	// Keys and owner ids in answers: exchanging clients renames them, and runs
	// nobody's code for it.
	for name, answer := range map[string]func(env *Env, req model.Request) model.Answer{
		"key in a 409":   func(_ *Env, req model.Request) model.Answer { return model.Answer{Status: 409, Body: req.Key} },
		"owner in a 503": func(env *Env, _ model.Request) model.Answer { return model.Answer{Status: 503, Body: env.NewID()} },
		"owner in a 201": func(env *Env, _ model.Request) model.Answer { return model.Answer{Status: 201, Body: env.NewID()} },
	} {
		sys := handled(t, func(env *Env, _ context.Context, req model.Request) model.Answer { return answer(env, req) })
		sys.Properties = []props.Property{props.New("calm", "nothing is filed",
			func(struct{}, model.Told) (s struct{}) { return s },
			func(_ struct{}, v props.View) (bool, string) { return v.End, "" })}
		client := sys.Client
		sys.Client = func(i int) model.Client {
			c := client(i)
			c.Key = model.KeyPerAttempt
			return c
		}
		agree(t, name, sys, Bounds{Jumps: None}, Holds)
	}

	// A property that minds the order in which clients are told.
	ordered := handled(t, insert)
	ordered.Properties = []props.Property{props.New("ascending", "ids are told in ascending order",
		func(last string, told model.Told) string {
			if last > told.ID {
				return "z" + last
			}
			return told.ID
		},
		func(last string, _ props.View) (bool, string) {
			if strings.HasPrefix(last, "z") {
				return true, "id " + last[1:] + " was told first"
			}
			return last != "", ""
		})}
	agree(t, "an order", ordered, Bounds{Attempts: 1, Crashes: None, LostAnswers: None, Jumps: None}, Violated)
}

// TestFaultsOfTheCode: each is named in an error, none hangs or panics.
func TestFaultsOfTheCode(t *testing.T) {
	panics := func(sys System, change func(s *System)) System { change(&sys); return sys }
	naive := func() System { return builtin(t, "naive", "") }
	for name, tt := range map[string]struct {
		sys    System
		bounds Bounds
		want   error
		text   string
	}{
		"endless": {handled(t, func(env *Env, ctx context.Context, req model.Request) model.Answer {
			for {
				if _, err := env.Store("db").Do(ctx, model.Select("reports")); err != nil {
					return model.Answer{}
				}
			}
		}), Bounds{Clients: 1, Attempts: 1, Crashes: None, Jumps: None}, interleave.ErrEndless, "after 2000 steps it asks for"},
		"undead": {handled(t, func(env *Env, ctx context.Context, req model.Request) model.Answer {
			for {
				func() {
					defer func() { _ = recover() }()
					insert(env, ctx, req)
				}()
			}
		}), Bounds{}, interleave.ErrAbandoned, "1 tasks caught the panic"},
		"goexit":      {handled(t, func(*Env, context.Context, model.Request) model.Answer { runtime.Goexit(); return model.Answer{} }), Bounds{}, interleave.ErrGoexit, ""},
		"effects":     {panics(naive(), func(s *System) { s.Effects = func(Contents) []model.Effect { panic("no") } }), Bounds{}, ErrUsage, "Effects panicked: no"},
		"success":     {panics(naive(), func(s *System) { s.Success = func(model.Answer) bool { panic("no") } }), Bounds{Clients: 1, Attempts: 1}, ErrUsage, "Success panicked: no"},
		"property":    {panics(naive(), func(s *System) { s.Properties = []props.Property{{Name: "x"}} }), Bounds{}, ErrUsage, "properties panicked"},
		"no property": {panics(naive(), func(s *System) { s.Properties = []props.Property{} }), Bounds{}, ErrUsage, "Properties is empty"},
		"same names": {panics(naive(), func(s *System) {
			s.Client = func(i int) model.Client { return model.Client{Operation: model.Operation{Body: fmt.Sprint(i)}} }
		}), Bounds{}, ErrUsage, "clients 1 and 2 submit different operations"},
		"negative delay": {panics(naive(), func(s *System) { s.MaxDelay = -1 }), Bounds{}, ErrUsage, "MaxDelay is negative"},
	} {
		_, err := Run(context.Background(), tt.sys, tt.bounds, Options{Workers: 2})
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: error %v, want %v with %q", name, err, tt.want, tt.text)
		}
	}
}

// overloaded asks everybody to come back later.
type overloaded struct{}

func (overloaded) Handle(context.Context, model.Request) model.Answer {
	return model.Answer{Status: 503}
}

// TestManyRequestsOnOneNode: 80 attempts meet one process with memory.
func TestManyRequestsOnOneNode(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: long searches")
	}
	sys := builtin(t, "naive", "")
	sys.Stateless = false
	sys.Start = func(*Env) model.Server { return overloaded{} }
	sys.Properties = []props.Property{props.AtMostOne()}
	b := Bounds{Clients: 4, Attempts: 20, Crashes: None, LostAnswers: None, Jumps: None}
	if r := mustRun(t, sys, b, Options{Memory: 20 << 20}); r.Verdict != Inconclusive {
		t.Errorf("%s", r.Verdict)
	}
}

// TestStuckIsCounted: two locks in opposite order, and a second transaction
// inside one's own, leave somebody waiting for ever.
func TestStuckIsCounted(t *testing.T) {
	calm := Bounds{Attempts: 1, Crashes: None, LostAnswers: None, Jumps: None}
	locks := builtin(t, "naive", "")
	locks.Stateless = false
	locks.Start = func(env *Env) model.Server {
		a, b, turn := env.Locker(), env.Locker(), 0
		return handler(func(ctx context.Context, req model.Request) model.Answer {
			first, second := a, b
			if turn++; turn == 2 {
				first, second = b, a
			}
			first.Lock()
			defer first.Unlock()
			second.Lock()
			defer second.Unlock()
			return insert(env, ctx, req)
		})
	}
	nested := handled(t, func(env *Env, ctx context.Context, req model.Request) model.Answer {
		tx, _ := env.Store("db").Begin(ctx)
		_, _ = env.Store("db").Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
		_ = tx.Rollback(ctx)
		return model.Answer{Status: 201}
	})
	for name, sys := range map[string]System{"locks": locks, "own transaction": nested} {
		r := mustRun(t, sys, calm, Options{})
		if r.Exercised[counterNames[stuckEnds]] == 0 && r.Verdict != Violated {
			t.Errorf("%s: %s, %v: nobody was counted as stuck", name, r.Verdict, r.Exercised)
		}
	}
	calm.Crashes = 1 // it need not strike; if it does, too few are left to be stuck
	if r := mustRun(t, locks, calm, Options{}); r.Exercised[counterNames[stuckEnds]] == 0 {
		t.Errorf("with a crash left: %s, %v: nobody was counted as stuck", r.Verdict, r.Exercised)
	}
}

// TestPanickingHandlerIsNamed: a handler that can do nothing else.
func TestPanickingHandlerIsNamed(t *testing.T) {
	sys := handled(t, func(*Env, context.Context, model.Request) model.Answer { panic("nil map") })
	if r := mustRun(t, sys, Bounds{}, Options{}); r.Verdict != Violated || r.Story.Property != "converges" || r.Exercised["a handler panicked: nil map"] == 0 {
		t.Errorf("%s, %v", r.Verdict, r.Exercised)
	}
}

// TestLinesStayLines: whatever is in a body, a step is a row.
func TestLinesStayLines(t *testing.T) {
	sys := builtin(t, "naive", "")
	client := sys.Client
	sys.Client = func(i int) model.Client {
		c := client(i)
		c.Operation.Body, c.Operation.Name = "a\nb\tc\x00~c1.1~", "the\nreport"
		return c
	}
	var text strings.Builder
	r := mustRun(t, sys, Bounds{}, Options{})
	if _ = r.WriteText(&text, TextOptions{Color: true}); !strings.Contains(text.String(), "the␊report left 2 effects") {
		t.Errorf("%s", text.String())
	}
}
