package interrupt_test

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"

	"exactlyone/internal/interrupt"
)

// TestNohup: a hangup ends a command unless it was started to outlive its terminal.
func TestNohup(t *testing.T) {
	hangup := func() bool { return slices.Contains(interrupt.Signals(), os.Signal(syscall.SIGHUP)) }
	defer signal.Reset(syscall.SIGHUP)
	signal.Reset(syscall.SIGHUP) // whatever the tests were started under
	if !hangup() {
		t.Error("a hangup does not end a command")
	}
	signal.Ignore(syscall.SIGHUP)
	if hangup() {
		t.Error("a hangup ends a command under nohup")
	}
}
