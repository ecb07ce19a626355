package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRunFolder: what a process left that is gone is removed, and nothing else.
func TestRunFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	pid, name := gone.Process.Pid, folderName()
	kept := []string{fmt.Sprint(name, os.Getpid(), "-2"), name + "x", fmt.Sprintf("flakestat-run-of-another-machine-%d-1", pid)}
	for _, folder := range append(kept, fmt.Sprint(name, pid, "-1")) {
		if err := os.MkdirAll(filepath.Join(os.TempDir(), folder, "1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	dir, err := runFolder()
	if err != nil || !strings.HasPrefix(filepath.Base(dir), fmt.Sprint(name, os.Getpid(), "-")) {
		t.Fatal(dir, err)
	}
	for _, folder := range kept {
		if _, err := os.Stat(filepath.Join(os.TempDir(), folder)); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != len(kept)+1 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestStoreBreaks: what was found before the store could not be written is printed, before
// the error.
func TestStoreBreaks(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.db")
	var stdout, stderr strings.Builder
	if code := run(t.Context(), []string{"run", "-n", "1", "--store", store, "--rev", "q", "--", "true"}, nil, &stdout, &stderr); code != exitOK {
		t.Fatal(stderr.String())
	}
	db, err := sql.Open("sqlite", store)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`CREATE TRIGGER broken BEFORE INSERT ON process WHEN NEW.number = 3 BEGIN SELECT RAISE(ABORT, 'broken'); END`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	stdout.Reset()
	code := run(t.Context(), []string{"run", "-n", "5", "--store", store, "--rev", "r", "--name", "x", "--seed", "1", "--", "true"}, nil, &stdout, &stderr)
	if code != exitUsage || !strings.HasPrefix(stdout.String(), "inconclusive: 2 runs, 0 failed") || !strings.Contains(stderr.String(), "storing run 3") {
		t.Errorf("exit %d, %s%s", code, stdout.String(), stderr.String())
	}
}
