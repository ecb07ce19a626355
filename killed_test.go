package exactlyone

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestKilled: a process that is killed again and again while it writes its
// checkpoint leaves one from which the next goes on, and the last reports what one
// that was never killed does.
func TestKilled(t *testing.T) {
	if path := os.Getenv("EXACTLYONE_CHECKPOINT"); path != "" {
		killedChild(t, path)
		return
	}
	if testing.Short() {
		t.Skip("many processes; -short")
	}
	all := 0
	rng := rand.New(rand.NewPCG(5, 6))
	for i, tt := range searchesToKeep[:4] {
		if tt.options.Memory > 0 {
			continue
		}
		want := reported(t, mustRun(t, builtin(t, tt.writer, ""), tt.bounds, tt.options))
		dir := t.TempDir()
		got := ""
		kills := 0
		for limit := 2; got == ""; limit *= 2 { // so that it ends
			got = runKilled(t, dir, string(rune('0'+i)), 1+rng.IntN(limit))
			kills++
		}
		if got != want {
			t.Errorf("%s, killed %d times:\n%s\nnever killed:\n%s", tt.name, kills-1, got, want)
		}
		t.Logf("%s: killed %d times", tt.name, kills-1)
		all += kills - 1
	}
	if all == 0 {
		t.Error("nothing was ever killed")
	}
}

// runKilled runs the search in a process that is killed as soon as it begins to
// write its file for so many times. It returns the report if it ended first.
func runKilled(t *testing.T, dir, which string, writes int) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "EXACTLYONE_CHECKPOINT="+filepath.Join(dir, "search"), "EXACTLYONE_SEARCH="+which)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	seen := map[string]bool{}
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %s", err, out.String())
			}
			got, err := os.ReadFile(filepath.Join(dir, "report"))
			if err != nil {
				t.Fatal(err)
			}
			return string(got)
		default:
		}
		unfinished, err := filepath.Glob(filepath.Join(dir, ".search.*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range unfinished {
			seen[name] = true
		}
		if len(seen) >= writes {
			_ = cmd.Process.Kill()
			if err := <-ended; err != nil && !strings.Contains(err.Error(), "killed") {
				t.Fatalf("%v: %s", err, out.String())
			}
			return ""
		}
	}
}

// killedChild searches and writes its report to a file.
func killedChild(t *testing.T, path string) {
	tt := searchesToKeep[os.Getenv("EXACTLYONE_SEARCH")[0]-'0']
	o := tt.options
	o.Workers = 2
	o.Checkpoint = &Checkpoint{File: path, Due: func() bool { return true }}
	r := mustRun(t, builtin(t, tt.writer, ""), tt.bounds, o)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "report"), []byte(reported(t, r)), 0o644); err != nil {
		t.Fatal(err)
	}
}
