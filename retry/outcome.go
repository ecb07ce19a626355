package retry

import (
	"fmt"
	"time"
)

// OutcomeKind is one of success, refused, unknown.
type OutcomeKind string

// The kinds of outcome.
const (
	Success OutcomeKind = "success" // it was carried out
	Refused OutcomeKind = "refused" // it was certainly not carried out, or changes nothing
	Unknown OutcomeKind = "unknown" // it may have been carried out, or may yet be
)

// Stop says why there was no further attempt.
type Stop string

// The reasons.
const (
	StopDone     Stop = "done"     // it succeeded
	StopFinal    Stop = "final"    // its answer or error is of a kind that is never retried
	StopUnsafe   Stop = "unsafe"   // it may have been carried out, and doing it again might do harm
	StopAttempts Stop = "attempts" // there were as many as there may be
	StopDeadline Stop = "deadline" // the next one would begin too late
	StopBudget   Stop = "budget"   // too many retries at the moment
	StopCanceled Stop = "canceled" // the context of the call ended
)

// Outcome is what is known when a call has ended.
type Outcome struct {
	Kind     OutcomeKind
	Stop     Stop
	Result   Result          // of the last attempt
	Class    Class           // what that result means
	Attempts int             // how many were made
	Waits    []time.Duration // before the second, the third … attempt, as they were asked for
	Key      string          // the key that every attempt carried, "" if none did
}

// Advice says in a sentence what the caller should do next.
func (o Outcome) Advice() string {
	switch {
	case o.Kind == Success:
		return "It was carried out. Do not submit it again."
	case o.Kind == Unknown && o.Key != "":
		return fmt.Sprintf("It may have been carried out. Look before submitting again, or submit it with the same key %q.", o.Key)
	case o.Kind == Unknown:
		return "It may have been carried out. Look before submitting again."
	case o.Stop == StopFinal:
		return "It was refused and changed nothing. It will be refused again unless something about it changes."
	}
	return "It changed nothing. It may be submitted again later."
}

// Err is nil after a success and an [*OutcomeError] otherwise.
func (o Outcome) Err() error {
	if o.Kind == Success {
		return nil
	}
	return &OutcomeError{o}
}

// OutcomeError is the outcome of a call that did not succeed. It wraps the error
// of the last attempt, if there was one.
type OutcomeError struct{ Outcome Outcome }

// Error tells how the last attempt ended, and the advice.
func (e *OutcomeError) Error() string {
	o := e.Outcome
	last := fmt.Sprintf("status %d", o.Result.Status)
	if o.Result.Err != nil {
		last = o.Result.Err.Error()
	}
	plural := "s"
	if o.Attempts == 1 {
		plural = ""
	}
	return fmt.Sprintf("retry: outcome %s after %d attempt%s (%s): %s. %s", o.Kind, o.Attempts, plural, o.Stop, last, o.Advice())
}

// Timeout says whether the last attempt ended as a time-out, as a [net.Error]
// does.
func (e *OutcomeError) Timeout() bool { return e.Outcome.Class.Kind == KindTimeout }

// Unwrap is the error of the last attempt.
func (e *OutcomeError) Unwrap() error { return e.Outcome.Result.Err }
