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
// with the reports of testdata/nightly, the suite of testdata/planted, a quarantine and a git
// repository. With -update the outputs without a line of dots are
// rewritten.
func TestDocs(t *testing.T) {
	nightly, err := filepath.Abs("testdata/nightly")
	if err != nil {
		t.Fatal(err)
	}
	suite := planted(t)
	history, err := filepath.Abs("testdata/history.sh")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
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
			quarantine := "# last day, owner, test\n2026-03-31  @payments  TestPay\n"
			if err := os.WriteFile(filepath.Join(dir, "quarantine.txt"), []byte(quarantine), 0o644); err != nil {
				t.Fatal(err)
			}
			shell(t, dir, os.Environ(), "sh "+history, false)
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
	case args[0] == "cat":
		text, err := os.ReadFile(args[1])
		return string(text), err == nil
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
