package exactlyone

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"exactlyone/model"
	"exactlyone/props"
)

// only is bounds with one kind of fault.
func only(t *testing.T, json string, n int, more func(b *Bounds)) Bounds {
	t.Helper()
	b := Bounds{Clients: 1}
	if more != nil {
		more(&b)
	}
	found := false
	for _, l := range b.Limits() {
		switch {
		case l.Name == json:
			found, *l.N = true, n
		case l.fault && *l.N == 0:
			*l.N = None
		}
	}
	if !found {
		t.Fatalf("no fault %q", json)
	}
	return b
}

// TestFaults: each kind of fault alone breaks a writer that does not reckon
// with it, and the right writer holds under it, having met it.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: long searches")
	}
	two := func(b *Bounds) { b.Clients = 2 }
	for _, tt := range []struct {
		fault, broken, property, label string
		more                           func(b *Bounds)
	}{
		{"lost_answers", "naive", "at-most-one", "answer to client 1 is lost", nil},
		{"commit_faults", "key_split", "at-most-one", "client 1: COMMIT takes effect but errs", nil},
		{"statement_answers", "naive", "at-most-one", "the pool sends it again", nil},
		{"store_errors", "key_split", "at-most-one", "client 1: BEGIN fails: store: connection lost", nil},
		{"cancels", "key_split", "at-most-one", "client 1 goes away, its request is cancelled", nil},
		{"duplicates", "naive", "at-most-one", "client 1: send twice, first to node 1", nil},
		{"crashes", "key_split", "at-most-one", "node 1 crashes", nil},
		{"jumps", "key_atomic_nofence", "at-most-one", "the clock jumps to +30.001s", two},
		{"skews", "key_atomic_nofence", "at-most-one", "the clock of node 1 is 1m0s ahead", func(b *Bounds) { b.Clients, b.Nodes = 2, 2 }},
	} {
		t.Run(tt.fault, func(t *testing.T) {
			b := only(t, tt.fault, 1, tt.more)
			r := mustRun(t, builtin(t, tt.broken, ""), b, Options{})
			if r.Verdict != Violated || r.Story.Property != tt.property || r.Faults != 1 {
				t.Fatalf("%s: %s, %+v", tt.broken, r.Verdict, r.Story)
			}
			at := slices.IndexFunc(r.Story.Steps, func(s Step) bool { return s.Fault })
			if !strings.Contains(r.Story.Steps[at].Label, tt.label) {
				t.Errorf("%s: %q, want %q", tt.broken, r.Story.Steps[at].Label, tt.label)
			}
			calm := only(t, tt.fault, None, tt.more)
			if r := mustRun(t, builtin(t, tt.broken, ""), calm, Options{}); r.Verdict == Violated {
				t.Errorf("%s without the fault: %s", tt.broken, r.Verdict)
			}
			r = mustRun(t, builtin(t, "key_atomic", ""), b, Options{})
			switch {
			case tt.fault == "statement_answers": // key_atomic writes in transactions only
				if r.Verdict != Vacuous {
					t.Errorf("key_atomic: %s, want vacuous", r.Verdict)
				}
			case r.Verdict != Holds:
				t.Errorf("key_atomic: %s %s", r.Verdict, r.Why)
			}
		})
	}
}

// TestLostRequestIsHarmless: a lost request is nothing but another attempt.
func TestLostRequestIsHarmless(t *testing.T) {
	r := mustRun(t, builtin(t, "naive", ""), only(t, "lost_requests", 1, nil), Options{})
	if r.Verdict != Holds || r.Exercised["requests lost"] == 0 {
		t.Errorf("%s, %v", r.Verdict, r.Exercised)
	}
}

// caller calls a third party for each request, cleans up when that fails, and
// panics on if that panics.
type caller struct {
	env  *Env
	key  bool // hands the key on
	keep bool // leaves the report where it is when the call fails
}

func (c caller) Handle(ctx context.Context, req model.Request) (answer model.Answer) {
	db := c.env.Store("db")
	r, err := db.Do(ctx, model.InsertIfAbsent("keys", model.Set("key", req.Key)))
	if err != nil {
		return model.Answer{Status: 503}
	}
	if r.Affected == 0 {
		return model.Answer{Status: 409}
	}
	clean := true
	defer func() {
		if clean && !c.keep {
			_, _ = db.Do(ctx, model.Delete("keys", model.Eq("key", req.Key)))
		}
	}()
	call := model.Request{Method: "POST", Path: "/charge", Body: req.Body}
	if c.key {
		call.Key = req.Key
	}
	if _, err := c.env.Client("bank").Send(ctx, call); err != nil {
		return model.Answer{Status: 502}
	}
	clean = false
	return model.Answer{Status: 201}
}

// TestFailedCalls: a third party that honours the key may be called again after
// a call whose answer was lost; one that ignores it may not. A claim is freed by
// clean-up that runs also after a panic; without it nobody ever finishes.
func TestFailedCalls(t *testing.T) {
	system := func(c caller, honours bool) System {
		sys := builtin(t, "key_split", "")
		sys.Services = []Service{{Name: "bank", HonoursKey: honours}}
		sys.ID = nil
		sys.Start = func(env *Env) model.Server { c.env = env; return c }
		sys.Effects = func(c Contents) (all []model.Effect) {
			for _, row := range c.Rows("bank", "calls") {
				all = append(all, model.Effect{Body: row.Text("body")})
			}
			return all
		}
		return sys
	}
	b := only(t, "calls", 1, nil)
	for _, tt := range []struct {
		name     string
		sys      System
		property string
	}{
		{"honoured", system(caller{key: true}, true), ""},
		{"ignored", system(caller{key: true}, false), "at-most-one"},
		{"no key", system(caller{}, true), "at-most-one"},
		{"no clean-up", system(caller{key: true, keep: true}, true), "converges"},
	} {
		r := mustRun(t, tt.sys, b, Options{})
		got := ""
		if r.Story != nil {
			got = r.Story.Property
		}
		if got != tt.property {
			t.Errorf("%s: broken %q, want %q; %s %s", tt.name, got, tt.property, r.Verdict, r.Why)
		}
		if tt.property == "" {
			for _, text := range callTexts {
				if r.Exercised["calls: "+text] == 0 {
					t.Errorf("%s: no call %s", tt.name, text)
				}
			}
		}
	}
}

// TestWhatCanFail: the table of docs/faults.md, as the backends of this package
// declare it. What is not there is never tried.
func TestWhatCanFail(t *testing.T) {
	met := func(sys System, json string) []string {
		r := mustRun(t, sys, only(t, json, 1, nil), Options{Reduction: "none"})
		return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Exercised)), func(s string) bool {
			return !strings.HasPrefix(s, "statements") && !strings.HasPrefix(s, "store errors")
		})
	}
	quiet := func(driver string) System {
		sys := builtin(t, "naive", "")
		sys.Driver = driver
		sys.Properties = []props.Property{atMost(99)}
		return sys
	}
	for _, tt := range []struct {
		driver, json, want string
	}{
		{"", "statement_answers", "[statements that were sent twice statements whose reply was lost]"},
		{DriverPgx, "statement_answers", "[statements whose reply was lost]"},
		{DriverLibPQ, "statement_answers", "[statements that were sent twice]"},
		{"", "store_errors", "[store errors: store: connection lost store errors: store: could not serialize access]"},
	} {
		if got := fmt.Sprint(met(quiet(tt.driver), tt.json)); got != tt.want {
			t.Errorf("driver %q, %s: %s, want %s", tt.driver, tt.json, got, tt.want)
		}
	}
}
