//go:build !unix

package runner

import (
	"os"
	"os/exec"
)

// Without process groups only the process itself is ended.
func newGroup(*exec.Cmd) {}

func terminate(pid int) { kill(pid) }

func kill(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func signalOf(*os.ProcessState) string { return "" }
