package exactlyone

import (
	"errors"
	"fmt"
	"runtime/debug"

	"exactlyone/interleave"
)

// guarded calls f in a goroutine of its own and turns a panic that reports a
// fault of the code under test into an error. Any other panic goes on.
func guarded(f func() error) error {
	err, done := interleave.ErrGoexit, make(chan any)
	var stack []byte // of a panic
	go func() {
		defer func() {
			r := recover()
			if r != nil {
				stack = debug.Stack()
			}
			done <- r
		}()
		err = f()
	}()
	switch r := (<-done).(type) {
	case nil:
	case error:
		for _, fault := range codeFaults {
			if errors.Is(r, fault) {
				return explained(r)
			}
		}
		panic(fmt.Sprintf("%v\n\n%s", r, stack))
	default:
		panic(fmt.Sprintf("%v\n\n%s", r, stack))
	}
	return err
}

// codeFaults are what can be wrong with the code under test.
var codeFaults = []error{
	interleave.ErrNondeterministic, interleave.ErrEndless, interleave.ErrAbandoned, interleave.ErrGoexit, interleave.ErrTooMany,
	interleave.ErrContended, ErrUsage, ErrRefuted,
}

// callback runs a function of the system and names it if it panics.
func callback(name string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Errorf("%w: the system's %s panicked: %v", ErrUsage, name, r))
		}
	}()
	f()
}
