package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// folderName is how the names of folders for runs begin, on this machine or in this
// container: elsewhere ids of processes are others. The id of their process follows.
func folderName() string {
	host, _ := os.Hostname() // without one, all are of one machine
	return fmt.Sprintf("flakestat-run-%s-", host)
}

// runFolder makes a folder for the folders of runs, and removes those that killed processes
// left behind.
func runFolder() (string, error) {
	temp, name := os.TempDir(), folderName()
	left, _ := os.ReadDir(temp) // MkdirTemp says what is wrong with it
	for _, entry := range left {
		rest, ours := strings.CutPrefix(entry.Name(), name)
		id, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(id); ours && err == nil && pid > 0 && !alive(pid) {
			_ = os.RemoveAll(filepath.Join(temp, entry.Name())) // that of another user stays
		}
	}
	return os.MkdirTemp(temp, fmt.Sprintf("%s%d-", name, os.Getpid()))
}
