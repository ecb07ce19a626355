package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// folderName is how the names of folders for runs begin; the id of their process follows.
const folderName = "flakestat-run-"

// runFolder makes a folder for the folders of runs, and removes those that killed processes
// left behind.
func runFolder() (string, error) {
	temp := os.TempDir()
	left, _ := filepath.Glob(filepath.Join(temp, folderName+"*")) // the pattern is good
	for _, dir := range left {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), folderName), "-")
		if pid, err := strconv.Atoi(id); err == nil && pid > 0 && !alive(pid) {
			_ = os.RemoveAll(dir) // that of another user stays
		}
	}
	return os.MkdirTemp(temp, fmt.Sprintf("%s%d-", folderName, os.Getpid()))
}
