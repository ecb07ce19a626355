package main

import (
	"bytes"
	"context"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestCertifyAlone: while one process tries to certify a revision, no other does: it
// would take its try for the first. Another revision is free.
func TestCertifyAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("processes are not kept apart on Windows")
	}
	store := filepath.Join(t.TempDir(), "s.db")
	try := func(revision string) (string, int) {
		var out bytes.Buffer
		code := run(context.Background(), []string{"run", "--certify", "0.5", "--store", store, "--rev", revision, "--name", "x", "--", "true"}, strings.NewReader(""), &out, &out)
		return out.String(), code
	}
	unlock, err := (&runFlags{store: store}).alone("r")
	if err != nil {
		t.Fatal(err)
	}
	if text, code := try("r"); code != exitUsage || !strings.Contains(text, "another try to certify this revision") {
		t.Errorf("exit %d: %s", code, text)
	}
	if text, code := try("other"); code != 0 {
		t.Errorf("another revision: exit %d: %s", code, text)
	}
	unlock()
	if text, code := try("r"); code != 0 {
		t.Errorf("after the first: exit %d: %s", code, text)
	}
}
