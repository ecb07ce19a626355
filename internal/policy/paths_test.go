package policy

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// machinePath matches an absolute path that exists on one machine only. What comes before
// the slash must not make it the middle of a longer path, or of a URL.
var machinePath = regexp.MustCompile(`(?:^|[^\w.~)}\]*-])(/(?:root|work|home|Users|tmp/bash[\w.]*)/[\w./-]*)`)

// checkPaths reports the machine paths in text, which is the content of the file p.
func checkPaths(p string, text []byte) []string {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil // not a text file
	}
	var findings []string
	number := 0
	for line := range bytes.Lines(text) {
		number++
		for _, match := range machinePath.FindAllSubmatch(line, -1) {
			findings = append(findings, fmt.Sprintf("%s:%d: machine path %s; name it relative to the repository", p, number, match[1]))
		}
	}
	return findings
}

// TestPaths reads every text file of the repository, whatever its language.
func TestPaths(t *testing.T) {
	fsys, tracked := os.DirFS(root), tracked()
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular() || tracked != nil && !tracked[p]:
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		for _, finding := range checkPaths(p, text) {
			t.Error(finding)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// tracked returns the files that git holds or would add. It is nil, meaning every file,
// where the source is no git checkout.
func tracked() map[string]bool {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil || len(out) == 0 {
		return nil
	}
	files := map[string]bool{}
	for p := range strings.SplitSeq(string(out), "\x00") {
		files[p] = true
	}
	return files
}

func TestCheckPaths(t *testing.T) {
	// The paths are put together here so that this file passes its own test.
	slash := "/"
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"prose", "either/or, read/write, and/work/or\n", nil},
		{"relative path", "see ./work/a.go, ../root/b.go, internal/work/c.go and ${dir}/root/d\n", nil},
		{"URL", "https://example.org/root/a and https://example.org/~u/work/\n", nil},
		{"route", `mux.Handle("/reports/", h)`, nil},
		{"pattern", `(/root|/work)`, nil},
		{"binary", "\x00 " + slash + "root/a", nil},
		{"line start", "ok\n" + slash + "work/a/b.go:3\n", []string{
			"f:2: machine path " + slash + "work/a/b.go; name it relative to the repository",
		}},
		{"quoted", `open("` + slash + `root/.cache/x")`, []string{
			"f:1: machine path " + slash + "root/.cache/x; name it relative to the repository",
		}},
		{"file URL", "file://" + slash + "home/ann/x", []string{
			"f:1: machine path " + slash + "home/ann/x; name it relative to the repository",
		}},
		{"two on a line, no newline", "cp " + slash + "Users/ann/x " + slash + "tmp/bash_jobs.0/y", []string{
			"f:1: machine path " + slash + "Users/ann/x; name it relative to the repository",
			"f:1: machine path " + slash + "tmp/bash_jobs.0/y; name it relative to the repository",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := checkPaths("f", []byte(tt.text)); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
