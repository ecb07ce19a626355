package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// insertBody files a report with such a body.
func insertBody(ctx context.Context, env *Env, body string) {
	_, _ = env.Store("db").Do(ctx, model.Insert("reports", model.Set("body", body)))
}

// moody are writers that are not deterministic, and what is known of why.
var moody = []struct {
	name, source string
	handle       func(ctx context.Context, env *Env, req model.Request) model.Answer
}{
	{"map order", "order of a map", func(ctx context.Context, env *Env, _ model.Request) model.Answer {
		for body := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8} {
			_, _ = env.Store("db").Do(ctx, model.Select("reports", model.Eq("body", body)))
		}
		return model.Answer{Status: 503}
	}},
	{"any key of a map", "order of a map", func(ctx context.Context, env *Env, _ model.Request) model.Answer {
		for body := range map[string]int{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6, "g": 7, "h": 8} {
			insertBody(ctx, env, body)
			break
		}
		return model.Answer{Status: 503}
	}},
	{"random id", "math/rand/v2", func(ctx context.Context, env *Env, _ model.Request) model.Answer {
		insertBody(ctx, env, fmt.Sprint(rand.IntN(1000)))
		return model.Answer{Status: 201}
	}},
	{"a coin", "math/rand/v2", func(ctx context.Context, env *Env, req model.Request) model.Answer {
		if rand.IntN(2) == 0 {
			insertBody(ctx, env, req.Body)
		}
		return model.Answer{Status: 201, Body: `{"id":1}`}
	}},
	{"wall clock", "wall clock", func(ctx context.Context, env *Env, _ model.Request) model.Answer {
		insertBody(ctx, env, time.Now().Format(time.RFC3339Nano))
		return model.Answer{Status: 201}
	}},
	{"wall clock in an answer", "wall clock", func(ctx context.Context, env *Env, req model.Request) model.Answer {
		insertBody(ctx, env, req.Body)
		return model.Answer{Status: 503, Body: fmt.Sprint(time.Now().UnixNano())}
	}},
}

func moodySystem(t testing.TB, handle func(ctx context.Context, env *Env, req model.Request) model.Answer) System {
	sys := builtin(t, "naive", "")
	sys.Start = func(env *Env) model.Server {
		return handler(func(ctx context.Context, req model.Request) model.Answer { return handle(ctx, env, req) })
	}
	return sys
}

// TestNondeterminism: code that does something else each time is named as such,
// with its step and its source where that can be told, by every kind of search;
// it is never reported as a finding, whatever it breaks.
func TestNondeterminism(t *testing.T) {
	for _, m := range moody {
		for _, search := range []string{"exhaustive", "random"} {
			for _, stateless := range []bool{false, true} {
				sys := moodySystem(t, m.handle)
				sys.Stateless = stateless
				r, err := Run(t.Context(), sys, Bounds{}, Options{Search: search, Executions: 1000})
				if r != nil {
					t.Errorf("%s, %s, stateless %v: %s beside an error", m.name, search, stateless, r.Verdict)
				}
				if !errors.Is(err, interleave.ErrNondeterministic) || !strings.Contains(err.Error(), m.source) ||
					!strings.Contains(err.Error(), "asked for") || !strings.Contains(err.Error(), "event") {
					t.Errorf("%s, %s, stateless %v: error %v, want %v with its step and %q", m.name, search, stateless, err, interleave.ErrNondeterministic, m.source)
				}
			}
		}
		f := new(fakeT)
		if Check(f, moodySystem(t, m.handle), Bounds{}); !f.fatal || !strings.Contains(f.said(), "not deterministic") {
			t.Errorf("%s, Check: %s", m.name, f.said())
		}
	}
}

// TestMapOrderIsNamed: that it is a map's order can be told from the same things
// being asked for in another order.
func TestMapOrderIsNamed(t *testing.T) {
	_, err := Run(t.Context(), moodySystem(t, moody[0].handle), Bounds{}, Options{})
	if want := "The source is the order of a map"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// TestOutsideMemory: a counter that outlives every process is noticed, too.
func TestOutsideMemory(t *testing.T) {
	n := 0
	sys := moodySystem(t, func(ctx context.Context, env *Env, _ model.Request) model.Answer {
		n++
		insertBody(ctx, env, fmt.Sprint(n))
		return model.Answer{Status: 503}
	})
	_, err := Run(t.Context(), sys, Bounds{}, Options{})
	if !errors.Is(err, interleave.ErrNondeterministic) || !strings.Contains(err.Error(), "memory that outlives the process") {
		t.Errorf("error %v", err)
	}
}

// TestNondeterminismIsNoticedOften: one coin in each request, tossed anew in
// every run, is the least there is to notice; 200 searches all notice it.
func TestNondeterminismIsNoticedOften(t *testing.T) {
	for i := range 200 {
		sys := moodySystem(t, func(ctx context.Context, env *Env, req model.Request) model.Answer {
			_, _ = env.Store("db").Do(ctx, model.Select("reports", model.Eq("body", fmt.Sprint(rand.IntN(2)))))
			insertBody(ctx, env, req.Body)
			return model.Created(1)
		})
		_, err := Run(t.Context(), sys, Bounds{Clients: 1, Jumps: None}, Options{Search: []string{"exhaustive", "random"}[i%2], Executions: 10})
		if !errors.Is(err, interleave.ErrNondeterministic) {
			t.Fatalf("search %d: error %v, want %v", i, err, interleave.ErrNondeterministic)
		}
	}
}
