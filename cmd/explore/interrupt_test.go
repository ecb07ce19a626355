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
