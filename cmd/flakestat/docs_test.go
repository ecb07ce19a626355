package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"exactlyone/internal/doctest"
)

// TestDocs runs every command of flakestat that README.md and the guides show, in a folder
// with the reports of testdata/nightly and the suite of testdata/planted. With -update the outputs without a line of dots are
// rewritten.
func TestDocs(t *testing.T) {
	nightly, err := filepath.Abs("testdata/nightly")
	if err != nil {
		t.Fatal(err)
	}
	suite := planted(t)
	doctest.Run(t, doctest.Config{
		Paths:  []string{"../../docs/flakestat.md", "../../docs/run.md", "../../docs/ci.md", "../../README.md"},
		Update: *update,
		Setup: func(t *testing.T, dir string) {
			if err := os.CopyFS(filepath.Join(dir, "nightly"), os.DirFS(nightly)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(suite, filepath.Join(dir, "suite")); err != nil {
				t.Fatal(err)
			}
		},
		Output: output,
	})
}

// output is what a command prints, with what it writes to a file first.
func output(command string) (string, bool) {
	args := words(command)
	switch {
	case strings.HasPrefix(command, "go run ./cmd/flakestat"):
		args = args[3:]
	case args[0] == "flakestat":
		args = args[1:]
	default:
		return "", false
	}
	var got bytes.Buffer
	run(context.Background(), args, strings.NewReader(""), &got, &got)
	return got.String(), true
}

// word is one of a command line, perhaps quoted.
var word = regexp.MustCompile(`'[^']*'|\S+`)

func words(command string) []string {
	list := word.FindAllString(command, -1)
	for i, w := range list {
		list[i] = strings.Trim(w, "'")
	}
	return list
}
