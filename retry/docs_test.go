package retry_test

import (
	"os"
	"strings"
	"testing"
)

// TestDocExamples: the Go code of docs/retry.md is part of the examples, which
// are run.
func TestDocExamples(t *testing.T) {
	text, err := os.ReadFile("../docs/retry.md")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("no code was found")
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		indented := "\t" + strings.ReplaceAll(strings.TrimSuffix(code, "\n"), "\n", "\n\t") + "\n"
		if !strings.Contains(string(examples), indented) {
			t.Errorf("no example holds this code of docs/retry.md:\n%s", code)
		}
	}
}
