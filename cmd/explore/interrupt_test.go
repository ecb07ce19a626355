package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// TestInterrupted: after Ctrl-C the command says how far it got and exits with
// 3, and leaves no file.
func TestInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"check", "key_atomic"}, strings.NewReader(""), &stdout, &stderr)
	if code != exitUnknown || !strings.HasPrefix(stdout.String(), "INCONCLUSIVE  key_atomic: interrupted\n") || stderr.Len() > 0 {
		t.Errorf("exit %d, %q, %q", code, stdout.String(), stderr.String())
	}
}

// TestInterruptedWithCheckpoint: the same command goes on, and reports what one
// that was never interrupted does.
func TestInterruptedWithCheckpoint(t *testing.T) {
	t.Chdir(t.TempDir())
	var want, stdout, stderr bytes.Buffer
	run(t.Context(), []string{"check", "key_atomic", "--clients", "1"}, strings.NewReader(""), &want, &want)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	args := []string{"check", "key_atomic", "--clients", "1", "--checkpoint", "search"}
	code := run(ctx, args, strings.NewReader(""), &stdout, &stderr)
	if code != exitUnknown || stderr.String() != "explore: search holds the search so far; the same command goes on from there\n" {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
	stdout.Reset()
	if code := run(t.Context(), args, strings.NewReader(""), &stdout, &stdout); code != exitOK || stdout.String() != want.String() {
		t.Errorf("exit %d, %q, want %q", code, stdout.String(), want.String())
	}
}
