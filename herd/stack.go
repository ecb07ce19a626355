package herd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"exactlyone/retry"
)

// Stack is layers of services that each retry the one below. A user's request
// enters the first; the last calls a backend, which fails. Each layer makes so
// many attempts, waits between them, and then fails towards its caller.
type Stack struct {
	Attempts  []int         // of each layer, first the one users call; nil means 3, 3, 3, 3, 3
	Requests  int           // of users; 0 means 1000
	Every     time.Duration // between two requests; 0 means 10 ms
	Backoff   retry.Backoff // the zero one means full jitter, 5 ms, at most 2 s
	DelayMean time.Duration // one way between layers; 0 means 10 ms; below 0 means none
	DelaySD   time.Duration // 0 means 2 ms; below 0 means none
	Budget    float64       // tokens of each layer's own retry budget; 0 means no budgets
	Seed      uint64
}

// StackResult is what a stack came to.
type StackResult struct {
	Stack
	Calls       []int64   // into each layer; the last number is the backend's
	Refused     []int64   // retries that each layer's budget refused
	Time        Estimate  // ms until a user's request failed
	Arrivals    Histogram // of calls at the backend
	Interrupted bool
}

// mostCalls bounds the calls of one simulation.
const mostCalls = 100_000_000

// hop is a call on its way down to a layer, or its failure on the way up.
type hop struct {
	request int32
	layer   int16
	failed  bool
}

// stack is a Stack that runs.
type stack struct {
	*StackResult
	random  stream
	events  queue[hop]
	budgets []*bucket
	tries   [][]int           // by request and layer: attempts made for its current call
	waits   [][]time.Duration // the last wait, likewise
	times   []float64
}

// Run simulates every call. When ctx ends early, the result holds what had
// happened by then.
func (s Stack) Run(ctx context.Context) (*StackResult, error) {
	if len(s.Attempts) == 0 {
		s.Attempts = []int{3, 3, 3, 3, 3}
	}
	set(&s.Requests, 1000)
	set(&s.Every, 10*time.Millisecond)
	set(&s.Backoff, retry.Backoff{Strategy: retry.Full, Base: 5 * time.Millisecond, Cap: 2 * time.Second})
	set(&s.DelayMean, 10*time.Millisecond)
	set(&s.DelaySD, 2*time.Millisecond)
	s.DelayMean, s.DelaySD = max(s.DelayMean, 0), max(s.DelaySD, 0)
	if err := s.check(); err != nil {
		return nil, err
	}
	layers := len(s.Attempts)
	t := &stack{
		StackResult: &StackResult{Stack: s, Calls: make([]int64, layers+1), Refused: make([]int64, layers)},
		random:      newStream(s.Seed, "stack", layers, s.Requests),
		tries:       make([][]int, s.Requests), waits: make([][]time.Duration, s.Requests),
	}
	for range layers {
		t.budgets = append(t.budgets, newBucket(s.Budget))
	}
	for i := range s.Requests {
		t.tries[i], t.waits[i] = make([]int, layers), make([]time.Duration, layers)
		t.events.add(int64(i)*int64(s.Every)+t.delay(), hop{request: int32(i)})
	}
	for n := 1; t.events.len() > 0; n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			t.Interrupted = true
			break
		}
		t.step(t.events.pop())
	}
	if len(t.times) > 0 {
		t.Time = estimate(t.times)
	}
	return t.StackResult, nil
}

func (t *stack) delay() int64 { return t.random.delay(t.DelayMean, t.DelaySD) }

// step lets a call arrive at a layer, or a failure at the caller of one.
func (t *stack) step(e event[hop]) {
	h := e.what
	switch {
	case !h.failed && int(h.layer) == len(t.Attempts): // the backend
		t.Calls[h.layer]++
		t.Arrivals.add(e.at)
		t.events.add(e.at+t.delay(), hop{h.request, h.layer - 1, true})
	case !h.failed:
		t.Calls[h.layer]++
		t.tries[h.request][h.layer], t.waits[h.request][h.layer] = 0, 0
		t.attempt(e.at, h)
	case h.layer < 0: // the user
		t.times = append(t.times, milliseconds(e.at-int64(h.request)*int64(t.Every)))
	case t.tries[h.request][h.layer] == t.Attempts[h.layer]:
		t.events.add(e.at+t.delay(), hop{h.request, h.layer - 1, true})
	case !t.budgets[h.layer].take():
		t.Refused[h.layer]++
		t.events.add(e.at+t.delay(), hop{h.request, h.layer - 1, true})
	default:
		wait := &t.waits[h.request][h.layer]
		*wait = t.Backoff.Wait(t.tries[h.request][h.layer], *wait, t.random.uniform)
		t.attempt(e.at+int64(*wait), h)
	}
}

// attempt sends a layer's next call to the layer below.
func (t *stack) attempt(at int64, h hop) {
	t.tries[h.request][h.layer]++
	t.events.add(at+t.delay(), hop{h.request, h.layer + 1, false})
}

// PerRequest is how many calls reached the backend for one request of a user,
// and how many were made into all layers and the backend together.
func (r *StackResult) PerRequest() (backend, all float64) {
	n := float64(r.Requests)
	for _, calls := range r.Calls {
		all += float64(calls) / n
	}
	return float64(r.Calls[len(r.Calls)-1]) / n, all
}

// Product is the attempts of all layers multiplied.
func (s Stack) Product() int {
	product := 1
	for _, m := range s.Attempts {
		product *= m
	}
	return product
}

// check refuses what cannot be run.
func (s Stack) check() error {
	if s.Requests < 1 || s.Requests > mostClients {
		return fmt.Errorf("requests: 1 to %d was expected, not %d", mostClients, s.Requests)
	}
	if len(s.Attempts) > 100 {
		return fmt.Errorf("attempts: at most 100 layers were expected, not %d", len(s.Attempts))
	}
	calls := s.Requests
	for _, m := range s.Attempts {
		if m < 1 {
			return fmt.Errorf("attempts: 1 or more was expected, not %d", m)
		}
		if calls *= m; calls > mostCalls || m > mostCalls {
			return fmt.Errorf("attempts: more than %d calls; fewer layers, attempts or requests were expected", mostCalls)
		}
	}
	if !(s.Budget >= 0) { // nor NaN
		return fmt.Errorf("budget: 0 or more was expected, not %g", s.Budget)
	}
	return errors.Join(span("every", s.Every), span("delay mean", s.DelayMean), span("delay deviation", s.DelaySD),
		span("base", s.Backoff.Base), span("cap", s.Backoff.Cap))
}
