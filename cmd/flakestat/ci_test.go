package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCI runs the commands of docs/ci.md, as the jobs there would: for each service the
// test job on two machines, then the job that merges and reports, in a small module with a
// test that fails now and then.
func TestCI(t *testing.T) {
	text, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := ciSteps(string(text))
	if len(steps["GitHub Actions"]) != 6 || len(steps["GitLab"]) != 5 {
		t.Fatalf("%q", steps)
	}
	for service, dirs := range map[string][2]string{"GitHub Actions": {"stores", "."}, "GitLab": {".", "."}} {
		t.Run(service, func(t *testing.T) {
			work := module(t)
			bin := binary(t)
			env := append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "GOFLAGS=-trimpath", "GOWORK=off",
				"GITHUB_SHA=abc", "GITHUB_RUN_ID=7", "GITHUB_RUN_ATTEMPT=1", "GITHUB_STEP_SUMMARY=summary.md", "CI_COMMIT_SHA=abc")
			commands := steps[service]
			for _, job := range []string{"Linux", "macOS"} {
				on := append(env, "RUNNER_OS="+job, "CI_JOB_ID="+map[string]string{"Linux": "11", "macOS": "12"}[job])
				for _, command := range commands[:2] {
					shell(t, work, on, command, strings.HasPrefix(command, "go test"))
				}
			}
			if err := os.MkdirAll(filepath.Join(work, dirs[0]), 0o755); err != nil {
				t.Fatal(err)
			}
			if dirs[0] != "." {
				shell(t, work, env, "mv *.db "+dirs[0], false)
			}
			var out strings.Builder
			for _, command := range commands[2:] {
				out.WriteString(shell(t, work, env, command, false))
			}
			for _, file := range []string{"summary.md", "flaky.html"} {
				if b, err := os.ReadFile(filepath.Join(work, file)); err == nil {
					out.WriteString(string(b))
				} else if service == "GitHub Actions" || file == "flaky.html" {
					t.Error(err)
				}
			}
			for _, want := range []string{"1 report added", map[string]string{"GitHub Actions": "| 2/5 |", "GitLab": "4/10 "}[service], map[string]string{"GitHub Actions": "::warning title=flakestat gate::undecided: "}[service], "TestNowAndThen", "<title>Flaky tests</title>"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in what the last job shows:\n%s", want, out.String())
				}
			}
		})
	}
}

// ciSteps are the shell commands of each section's YAML, in order: the lines below "run: |",
// and the items of "script:" and "after_script:".
func ciSteps(text string) map[string][]string {
	steps := map[string][]string{}
	section, yaml, within := "", false, ""
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(trimmed, "- ")
		switch {
		case strings.HasPrefix(line, "## "):
			section = strings.TrimSpace(line[3:])
		case strings.HasPrefix(trimmed, "```"):
			yaml = trimmed == "```yaml"
		case !yaml:
		case trimmed == "run: |" || trimmed == "script:" || trimmed == "after_script:":
			within = trimmed
		case within == "run: |" && !isItem && !strings.HasSuffix(trimmed, ":") && trimmed != "":
			steps[section] = append(steps[section], trimmed)
		case within != "" && within != "run: |" && isItem:
			steps[section] = append(steps[section], item)
		default:
			within = ""
		}
	}
	return steps
}

// module makes a Go module whose test fails in two of five runs.
func module(t *testing.T) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/shop\n\ngo 1.26\n",
		"shop_test.go": `package shop

import "testing"

var n int

func TestNowAndThen(t *testing.T) {
	if n++; n%2 == 0 {
		t.Errorf("%d is even", n)
	}
}

func TestAlways(t *testing.T) {}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// binary returns a folder with this command in it, under its name.
func binary(t *testing.T) string {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(dir, "flakestat")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shell runs a command and returns its output.
func shell(t *testing.T, dir string, env []string, command string, mayFail bool) string {
	t.Helper()
	cmd := exec.Command("sh", "-ec", command)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	if err != nil && !mayFail {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
