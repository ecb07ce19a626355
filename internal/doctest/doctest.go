// Package doctest asks: do the commands that a document shows print what it shows?
//
// A document shows commands in console blocks:
//
//	$ explore list
//	WRITER …
//
// A line of three dots stands for any lines. What a command writes to a file, with
// > NAME at its end, is shown by the next mermaid block, if one follows. A block of Go
// that begins with a comment that is a file name, as in // orders.go, is that file.
package doctest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Config says which documents to check, and how.
type Config struct {
	Paths []string // of the documents
	// Update rewrites the outputs that do not agree, but for those with a line of dots.
	Update bool
	// Setup fills the empty folder in which the commands of one document run. It may be nil.
	Setup func(t *testing.T, dir string)
	// Output runs a command and returns what it prints. Commands of other programs are
	// left as they are.
	Output func(command string) (text string, ours bool)
}

// Run checks each document, in one folder for all of its commands.
func Run(t *testing.T, c Config) {
	for _, path := range c.Paths {
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if c.Setup != nil {
				c.Setup(t, dir)
			}
			t.Chdir(dir)
			got := c.document(t, string(text))
			if c.Update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if diff := cmp.Diff(string(text), got); diff != "" {
				t.Errorf("the document is out of date (-document +now):\n%s", diff)
			}
		})
	}
}

// document returns a document with the outputs of its commands as they are now.
func (c Config) document(t *testing.T, text string) string {
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
		case "```go":
			name, ok := strings.CutPrefix(strings.TrimSpace(lines[i+1]), "// ")
			if !ok || !strings.HasSuffix(name, ".go") || strings.Contains(name, " ") {
				continue
			}
			i++
			out.WriteString(lines[i])
			var code strings.Builder
			for i++; strings.TrimSpace(lines[i]) != "```"; i++ {
				code.WriteString(lines[i])
			}
			out.WriteString(code.String() + lines[i])
			if err := os.WriteFile(name, []byte(code.String()), 0o644); err != nil {
				t.Fatal(err)
			}
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
			got, ours := c.Output(command)
			switch {
			case !ours:
				out.WriteString(shown.String())
			case redirected:
				written = got
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			default:
				out.WriteString(output(t, command, shown.String(), got))
			}
		}
		out.WriteString(lines[i])
	}
	return out.String()
}

// output is what a command prints now; what is shown of it, if that agrees.
func output(t *testing.T, command, shown, got string) string {
	if Agrees(shown, got) {
		return shown
	}
	if strings.Contains("\n"+shown, "\n...\n") {
		t.Errorf("%s: what is shown\n%s\nis not what it prints:\n%s", command, shown, got)
	}
	return got
}

// Agrees compares an output with a pattern in which a line of three dots stands for any
// lines.
func Agrees(pattern, text string) bool {
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
