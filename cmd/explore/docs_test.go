package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocs runs every command that README.md and docs/ show in a console
// block, in one folder for each document, and compares what it prints:
//
//	$ explore list
//	WRITER …
//
// A line of three dots stands for any lines. What a command writes to a file,
// with > NAME at its end, is shown by the next mermaid block. With -update the
// outputs without a line of dots are rewritten.
func TestDocs(t *testing.T) {
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(docs, "../../README.md") {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			got := runDoc(t, string(text))
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("the document is out of date (-document +now):\n%s", diff)
			}
		})
	}
}

// runDoc returns a document with the outputs of its commands as they are now.
func runDoc(t *testing.T, text string) string {
	var out strings.Builder
	var written string // to a file
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		out.WriteString(lines[i])
		switch strings.TrimSpace(lines[i]) {
		case "```console":
		case "```mermaid":
			for i++; strings.TrimSpace(lines[i]) != "```"; i++ {
			}
			out.WriteString(written + lines[i])
			continue
		default:
			continue
		}
		for i++; i < len(lines) && strings.TrimSpace(lines[i]) != "```"; {
			command, ok := strings.CutPrefix(lines[i], "$ ")
			if !ok {
				t.Fatalf("line %d: a command after $ was expected: %s", i+1, lines[i])
			}
			out.WriteString(lines[i])
			var shown strings.Builder
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "$ ") && strings.TrimSpace(lines[i]) != "```"; i++ {
				shown.WriteString(lines[i])
			}
			command, file, redirected := strings.Cut(strings.TrimSpace(command), " > ")
			if !redirected {
				out.WriteString(output(t, command, shown.String()))
				continue
			}
			written = output(t, command, "")
			if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out.WriteString(lines[i])
	}
	return out.String()
}

// output is what a command prints now; what is shown of it, if that agrees.
func output(t *testing.T, command, shown string) string {
	args := strings.Fields(command)
	defer func(name string) { os.Args[0] = name }(os.Args[0])
	switch {
	case strings.HasPrefix(command, "go run ./cmd/explore"):
		os.Args[0], args = "/go-build/explore", args[3:]
	case args[0] == "explore":
		os.Args[0], args = "explore", args[1:]
	default:
		return shown // of another program, or one that runs all tests
	}
	var got bytes.Buffer
	run(context.Background(), args, strings.NewReader(""), &got, &got)
	if agrees(shown, got.String()) {
		return shown
	}
	if strings.Contains("\n"+shown, "\n...\n") {
		t.Errorf("%s: what is shown\n%s\nis not what it prints:\n%s", command, shown, got.String())
	}
	return got.String()
}

// agrees compares an output with a pattern in which a line of three dots
// stands for any lines.
func agrees(pattern, text string) bool {
	parts := strings.Split("\n"+pattern, "\n...\n")
	text = "\n" + text
	if len(parts) == 1 {
		return text == parts[0]
	}
	for i, part := range parts {
		if i < len(parts)-1 {
			part += "\n"
		}
		if i > 0 {
			part = "\n" + part
		}
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		if i == len(parts)-1 {
			return strings.HasSuffix(text, part)
		}
		text = text[at+len(part)-1:]
	}
	return true
}

func TestAgrees(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"", "a\n", false},
		{"a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"a\n...\n", "a\nb\nc\n", true},
		{"...\nc\n", "a\nb\nc\n", true},
		{"a\n...\nx\n", "a\nb\nc\n", false},
		{"b\n...\n", "a\nb\nc\n", false},
	} {
		if got := agrees(tt.pattern, tt.text); got != tt.want {
			t.Errorf("agrees(%q, %q) = %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}
