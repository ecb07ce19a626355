package simhttp_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"exactlyone/internal/doctest"
)

var update = flag.Bool("update", false, "rewrite the outputs in docs/your-own-code.md")

// TestYourOwnCode follows the guide: it writes its files and runs its commands, in a
// module of their own beside this one.
func TestYourOwnCode(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds a module several times; -short")
	}
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off") // all that it needs is there
	t.Setenv("GOWORK", "off")
	doctest.Run(t, doctest.Config{
		Paths: []string{"../docs/your-own-code.md"}, Update: *update,
		Output: func(command string) (string, bool) {
			command = strings.ReplaceAll(command, "../exactlyone", root)
			got, _ := exec.Command("sh", "-c", command).CombinedOutput() // a test that fails is what is shown
			return seconds.ReplaceAllString(string(got), "${1}0.5s"), true
		},
		Setup: func(t *testing.T, dir string) {
			sums, err := os.ReadFile("../go.sum")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644); err != nil {
				t.Fatal(err)
			}
		},
	})
}

// seconds is how long a test took.
var seconds = regexp.MustCompile(`(?m)(^(?:ok|FAIL)\s+\S+\s+|\()[0-9.]+s`)
