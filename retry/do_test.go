package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"exactlyone/clock"
	"exactlyone/retry"
)

var (
	refused = op("dial", errors.New("connection refused"))
	exp     = retry.Backoff{Strategy: retry.Exponential, Base: time.Second}
	ok      = retry.Result{Status: 201}
)

func status(n int) retry.Result { return retry.Result{Status: n} }

// script gives one result after the other.
func script(results ...retry.Result) func(context.Context, retry.Attempt) retry.Result {
	return func(_ context.Context, a retry.Attempt) retry.Result { return results[a.N-1] }
}

// TestDo: in a bubble the real clock moves by itself when everybody waits.
func TestDo(t *testing.T) {
	post, put, get := retry.Call{}, retry.Call{Idempotent: true}, retry.Call{Safe: true}
	keyed := retry.Call{Key: "k"}
	eof := retry.Result{Err: io.EOF}
	type want struct {
		Kind     retry.OutcomeKind
		Stop     retry.Stop
		Attempts int
		Took     time.Duration
	}
	for _, tt := range []struct {
		what    string
		policy  retry.Policy
		call    retry.Call
		results []retry.Result
		want    want
	}{
		{"done", retry.Policy{Attempts: 3}, post, []retry.Result{ok}, want{retry.Success, retry.StopDone, 1, 0}},
		{"zero policy", retry.Policy{}, put, []retry.Result{eof}, want{retry.Unknown, retry.StopAttempts, 1, 0}},
		{"no status is success", retry.Policy{}, post, []retry.Result{{}}, want{retry.Success, retry.StopDone, 1, 0}},
		{"final", retry.Policy{Attempts: 3}, post, []retry.Result{status(400)}, want{retry.Refused, retry.StopFinal, 1, 0}},
		{"a redirect may have had its effect", retry.Policy{Attempts: 3}, post, []retry.Result{status(303)}, want{retry.Unknown, retry.StopFinal, 1, 0}},
		{"unsafe", retry.Policy{Attempts: 3}, post, []retry.Result{eof}, want{retry.Unknown, retry.StopUnsafe, 1, 0}},
		{"unsafe, not recognised", retry.Policy{Attempts: 3}, post, []retry.Result{{Err: errors.New("x")}}, want{retry.Unknown, retry.StopUnsafe, 1, 0}},
		{"not sent", retry.Policy{Attempts: 3, Backoff: exp}, post, []retry.Result{{Err: refused}, {Err: refused}, ok}, want{retry.Success, retry.StopDone, 3, 3 * time.Second}},
		{"sent, though turned away", retry.Policy{Attempts: 3}, post, []retry.Result{{Status: 429, RetryAfter: "7"}}, want{retry.Refused, retry.StopUnsafe, 1, 0}},
		{"a field that says nothing", retry.Policy{Attempts: 3}, post, []retry.Result{{Status: 503, RetryAfter: "soon"}}, want{retry.Unknown, retry.StopUnsafe, 1, 0}},
		{"never sent", retry.Policy{Attempts: 2, Backoff: exp}, post, []retry.Result{{Err: refused}, {Err: refused}}, want{retry.Refused, retry.StopAttempts, 2, time.Second}},
		{"not sent, then unsafe", retry.Policy{Attempts: 3}, post, []retry.Result{{Err: refused}, status(500)}, want{retry.Unknown, retry.StopUnsafe, 2, 0}},
		{"with a key", retry.Policy{Attempts: 3, Backoff: exp}, keyed, []retry.Result{eof, status(409), ok}, want{retry.Success, retry.StopDone, 3, 3 * time.Second}},
		{"unknown, then refused", retry.Policy{Attempts: 3}, keyed, []retry.Result{eof, status(401)}, want{retry.Unknown, retry.StopFinal, 2, 0}},
		{"nothing to change", retry.Policy{Attempts: 3}, get, []retry.Result{eof, status(404)}, want{retry.Refused, retry.StopFinal, 2, 0}},
		{"nothing to change, unknown", retry.Policy{Attempts: 2}, get, []retry.Result{eof, eof}, want{retry.Refused, retry.StopAttempts, 2, 0}},
		{"told to wait", retry.Policy{Attempts: 2, Backoff: exp}, put, []retry.Result{{Status: 503, RetryAfter: "7"}, ok}, want{retry.Success, retry.StopDone, 2, 7 * time.Second}},
		{"told to wait less", retry.Policy{Attempts: 2, Backoff: exp}, put, []retry.Result{{Status: 429, RetryAfter: "0"}, ok}, want{retry.Success, retry.StopDone, 2, time.Second}},
		{"told to wait too long", retry.Policy{Attempts: 2, MaxRetryAfter: 20 * time.Second}, put, []retry.Result{{Status: 429, RetryAfter: "21"}, ok}, want{retry.Success, retry.StopDone, 2, 20 * time.Second}},
		{"told to wait for ever", retry.Policy{Attempts: 2}, put, []retry.Result{{Status: 429, RetryAfter: strings.Repeat("9", 30)}, ok}, want{retry.Success, retry.StopDone, 2, time.Minute}},
		{"a date", retry.Policy{Attempts: 2}, put, []retry.Result{{Status: 429, RetryAfter: "Sat, 01 Jan 2000 00:00:09 GMT"}, ok}, want{retry.Success, retry.StopDone, 2, 9 * time.Second}},
		{"not told", retry.Policy{Attempts: 2, MaxRetryAfter: -1}, put, []retry.Result{{Status: 429, RetryAfter: "7"}, ok}, want{retry.Success, retry.StopDone, 2, 0}},
		{"deadline before the wait", retry.Policy{Attempts: 9, Backoff: exp, Deadline: 7 * time.Second}, put, []retry.Result{eof, eof, eof, eof}, want{retry.Unknown, retry.StopDeadline, 3, 3 * time.Second}},
		{"deadline just after the wait", retry.Policy{Attempts: 9, Backoff: exp, Deadline: 7*time.Second + 1}, put, []retry.Result{eof, eof, eof, ok}, want{retry.Success, retry.StopDone, 4, 7 * time.Second}},
		{"budget", retry.Policy{Attempts: 9, Backoff: exp, Budget: retry.NewBudget(retry.BudgetConfig{Tokens: 11})}, put, []retry.Result{eof, eof, eof}, want{retry.Unknown, retry.StopBudget, 3, 3 * time.Second}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := clock.Real{}.Now()
				out := retry.Do(t.Context(), tt.policy, tt.call, script(tt.results...))
				got := want{out.Kind, out.Stop, out.Attempts, clock.Real{}.Now().Sub(start)}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.results[out.Attempts-1], out.Result, cmpopts.EquateErrors()); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
				if (out.Err() == nil) != (out.Kind == retry.Success) || out.Result.Err != nil && !errors.Is(out.Err(), out.Result.Err) {
					t.Errorf("error %v", out.Err())
				}
			})
		})
	}
}

// TestOneKey: it is made once, before the first attempt, and is the same for all.
func TestOneKey(t *testing.T) {
	made, sent := 0, []string{}
	call := retry.Call{NewKey: func() string { made++; return fmt.Sprint("key", made, " before ", len(sent)) }}
	out := retry.Do(t.Context(), retry.Policy{Attempts: 3}, call, func(_ context.Context, a retry.Attempt) retry.Result {
		sent = append(sent, a.Key)
		return status(500)
	})
	want := []string{"key1 before 0", "key1 before 0", "key1 before 0"}
	if diff := cmp.Diff(want, sent); diff != "" || out.Key != want[0] {
		t.Errorf("key %q (-want +got):\n%s", out.Key, diff)
	}
	given := retry.Do(t.Context(), retry.Policy{}, retry.Call{Key: "given", NewKey: call.NewKey}, script(ok))
	if given.Key != "given" || made != 1 {
		t.Errorf("key %q after making %d, want the one given", given.Key, made)
	}
}

// TestAttemptTimeout: an attempt that ends with its context is a time-out,
// whatever it says, on every kind of clock.
func TestAttemptTimeout(t *testing.T) {
	type plain struct{ clock.Clock } // with nothing but Now and Sleep
	for what, clk := range map[string]clock.Clock{"real": nil, "plain": plain{clock.Real{}}} {
		synctest.Test(t, func(t *testing.T) {
			start := clock.Real{}.Now()
			policy := retry.Policy{Clock: clk, Attempts: 3, AttemptTimeout: 2 * time.Second, Deadline: 5 * time.Second}
			out := retry.Do(t.Context(), policy, retry.Call{Idempotent: true}, func(ctx context.Context, a retry.Attempt) retry.Result {
				<-ctx.Done()
				if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
					t.Errorf("%s: cause %v", what, context.Cause(ctx))
				}
				return retry.Result{Err: errors.New("gave up")}
			})
			// 2 s, 2 s, and the 1 s left before the deadline.
			took := clock.Real{}.Now().Sub(start)
			if out.Class.Kind != retry.KindTimeout || out.Attempts != 3 || took != 5*time.Second || out.Kind != retry.Unknown {
				t.Errorf("%s: %+v after %v", what, out, took)
			}
		})
	}
}

// TestVirtualClock: the same on a clock that a test moves by hand.
func TestVirtualClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clk := new(clock.Virtual)
		policy := retry.Policy{Clock: clk, Attempts: 2, AttemptTimeout: 2 * time.Second, Backoff: exp}
		var out retry.Outcome
		done := make(chan struct{})
		go func() {
			defer close(done)
			out = retry.Do(t.Context(), policy, retry.Call{Idempotent: true}, func(ctx context.Context, a retry.Attempt) retry.Result {
				if a.N == 2 {
					return ok
				}
				<-ctx.Done()
				return retry.Result{Err: ctx.Err()}
			})
		}()
		for _, d := range []time.Duration{2 * time.Second, time.Second} {
			synctest.Wait()
			if next, _ := clk.Next(); next != d {
				t.Fatalf("waits for %v, want %v", next, d)
			}
			clk.Advance(d)
		}
		<-done
		if _, waits := clk.Next(); waits || out.Kind != retry.Success || out.Attempts != 2 {
			t.Errorf("%+v, somebody still waits: %v", out, waits)
		}
	})
}

// TestCanceled: the end of the context ends waits and attempts, and a retry that
// was not made costs nothing.
func TestCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		budget := retry.NewBudget(retry.BudgetConfig{Tokens: 20})
		start := clock.Real{}.Now()
		out := retry.Do(ctx, retry.Policy{Attempts: 9, Backoff: exp, Budget: budget}, retry.Call{Key: "k"}, script(status(500), status(500)))
		took := clock.Real{}.Now().Sub(start)
		if out.Stop != retry.StopCanceled || out.Kind != retry.Unknown || took != 1500*time.Millisecond || budget.Tokens() != 15 {
			t.Errorf("in a wait: %+v after %v, %d tokens", out, took, budget.Tokens())
		}
		out = retry.Do(ctx, retry.Policy{Attempts: 9}, retry.Call{Safe: true}, func(ctx context.Context, _ retry.Attempt) retry.Result {
			return retry.Result{Err: ctx.Err()}
		})
		if out.Stop != retry.StopCanceled || out.Kind != retry.Refused || out.Attempts != 1 {
			t.Errorf("ended before: %+v", out)
		}
		ctx, cancel = context.WithCancel(t.Context())
		out = retry.Do(ctx, retry.Policy{Attempts: 9}, retry.Call{}, func(ctx context.Context, _ retry.Attempt) retry.Result {
			cancel()
			return retry.Result{Err: ctx.Err()}
		})
		if out.Stop != retry.StopCanceled || out.Kind != retry.Unknown {
			t.Errorf("cancelled in an attempt: %+v", out)
		}
	})
}

// sleepy is a clock on which every sleep takes a second longer.
type sleepy struct{ clock.Real }

func (c sleepy) Sleep(ctx context.Context, d time.Duration) error {
	return c.Real.Sleep(ctx, d+time.Second)
}

// TestBudgetOfDo: retries that are made cost, those that come too late do not,
// and a success gives back what its last retry took.
func TestBudgetOfDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := retry.NewBudget(retry.BudgetConfig{Tokens: 20})
		policy := retry.Policy{Clock: sleepy{}, Attempts: 9, Backoff: exp, Deadline: 2 * time.Second, Budget: budget}
		out := retry.Do(t.Context(), policy, retry.Call{Key: "k"}, script(status(500), ok))
		if out.Stop != retry.StopDeadline || out.Attempts != 1 || budget.Tokens() != 20 {
			t.Errorf("overslept: %+v, %d tokens", out, budget.Tokens())
		}
		policy.Deadline = 0
		out = retry.Do(t.Context(), policy, retry.Call{Key: "k"}, script(status(500), status(500), ok))
		if out.Attempts != 3 || budget.Tokens() != 15 {
			t.Errorf("success: %+v, %d tokens, want 15", out, budget.Tokens())
		}
	})
}

// TestWaitsOfDo: waits follow the strategy, whose decorrelated jitter needs the
// one before it, and are the same for the same seed.
func TestWaitsOfDo(t *testing.T) {
	run := func(seed uint64) []time.Duration {
		policy := retry.Policy{
			Clock: instant{new(clock.Virtual)}, Attempts: 20, Uniform: retry.NewUniform(seed),
			Backoff: retry.Backoff{Strategy: retry.Decorrelated, Base: time.Second, Cap: time.Hour},
		}
		return retry.Do(t.Context(), policy, retry.Call{Safe: true}, func(context.Context, retry.Attempt) retry.Result { return status(500) }).Waits
	}
	got := run(1)
	if diff := cmp.Diff(got, run(1)); diff != "" || cmp.Equal(got, run(2)) || len(got) != 19 {
		t.Errorf("waits depend on more or less than the seed:\n%s", diff)
	}
	if slices.Max(got) <= 3*time.Second {
		t.Errorf("no wait depends on the one before: %v", got)
	}
	previous := time.Second
	for i, w := range got {
		if w < time.Second || w > min(time.Hour, 3*previous) {
			t.Errorf("wait %d is %v after %v", i+1, w, previous)
		}
		previous = w
	}
}

// instant is a clock whose sleepers do not wait.
type instant struct{ *clock.Virtual }

func (c instant) Sleep(_ context.Context, d time.Duration) error {
	c.Advance(max(0, d))
	return nil
}

// TestDoKeepsItsRules: over any results and policy, Do never repeats what may
// not be repeated and never exceeds attempts, deadline and budget.
func TestDoKeepsItsRules(t *testing.T) {
	results := []retry.Result{
		ok, status(200), status(303), status(400), status(404), status(409), status(429), status(500),
		{Status: 503, RetryAfter: "3"},
		{Err: refused},
		{Err: io.EOF},
		{Err: context.DeadlineExceeded},
		{Err: errors.New("x")},
	}
	rapid.Check(t, func(t *rapid.T) {
		clk := instant{new(clock.Virtual)}
		tokens := rapid.IntRange(5, 40).Draw(t, "tokens")
		policy := retry.Policy{
			Clock: clk, Attempts: rapid.SampledFrom([]int{0, 1, 2, 3, 10, math.MaxInt}).Draw(t, "attempts"),
			Backoff: retry.Backoff{
				Strategy: rapid.SampledFrom(retry.Strategies).Draw(t, "strategy"), Base: time.Second, Cap: 5 * time.Second,
			},
			Uniform: retry.NewUniform(rapid.Uint64().Draw(t, "seed")),
			// Bounds the run, too: an attempt takes a second.
			Deadline: time.Duration(rapid.IntRange(1, 60).Draw(t, "deadline")) * time.Second,
			Budget:   retry.NewBudget(retry.BudgetConfig{Tokens: tokens}),
		}
		call := retry.Call{
			Safe: rapid.Bool().Draw(t, "safe"), Idempotent: rapid.Bool().Draw(t, "idempotent"),
			Key: rapid.SampledFrom([]string{"", "k"}).Draw(t, "key"),
		}
		var made []retry.Class
		out := retry.Do(context.Background(), policy, call, func(_ context.Context, a retry.Attempt) retry.Result {
			for _, c := range made {
				if !c.Kind.Retried() || !c.NotDone && !call.Harmless() {
					t.Fatalf("attempt %d after %+v", a.N, c)
				}
			}
			if since := clk.Now().Sub(clock.Epoch); since >= policy.Deadline || a.Key != call.Key {
				t.Fatalf("attempt %d after %v with key %q", a.N, since, a.Key)
			}
			clk.Advance(time.Second)
			r := rapid.SampledFrom(results).Draw(t, "result")
			made = append(made, retry.Classify(call, r))
			return r
		})
		spent := 5 * len(out.Waits)
		for _, c := range made[:len(out.Waits)] {
			if c.Kind == retry.KindTimeout {
				spent += 5
			}
		}
		maybe := false
		for _, c := range made {
			maybe = maybe || !c.NotDone
		}
		switch {
		case out.Attempts > max(1, policy.Attempts) || out.Attempts != len(made) || len(out.Waits) != out.Attempts-1:
			t.Fatalf("%d attempts of %d, waits %v", out.Attempts, policy.Attempts, out.Waits)
		case spent > tokens:
			t.Fatalf("spent %d of %d tokens", spent, tokens)
		case (out.Kind == retry.Success) != (out.Class.Kind == retry.KindOK):
			t.Fatalf("outcome %s after %+v", out.Kind, out.Class)
		case out.Kind == retry.Refused && maybe && !call.Safe:
			t.Fatalf("refused, after %+v", made)
		case out.Kind == retry.Unknown && (!maybe || call.Safe):
			t.Fatalf("unknown, after %+v", made)
		}
	})
}

// TestLayers: retries around retries judge all attempts below, not the last.
func TestLayers(t *testing.T) {
	for _, tt := range []struct {
		below []retry.Result
		want  retry.Class
	}{
		{[]retry.Result{{Err: io.EOF}, {Err: refused}}, retry.Class{Kind: retry.KindRetryable}},
		{[]retry.Result{{Err: refused}, {Err: refused}}, retry.Class{Kind: retry.KindRetryable, NotDone: true}},
		{[]retry.Result{status(500), status(401)}, retry.Class{Kind: retry.KindAuth}},
		{[]retry.Result{{Err: refused}, {Err: context.DeadlineExceeded}}, retry.Class{Kind: retry.KindTimeout}},
	} {
		out := retry.Do(t.Context(), retry.Policy{Attempts: 2}, retry.Call{Key: "k"}, script(tt.below...))
		err := fmt.Errorf("submit: %w", out.Err())
		if diff := cmp.Diff(tt.want, retry.ClassifyError(err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		late := new(retry.OutcomeError)
		if errors.As(err, &late); late.Timeout() != (tt.want.Kind == retry.KindTimeout) {
			t.Errorf("%v is a time-out: %v", err, late.Timeout())
		}
	}
}

func TestAdvice(t *testing.T) {
	for want, out := range map[string]retry.Outcome{
		"It was carried out. Do not submit it again.":                                                     {Kind: retry.Success},
		"It may have been carried out. Look before submitting again.":                                     {Kind: retry.Unknown},
		`It may have been carried out. Look before submitting again, or submit it with the same key "k".`: {Kind: retry.Unknown, Key: "k"},
		"It was refused and changed nothing. It will be refused again unless something about it changes.": {Kind: retry.Refused, Stop: retry.StopFinal},
		"It changed nothing. It may be submitted again later.":                                            {Kind: retry.Refused, Stop: retry.StopBudget},
	} {
		if got := out.Advice(); got != want {
			t.Errorf("%+v: %s, want %s", out, got, want)
		}
	}
	err := retry.Outcome{Kind: retry.Unknown, Stop: retry.StopUnsafe, Attempts: 1, Result: retry.Result{Err: io.EOF}}.Err()
	want := "retry: outcome unknown after 1 attempt (unsafe): EOF. It may have been carried out. Look before submitting again."
	if err.Error() != want || !errors.Is(err, io.EOF) {
		t.Errorf("%v\nwant %s", err, want)
	}
}
