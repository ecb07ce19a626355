//go:build unix

package runner

import (
	"os"
	"os/exec"
	"syscall"
)

func newGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate asks a group to end, kill ends it. That it is gone already is no error.
func terminate(group int) { _ = syscall.Kill(-group, syscall.SIGTERM) }
func kill(group int)      { _ = syscall.Kill(-group, syscall.SIGKILL) }

func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}
