// Package runner answers: how did this command end, run once as a process of its own?
//
// Run starts a command in a new process group, hands over what it prints, and leaves
// nothing of the group alive: not after its end, not when it takes too long, not when
// the caller gives up. A process that leaves its group on purpose, as setsid does, is
// out of reach.
package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// DefaultGrace is how long a group may take to end after it was asked to.
const DefaultGrace = 2 * time.Second

// Command is what to run. Args is needed, everything else may be zero.
type Command struct {
	Args    []string      // the program, looked up as a shell would, and its arguments
	Dir     string        // working directory; empty means that of this process
	Env     []string      // NAME=value, added to the environment of this process
	Unset   []string      // names that the command does not get from this process
	Timeout time.Duration // after which the group is ended; 0 means never

	// Grace is how long the group has between SIGTERM and SIGKILL, and how long what a
	// command left behind may go on writing; 0 means DefaultGrace.
	Grace time.Duration

	// Stdout and Stderr get what is printed; nil drops it. If both are the same writer,
	// one goroutine at a time writes to it. An error of a writer ends its stream only.
	Stdout, Stderr io.Writer

	Guard *Guard // ends the group if this process dies; nil means nobody does
}

// How says how a run ended.
type How string

// The ways to end.
const (
	Exited      How = "exited"      // by itself, with Result.Code
	Signaled    How = "signaled"    // by a signal that did not come from here
	TimedOut    How = "timed out"   // it was ended after Command.Timeout
	Interrupted How = "interrupted" // it was ended because the context was
)

// Result is how a command ended.
type Result struct {
	How    How
	Code   int    // exit status; -1 if a signal ended the process
	Signal string // that ended the process, such as "killed"; empty if none did

	// LeftBehind says that processes of the group were still there, holding its output,
	// a grace period after the command had ended. They were killed.
	LeftBehind bool
}

// OK reports whether the command ended by itself with status 0.
func (r Result) OK() bool { return r.How == Exited && r.Code == 0 }

// String says in words how it ended: "exit status 1", "signal: killed", "timed out".
func (r Result) String() string {
	switch r.How {
	case Exited:
		return fmt.Sprintf("exit status %d", r.Code)
	case Signaled:
		return "signal: " + r.Signal
	}
	return string(r.How)
}

// StartError is a command that could not be started, which says nothing about tests.
type StartError struct {
	Program string
	Err     error
}

func (e *StartError) Error() string {
	err := e.Err
	var lookup *exec.Error
	if errors.As(err, &lookup) {
		err = lookup.Err
	}
	return fmt.Sprintf("runner: starting %s: %v", e.Program, err)
}

// Unwrap is the reason.
func (e *StartError) Unwrap() error { return e.Err }

// Environ is the environment of this process without some names.
func Environ(unset []string) []string {
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.Contains(unset, name)
	})
}

// Run runs a command once and waits until its whole group is gone. The error is a
// *StartError, or about pipes; how the command ended is no error.
func Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Args) == 0 {
		panic("runner: a command without a program")
	}
	if err := ctx.Err(); err != nil {
		return Result{How: Interrupted, Code: -1}, nil
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(Environ(c.Unset), c.Env...)
	newGroup(cmd)
	streams, err := connect(cmd, c)
	if err != nil {
		return Result{}, err
	}
	defer streams.close()
	if err := cmd.Start(); err != nil {
		return Result{}, &StartError{c.Args[0], err}
	}
	c.Guard.add(cmd.Process.Pid)
	defer c.Guard.drop(cmd.Process.Pid)
	streams.started()
	return c.watch(ctx, cmd, streams), nil
}

// watch waits for the end, or brings it about.
func (c Command) watch(ctx context.Context, cmd *exec.Cmd, streams *streams) Result {
	group := cmd.Process.Pid
	limited, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		limited, cancel = context.WithTimeout(ctx, c.Timeout)
	}
	defer cancel()
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // ProcessState says it
		close(exited)
	}()
	var r Result
	select {
	case <-exited:
	case <-limited.Done():
		r.How = TimedOut
		if ctx.Err() != nil {
			r.How = Interrupted
		}
		terminate(group)
		grace, cancel := context.WithTimeout(context.Background(), c.Grace)
		defer cancel()
		if wait(grace, exited) {
			wait(grace, streams.done) // children may need the grace more than their parent
		}
		kill(group)
		<-exited
	}
	grace, cancelGrace := context.WithTimeout(context.Background(), c.Grace)
	defer cancelGrace()
	if r.How == "" && !wait(grace, streams.done) {
		r.LeftBehind = true
	}
	kill(group)
	last, cancelLast := context.WithTimeout(context.Background(), c.Grace)
	defer cancelLast()
	if !wait(last, streams.done) { // a process that left the group holds the output
		streams.close()
		<-streams.done
	}
	r.ended(cmd.ProcessState)
	return r
}

// ended adds how the process ended.
func (r *Result) ended(state *os.ProcessState) {
	r.Code, r.Signal = state.ExitCode(), signalOf(state)
	switch {
	case r.How != "":
	case r.Signal != "":
		r.How = Signaled
	default:
		r.How = Exited
	}
}

// wait says whether done came before the end of ctx.
func wait(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true
	default:
		return false
	}
}
