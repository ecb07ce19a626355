package retry

import (
	"context"
	"time"

	"exactlyone/clock"
)

// Do makes a call, again and again until it has succeeded, cannot succeed, or
// must not be tried again:
//
//   - the kind of the result is one that is never retried (see [Kind]);
//   - it may have been sent, and the call is not [Call.Harmless];
//   - attempts, deadline or budget are used up, or ctx has ended.
//
// Fn makes one attempt, which must end soon after its context has. There is
// always a first one: whether a context that has ended keeps it from being sent
// is up to fn. The key of the call is made before it and is the same for all.
func Do(ctx context.Context, p Policy, call Call, fn func(ctx context.Context, a Attempt) Result) Outcome {
	return do(ctx, p, call, fn, func() func() { return func() {} })
}

// do is Do with something to be done at the beginning of each wait, and at its
// end.
func do(ctx context.Context, p Policy, call Call, fn func(context.Context, Attempt) Result, waiting func() (waited func())) Outcome {
	l := newLoop(p, call)
	l.waiting = waiting
	for {
		l.attempt(ctx, fn)
		if stop := l.pause(ctx); stop != "" {
			return l.end(stop)
		}
	}
}

// loop is one call under way.
type loop struct {
	p        Policy
	call     Call
	deadline time.Time     // zero if there is none
	now      time.Time     // the last reading of the clock, if there is a deadline
	previous time.Duration // the last wait of the backoff
	cost     int           // of the last retry
	maybe    bool          // an attempt may have been carried out
	waiting  func() (waited func())
	out      Outcome
}

func newLoop(p Policy, call Call) *loop {
	if call.Key == "" && call.NewKey != nil {
		call.Key = call.NewKey()
	}
	l := &loop{p: p.filled(), call: call, out: Outcome{Key: call.Key}}
	if l.p.Deadline > 0 {
		l.now = l.p.Clock.Now()
		l.deadline = l.now.Add(l.p.Deadline)
	}
	return l
}

// attempt makes one attempt and says what its end means.
func (l *loop) attempt(ctx context.Context, fn func(context.Context, Attempt) Result) {
	l.out.Attempts++
	limited, cancel := l.limit(ctx)
	a := Attempt{N: l.out.Attempts, Key: l.call.Key, kept: &cancel}
	res := fn(limited, a)
	late := res.Err != nil && limited.Err() != nil && ctx.Err() == nil
	if cancel != nil {
		cancel()
	}
	class := l.p.Classify(l.call, res)
	if late {
		class.Kind = KindTimeout
	}
	l.maybe = l.maybe || !class.NotDone
	l.out.Result, l.out.Class = res, class
}

// limit is the context of the next attempt.
func (l *loop) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	d := l.p.AttemptTimeout
	if !l.deadline.IsZero() {
		if left := l.deadline.Sub(l.now); d <= 0 || left < d {
			d = left
		}
	}
	if d <= 0 {
		return context.WithCancel(ctx)
	}
	return clock.WithTimeout(ctx, l.p.Clock, d)
}

// pause waits for the next attempt, or says why there must be none.
func (l *loop) pause(ctx context.Context) Stop {
	switch class := l.out.Class; {
	case class.Kind == KindOK:
		return StopDone
	case l.out.Result.Err != nil && ctx.Err() != nil:
		return StopCanceled
	case !class.Kind.Retried():
		return StopFinal
	case !l.notSent() && !l.call.Harmless():
		return StopUnsafe
	case l.out.Attempts >= l.p.Attempts:
		return StopAttempts
	}
	wait := l.wait()
	if l.tooLate(wait) {
		return StopDeadline
	}
	if l.p.Budget != nil {
		cost, ok := l.p.Budget.Withdraw(l.out.Class.Kind)
		if !ok {
			return StopBudget
		}
		l.cost = cost
	}
	l.out.Waits = append(l.out.Waits, wait)
	waited := l.waiting()
	err := l.p.Clock.Sleep(ctx, wait)
	waited()
	switch {
	case err != nil:
		l.giveBack()
		return StopCanceled
	case l.tooLate(0): // a wait takes as long as it takes
		l.giveBack()
		return StopDeadline
	}
	return ""
}

// notSent says whether the last attempt provably never left: there is an error,
// and it says so. A server that answers has been sent the request, whatever it
// claims not to have done.
func (l *loop) notSent() bool { return l.out.Result.Err != nil && l.out.Class.NotDone }

// giveBack returns the cost of a retry that is not made.
func (l *loop) giveBack() {
	if l.p.Budget != nil {
		l.p.Budget.Deposit(l.cost)
	}
}

// wait is how long to wait before the next attempt.
func (l *loop) wait() time.Duration {
	if l.p.Uniform == nil {
		l.p.Uniform = unseeded()
	}
	l.previous = l.p.Backoff.Wait(l.out.Attempts, l.previous, l.p.Uniform)
	if l.out.Result.RetryAfter == "" || l.p.MaxRetryAfter < 0 {
		return l.previous
	}
	asked, _ := ParseRetryAfter(l.out.Result.RetryAfter, l.p.Clock.Now(), l.p.MaxRetryAfter)
	return max(l.previous, asked)
}

// tooLate says whether an attempt after a wait from now would begin too late.
func (l *loop) tooLate(wait time.Duration) bool {
	if l.deadline.IsZero() {
		return false
	}
	l.now = l.p.Clock.Now()
	return !l.now.Add(wait).Before(l.deadline)
}

func (l *loop) end(stop Stop) Outcome {
	l.out.Stop = stop
	switch {
	case stop == StopDone:
		l.out.Kind = Success
		if l.p.Budget != nil {
			l.p.Budget.Deposit(l.cost)
		}
	case l.call.Safe || !l.maybe:
		l.out.Kind = Refused
	default:
		l.out.Kind = Unknown
	}
	return l.out
}
