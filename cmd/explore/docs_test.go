package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"exactlyone/internal/doctest"
)

// TestDocs runs every command of explore that README.md and docs/ show. With -update the
// outputs without a line of dots are rewritten.
func TestDocs(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	doctest.Run(t, doctest.Config{Paths: append(docs, "../../README.md"), Update: *update, Output: output})
}

// output is what a command prints.
func output(command string) (string, bool) {
	args := strings.Fields(command)
	defer func(name string) { os.Args[0] = name }(os.Args[0])
	switch {
	case strings.HasPrefix(command, "go run ./cmd/explore"):
		os.Args[0], args = "/go-build/explore", args[3:]
	case args[0] == "explore":
		os.Args[0], args = "explore", args[1:]
	default:
		return "", false // of another program, or one that runs all tests
	}
	var got bytes.Buffer
	run(context.Background(), args, strings.NewReader(""), &got, &got)
	return got.String(), true
}
