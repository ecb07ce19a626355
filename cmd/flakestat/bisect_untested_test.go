package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"exactlyone/internal/runner"
)

// TestUntested: what go test prints where there was nothing to test.
func TestUntested(t *testing.T) {
	for _, x := range []struct {
		output string
		ok     bool
		want   string
	}{
		{"# a\n./a.go:1:1: syntax error\nFAIL\ta [build failed]\nFAIL\n", false, "it does not build: FAIL\ta [build failed]"},
		{`{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}` + "\n", false, "it does not build: FAIL\ta [build failed]"},
		{"?   \ta\t[no test files]\n", true, "no test ran"},
		{"testing: warning: no tests to run\nPASS\nok  \ta\t0.003s [no tests to run]\n", true, "no test ran"},
		{`{"Action":"output","Package":"a","Output":"ok  \ta\t0.003s [no tests to run]\n"}` + "\n", true, "no test ran"},
		{"?   \ta\t[no test files]\nok  \tb\t0.003s\n", true, ""},
		{"?   \ta\t[no test files]\nok  \tb\t(cached)\n", true, ""}, // which is an error of its own
		{"--- FAIL: TestA\nFAIL\ta\t0.01s\n", false, ""},
		{"", true, ""},
	} {
		kept := runner.NewKept(keptOutput)
		_, _ = io.WriteString(kept, x.output)
		if got := untested(kept, x.ok); got != x.want {
			t.Errorf("%q: %q, want %q", x.output, got, x.want)
		}
	}
}

// TestStateFile: only a regular file is read.
func TestStateFile(t *testing.T) {
	for _, path := range []string{t.TempDir(), "/dev/zero"} {
		if _, err := readState(filepath.Clean(path)); err == nil || !strings.Contains(err.Error(), "the state of a bisection was expected") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
