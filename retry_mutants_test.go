package exactlyone

import (
	"context"
	"testing"
	"time"

	"exactlyone/clock"
	"exactlyone/model"
	"exactlyone/retry"
)

// frozen is a clock that reads the time but once.
type frozen struct {
	clock.Clock
	first time.Time
}

func (f *frozen) Now() time.Time {
	if f.first.IsZero() {
		f.first = f.Clock.Now()
	}
	return f.first
}

func (f *frozen) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return clock.WithTimeout(ctx, f.Clock, d)
}

// rekeying is a transport that sends a new key each time.
type rekeying struct {
	model.Transport
	newID func() string
}

func (r rekeying) Send(ctx context.Context, req model.Request) (model.Answer, error) {
	req.Key = r.newID()
	return r.Transport.Send(ctx, req)
}

// TestRetryMutants: each property turns red on a policy that breaks it, and the
// first that does is that one.
func TestRetryMutants(t *testing.T) {
	all := underTest()
	classified := func(change func(*retry.Class)) func(*retry.Policy) {
		return func(p *retry.Policy) {
			p.Classify = func(c retry.Call, r retry.Result) retry.Class {
				class := retry.Classify(c, r)
				change(&class)
				return class
			}
		}
	}
	for _, tt := range []struct {
		mutant, of string
		change     func(*retry.Policy)
		run        clientRun // nil means stamped
		property   string
	}{
		{"nothing is changed", "POST none, deadline", func(*retry.Policy) {}, nil, ""},
		{"takes everything for not carried out", "POST none, deadline", classified(func(c *retry.Class) { c.NotDone = true }), nil, "never-twice"},
		{"takes what broke at the server for not carried out", "POST none, budget", classified(func(c *retry.Class) { c.NotDone = c.NotDone || c.Kind == retry.KindUpstream }), nil, "never-twice"},
		{"takes a time-out for not carried out", "POST none, budget", classified(func(c *retry.Class) { c.NotDone = c.NotDone || c.Kind == retry.KindTimeout }), nil, "never-twice"},
		{"one attempt too many", "PUT none, attempts", func(p *retry.Policy) { p.Attempts++ }, nil, "attempts"},
		{"no deadline", "PUT none, deadline", func(p *retry.Policy) { p.Deadline = 0 }, nil, "deadline"},
		{"reads the clock but once", "PUT none, deadline", func(*retry.Policy) {}, func(c model.Client, ctx context.Context, tr model.Transport, clk clock.Clock, newID func() string) model.Outcome {
			s := &stamping{Transport: tr, Clock: clk}
			return c.Run(ctx, s, &frozen{Clock: s}, newID)
		}, "deadline"},
		{"no budget", "PUT none, budget", func(p *retry.Policy) { p.Budget = nil }, nil, "budget"},
		{"time-outs cost nothing", "PUT none, budget", func(p *retry.Policy) {
			p.Budget = retry.NewBudget(retry.BudgetConfig{Tokens: 11, RetryCost: 11, TimeoutCost: 1})
		}, nil, "budget"},
		{"waits as long as it likes", "PUT none, budget", func(p *retry.Policy) { p.MaxRetryAfter = -1 }, nil, "as-told"},
		{"a key for each attempt", "POST per_attempt, deadline", func(*retry.Policy) {}, func(c model.Client, ctx context.Context, tr model.Transport, clk clock.Clock, newID func() string) model.Outcome {
			s := &stamping{Transport: tr, Clock: clk}
			return c.Run(ctx, rekeying{s, newID}, s, newID)
		}, "one-key"},
	} {
		t.Run(tt.mutant, func(t *testing.T) {
			u := all[tt.of]
			policy := func() retry.Policy {
				p := u.policy()
				tt.change(&p)
				return p
			}
			run := tt.run
			if run == nil {
				run = stamped
			}
			broken := ""
			for _, script := range scripts(2) {
				r := mustRun(t, u.retrying(policy, run, script), u.bounds(), Options{Workers: 1})
				if r.Story != nil {
					broken = r.Story.Property
					break
				}
			}
			if broken != tt.property {
				t.Errorf("broken: %q, want %q", broken, tt.property)
			}
		})
	}
}

// TestCarefulClient: the writer without keys, whom a lost answer makes file two
// reports for the simple client, leaves at most one for a client that retries
// only what was certainly not carried out; and keys stay as good as they were.
func TestCarefulClient(t *testing.T) {
	for _, writer := range []string{"naive", "key_atomic"} {
		sys := builtin(t, writer, "")
		simple := sys.Client
		sys.Client = func(i int) model.Client {
			c := simple(i)
			c.Policy = func() retry.Policy { return retry.Policy{} }
			return c
		}
		b := Bounds{Clients: 1, Attempts: 3, LostAnswers: 2, LostRequests: 1}
		if r := mustRun(t, sys, b, Options{}); r.Verdict != Holds {
			t.Errorf("%s: %s %s", writer, r.Verdict, r.Why)
		}
		sys.Client = simple
		want := Holds
		if writer == "naive" {
			want = Violated
		}
		if r := mustRun(t, sys, b, Options{}); r.Verdict != want {
			t.Errorf("%s with the simple client: %s, want %s", writer, r.Verdict, want)
		}
	}
}
