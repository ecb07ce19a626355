package model_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"exactlyone/clock"
	"exactlyone/model"
	"exactlyone/retry"
)

// writers are the built-in writers over a store and a clock, and whether they
// look at the key.
func writers(s model.Store, c clock.Clock) map[string]model.Server {
	return map[string]model.Server{
		"naive":              model.Naive{Store: s},
		"key_split":          model.KeySplit{Store: s},
		"key_atomic":         model.KeyAtomic{Store: s, Clock: c, Lease: 30 * time.Second},
		"key_atomic_nofence": model.KeyAtomic{Store: s, Clock: c, Lease: 30 * time.Second, NoFence: true},
	}
}

// TestKeySemantics: the answers that the Idempotency-Key draft asks for.
func TestKeySemantics(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"key_split", "key_atomic", "key_atomic_nofence"} {
		t.Run(name, func(t *testing.T) {
			store := model.NewMemory(model.ReportTables)
			w := writers(store, new(clock.Virtual))[name]
			req := model.Request{Method: "POST", Path: "/reports", Key: "k", Body: "a"}

			if got := w.Handle(ctx, model.Request{Method: "POST", Path: "/reports", Body: "a"}); got.Status != 400 {
				t.Errorf("without a key: %s, want 400", got)
			}
			first := w.Handle(ctx, req)
			if first.Status != 201 || first.Replayed() {
				t.Errorf("first: %s, want a fresh 201", first)
			}
			again := w.Handle(ctx, req)
			if diff := cmp.Diff(first.Replay(), again); diff != "" {
				t.Errorf("repeated (-want +got):\n%s", diff)
			}
			for what, other := range map[string]model.Request{
				"payload":  {Method: "POST", Path: "/reports", Key: "k", Body: "b"},
				"path":     {Method: "POST", Path: "/other", Key: "k", Body: "a"},
				"method":   {Method: "PUT", Path: "/reports", Key: "k", Body: "a"},
				"identity": {Method: "POST", Path: "/reports", Key: "k", Body: "a", Caller: "eve"},
			} {
				if got := w.Handle(ctx, other); got.Status != 422 {
					t.Errorf("other %s: %s, want 422", what, got)
				}
			}
			if rows := store.Rows("reports"); len(rows) != 1 {
				t.Errorf("%d reports, want 1", len(rows))
			}
		})
	}
}

// TestKeyAtomicRunning: while a claim stands others get 409; once its lease is
// over it is taken over, and the fence stops the first owner.
func TestKeyAtomicRunning(t *testing.T) {
	for _, noFence := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { runOvertaken(t, noFence) })
	}
}

func runOvertaken(t *testing.T, noFence bool) {
	ctx, store, clk := context.Background(), model.NewMemory(model.ReportTables), new(clock.Virtual)
	var notes []string
	w := model.KeyAtomic{Store: store, Clock: clk, Lease: 30 * time.Second, NoFence: noFence, Note: func(n string) { notes = append(notes, n) }}
	slow := w
	slow.Work = time.Minute
	req := model.Request{Method: "POST", Path: "/reports", Key: "k", Body: "a"}

	answer := make(chan model.Answer)
	go func() { answer <- slow.Handle(ctx, req) }()
	synctest.Wait() // until the slow one works
	if got := w.Handle(ctx, req); got.Status != 409 {
		t.Errorf("while it runs: %s, want 409", got)
	}
	clk.Advance(30 * time.Second)
	if got := w.Handle(ctx, req); got.Status != 409 {
		t.Errorf("at the end of the lease: %s, want 409", got)
	}
	clk.Advance(time.Millisecond)
	fresh := w.Handle(ctx, req)
	if fresh.Status != 201 {
		t.Errorf("after the lease: %s, want 201", fresh)
	}
	clk.Advance(time.Minute)
	late, reports := <-answer, len(store.Rows("reports"))
	switch {
	case noFence && reports != 2:
		t.Errorf("without the fence: %d reports, want the flaw: 2", reports)
	case !noFence && (reports != 1 || !cmp.Equal(late, fresh.Replay())):
		t.Errorf("with the fence: %d reports, late answer %s", reports, late)
	case !noFence && !cmp.Equal(notes, []string{"takeover", "fenced out"}):
		t.Errorf("noted %v", notes)
	}
}

// TestWritersOnRealGoroutines runs every writer on real goroutines, for the
// race detector, and checks that key_atomic leaves one report all the same.
func TestWritersOnRealGoroutines(t *testing.T) {
	const clients, rounds = 8, 20
	for name := range writers(nil, nil) {
		t.Run(name, func(t *testing.T) {
			for range rounds {
				store := model.NewMemory(model.ReportTables)
				w := writers(store, clock.Real{})[name]
				var wg sync.WaitGroup
				outcomes := make([]model.Outcome, clients)
				for i := range clients {
					wg.Go(func() {
						c := model.Client{Operation: op, Key: model.KeyToolCall, Attempts: 50}
						outcomes[i] = c.Run(context.Background(), direct{w}, clock.Real{}, nil)
					})
				}
				wg.Wait()
				n := len(store.Rows("reports"))
				if n < 1 || name == "key_atomic" && n != 1 {
					t.Fatalf("%d reports", n)
				}
				if name == "key_atomic" {
					for _, o := range outcomes {
						if o.Kind == model.Success && o.Answer.Body != `{"id":1}` {
							t.Errorf("answered %s", o.Answer)
						}
					}
				}
			}
		})
	}
}

// TestOtherWritersOnRealGoroutines: the rest of them, for the race detector. The
// right ones leave one report, the others at least one.
func TestOtherWritersOnRealGoroutines(t *testing.T) {
	const clients, rounds = 8, 10
	mail := model.NewMemory(model.MailTables(true))
	for name, tt := range map[string]struct {
		schema model.Schema
		make   func(s model.Store) model.Server
		right  bool
	}{
		"check_first":   {model.UniqueTables(false), func(s model.Store) model.Server { return model.CheckFirst{Store: s} }, false},
		"unique":        {model.UniqueTables(true), func(s model.Store) model.Server { return model.Unique{Store: s} }, true},
		"unique_staged": {model.UniqueTables(true), func(s model.Store) model.Server { return model.Unique{Store: s, Staged: true} }, true},
		"cache":         {model.ReportTables, func(s model.Store) model.Server { return model.NewCache(s, nil) }, false},
		"mutex":         {model.ReportTables, func(s model.Store) model.Server { return model.NewCache(s, new(sync.Mutex)) }, true},
		"outbox":        {model.OutboxTables, func(s model.Store) model.Server { return model.Outbox{Store: s, Mail: mail, Dedup: true} }, true},
		"saga": {model.SagaTables, func(s model.Store) model.Server {
			return model.Saga{Store: s, Bank: model.NewMemory(model.ChargeTables)}
		}, true},
		"downstream": {model.ReportTables, func(s model.Store) model.Server {
			return model.Downstream{Store: s, Bank: direct{model.Naive{Store: model.NewMemory(model.ReportTables)}}}
		}, true},
		"key_atomic_renewed": {model.ReportTables, func(s model.Store) model.Server {
			held := model.NewClaims()
			renewer := model.Renewer{Store: s, Clock: clock.Real{}, Lease: time.Minute, Held: held}
			return renewing{model.KeyAtomic{Store: s, Clock: clock.Real{}, Lease: time.Minute, Held: held}, renewer}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			for range rounds {
				store := model.NewMemory(tt.schema)
				w := tt.make(store)
				var wg sync.WaitGroup
				for range clients {
					wg.Go(func() {
						c := model.Client{Operation: op, Key: model.KeyToolCall, Attempts: 50}
						c.Run(context.Background(), direct{w}, clock.Real{}, nil)
						if o, ok := w.(model.Outbox); ok {
							o.Relay(context.Background())
						}
					})
				}
				wg.Wait()
				if n := len(store.Rows("reports")); n < 1 || tt.right && n != 1 {
					t.Fatalf("%d reports", n)
				}
			}
		})
	}
}

// renewing renews after each request.
type renewing struct {
	model.KeyAtomic
	renewer model.Renewer
}

func (r renewing) Handle(ctx context.Context, req model.Request) model.Answer {
	r.renewer.Renew(ctx)
	return r.KeyAtomic.Handle(ctx, req)
}

var op = model.Operation{Path: "/reports", Body: "a", RunID: "run", ToolUseID: "call", Module: "auth", Title: "Login: fails!"}

// direct calls a server without a network.
type direct struct{ server model.Server }

func (d direct) Send(ctx context.Context, req model.Request) (model.Answer, error) {
	return d.server.Handle(ctx, req), nil
}

// script answers with one status after another; 0 is a closed connection.
type script struct {
	statuses []int
	keys     []string
}

func (s *script) Send(_ context.Context, req model.Request) (model.Answer, error) {
	s.keys = append(s.keys, req.Key)
	status := s.statuses[0]
	if s.statuses = s.statuses[1:]; status == 0 {
		return model.Answer{}, model.ErrConnection
	}
	return model.Answer{Status: status}, nil
}

// waits is a clock that notes how long it was asked to wait.
type waits struct {
	clock.Real
	slept []time.Duration
}

func (w *waits) Sleep(_ context.Context, d time.Duration) error {
	w.slept = append(w.slept, d)
	return nil
}

func TestClient(t *testing.T) {
	tests := []struct {
		statuses []int
		want     model.OutcomeKind
		sent     int
	}{
		{[]int{201}, model.Success, 1},
		{[]int{0, 409, 429, 200}, model.Success, 4},
		{[]int{500, 502, 503, 504}, model.Unknown, 4},
		{[]int{0, 0, 0, 0}, model.Unknown, 4},
		{[]int{422}, model.Refused, 1},
		{[]int{0, 400}, model.Refused, 2},
		{[]int{501}, model.Refused, 1},
		{[]int{302}, model.Refused, 1},
	}
	for _, tt := range tests {
		s, clk := &script{statuses: tt.statuses}, new(waits)
		c := model.Client{Operation: op, Attempts: 4, Backoff: time.Second}
		got := c.Run(context.Background(), s, clk, nil)
		if got.Kind != tt.want || len(s.keys) != tt.sent {
			t.Errorf("%v: %s after %d requests, want %s after %d", tt.statuses, got.Kind, len(s.keys), tt.want, tt.sent)
		}
		want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}[:tt.sent-1]
		if diff := cmp.Diff(want, clk.slept[:len(clk.slept):len(clk.slept)]); len(want) > 0 && diff != "" {
			t.Errorf("%v: waits (-want +got):\n%s", tt.statuses, diff)
		}
	}
}

func TestClientStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := &script{statuses: []int{0, 0}}
	c := model.Client{Operation: op, Attempts: 2, Backoff: time.Second}
	if got := c.Run(ctx, s, clock.Real{}, nil); got.Kind != model.Unknown || len(s.keys) != 1 {
		t.Errorf("%s after %d requests, want unknown after 1", got.Kind, len(s.keys))
	}
}

// TestClientWithPolicy: one key for all attempts, and no attempt after one that
// may have been sent, unless there is a key.
func TestClientWithPolicy(t *testing.T) {
	n := 0
	newID := func() string { n++; return fmt.Sprint("id", n) }
	for _, tt := range []struct {
		key      model.KeySource
		statuses []int
		want     model.OutcomeKind
		keys     []string
	}{
		{model.KeyPerAttempt, []int{0, 500, 201}, model.Success, []string{"id1", "id1", "id1"}},
		{model.KeyToolCall, []int{0, 401}, model.Unknown, []string{"run:call", "run:call"}},
		{model.KeyNone, []int{500, 201}, model.Unknown, []string{""}},
		{"", []int{429, 429, 429}, model.Refused, []string{""}},
		{"", []int{404}, model.Refused, []string{""}},
	} {
		s := &script{statuses: tt.statuses}
		c := model.Client{Operation: op, Key: tt.key, Attempts: 3, Policy: func() retry.Policy { return retry.Policy{} }}
		got := c.Run(context.Background(), s, clock.Real{}, newID)
		if diff := cmp.Diff(tt.keys, s.keys); got.Kind != tt.want || diff != "" {
			t.Errorf("%s %v: %s, want %s; keys (-want +got):\n%s", tt.key, tt.statuses, got.Kind, tt.want, diff)
		}
		if tt.want == model.Refused && got.Answer.Status != tt.statuses[len(s.keys)-1] {
			t.Errorf("%v: answer %s", tt.statuses, got.Answer)
		}
	}
}

func TestKeySources(t *testing.T) {
	n := 0
	newID := func() string { n++; return fmt.Sprint("id", n) }
	reworded := op
	reworded.Title, reworded.ToolUseID = "login   FAILS", "call-2"
	for _, tt := range []struct {
		source        model.KeySource
		first, second string // of op; then of op again
		same          bool   // for the same report reworded under a new call
	}{
		{model.KeyNone, "", "", true},
		{model.KeyPerAttempt, "id1", "id2", false},
		{model.KeyToolCall, "run:call", "run:call", false},
		{model.KeyBusiness, "", "", true}, // a hash
	} {
		a, b, c := tt.source.Key(op, newID), tt.source.Key(op, newID), tt.source.Key(reworded, newID)
		if tt.source == model.KeyBusiness {
			if len(a) != 16 {
				t.Errorf("business key %q, want 16 hexadecimal digits", a)
			}
		} else if a != tt.first || b != tt.second {
			t.Errorf("%s: keys %q and %q, want %q and %q", tt.source, a, b, tt.first, tt.second)
		}
		if (b == c) != tt.same {
			t.Errorf("%s: reworded under a new call: %q and %q, same should be %v", tt.source, b, c, tt.same)
		}
	}
	if _, err := model.ParseKeySource("uuid"); err == nil {
		t.Error("an unknown key source was accepted")
	}
}
