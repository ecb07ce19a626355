// Package interrupt says which signals end a command cleanly.
package interrupt

import (
	"os"
	"os/signal"
	"syscall"
)

// Signals are those that end a command: of Ctrl-C, of a supervisor, and of a terminal that
// is closed. The last is left out where it is ignored, as nohup wants it.
func Signals() []os.Signal {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	return ends
}
