package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"exactlyone/flake"
)

// plantedRuns are the runs of one seed: enough that the flake fails once but for a chance
// of .95^200 = 0.0035 %.
const plantedRuns = 200

// planted builds the suite with known faults.
func planted(t *testing.T) string {
	bin := filepath.Join(t.TempDir(), "planted")
	if out, err := exec.Command("go", "build", "-o", bin, "./testdata/planted").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// flakestatJSON runs a command and decodes what it prints.
func flakestatJSON(t *testing.T, code int, into any, args ...string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if got := run(context.Background(), args, nil, &stdout, &stderr); got != code {
		t.Fatalf("%s: exit %d, want %d: %s", args, got, code, stderr.String())
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}

// TestPlanted: a clean test, a flake of 5 %, an order-dependent pair, a leak from the 50th
// run of a process on and a hanging test (see TestPlantedHang) each get the right verdict,
// with 20 of 20 seeds. Beside its own warning a test may have another by chance.
func TestPlanted(t *testing.T) {
	bin := planted(t)
	for seed := 1; seed <= 20; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			onePlanted(t, bin, fmt.Sprint(seed))
		})
	}
}

func onePlanted(t *testing.T, bin, seed string) {
	base := []string{"--store", filepath.Join(t.TempDir(), "s.db"), "--rev", "r", "--format", "json"}
	with := func(args ...string) []string { return append(append(args, base...), "--seed", seed, "--", bin) }

	var s flake.Summary
	flakestatJSON(t, exitFlaky, &s, with("run", "-n", fmt.Sprint(plantedRuns))...)
	got := map[string]flake.SubjectResult{}
	for _, x := range s.Tests {
		got[x.Name] = x
	}
	for name, want := range map[string]flake.Verdict{
		"TestClean": flake.Passing, "TestFlake": flake.Flaky, "TestPolluter": flake.Passing, "TestVictim": flake.Flaky, "TestLeak": flake.Passing,
	} {
		if x := got[name]; x.Verdict != want || x.Runs != plantedRuns || x.Method != "fixed_n" {
			t.Errorf("%s: %s, %d of %d failed, %s", name, x.Verdict, x.Failures, x.Runs, x.Method)
		}
	}
	if x := got["TestClean"]; x.Upper > .015 {
		t.Errorf("clean: at most %s", x.UpperShown)
	}
	if x := got["TestFlake"]; x.Lower > .05 || x.Upper < .05 {
		t.Logf("flake: %s to %s does not hold 5 %%, as may happen in one of ten seeds", x.LowerShown, x.UpperShown)
	}

	flakestatJSON(t, exitFlaky, &s, append(with("run", "-n", "3"), "-count", "60", "-run", "TestLeak")...)
	if x := s.Tests[0]; x.Name != "TestLeak" || x.Failures != 3 || x.Runs != 3 {
		t.Errorf("leak: %d of %d processes failed", x.Failures, x.Runs)
	}

	var r flake.Report
	flakestatJSON(t, exitOK, &r, "report", "--format", "json", base[0], base[1])
	for _, x := range r.Tests {
		warnings := strings.Join(x.DependenceWarnings(), "\n")
		want := map[string]string{
			"TestLeak":   "a leak: it fails from run 50 of a process on, every time, in 3 of 3 processes",
			"TestVictim": "in which planted > TestPolluter had run before it in the same process, and in 0 of",
		}[x.Name]
		if !strings.Contains(warnings, want) || want == "" && warnings != "" {
			t.Errorf("%s: %q", x.Name, warnings)
		}
	}
}

// TestPlantedHang: the test that hangs is named, and no other. The 20 seeds run at once,
// with time enough for any machine to get to where it hangs: nothing else depends on it.
func TestPlantedHang(t *testing.T) {
	bin, dir := planted(t), t.TempDir()
	var all sync.WaitGroup
	for seed := 1; seed <= 20; seed++ {
		all.Go(func() {
			store := filepath.Join(dir, fmt.Sprint(seed))
			var out, errs bytes.Buffer
			code := run(context.Background(), []string{
				"run", "-n", "1", "--timeout", "3s", "--store", store, "--rev", "r", "--seed", fmt.Sprint(seed), "--", bin, "-hang",
			}, nil, &out, &errs)
			for _, line := range strings.SplitAfter(out.String(), "\n") {
				if strings.Contains(line, "TestHang") != strings.Contains(line, "failing") && !strings.Contains(line, "TestVictim") && !strings.Contains(line, "TestFlake") {
					t.Errorf("seed %d: %s", seed, line)
				}
			}
			if code != exitFlaky || strings.Count(out.String(), "TestHang") != 1 || errs.Len() > 0 {
				t.Errorf("seed %d: exit %d, %s%s", seed, code, out.String(), errs.String())
			}
			out.Reset()
			code = run(context.Background(), []string{"show", "TestHang", "--store", store}, nil, &out, &errs)
			if code != exitOK || !strings.Contains(out.String(), "run 1, timed out after 3s, ") {
				t.Errorf("seed %d: exit %d, %s%s", seed, code, out.String(), errs.String())
			}
		})
	}
	all.Wait()
}
