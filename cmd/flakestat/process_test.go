package main

import (
	"bufio"
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"exactlyone/flake"
	"exactlyone/ingest"
)

var kills = flag.Int("kills", 100, "how often TestKill kills a process")

const (
	reportFiles = 6
	reportTests = 400
)

// writeReports makes reports of many tests, all different.
func writeReports(t *testing.T) (dir string, files []string) {
	dir = t.TempDir()
	for i := range reportFiles {
		var b strings.Builder
		fmt.Fprintf(&b, "TAP version 13\n1..%d\n", reportTests)
		for j := range reportTests {
			fmt.Fprintf(&b, "ok %d - test %d of file %d\n", j+1, j, i)
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.tap", i))
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	return dir, files
}

// command is a real process of this command.
func command(t *testing.T, args ...string) *exec.Cmd {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Args = append([]string{"flakestat"}, args...) // testscript.Main goes by this name
	return cmd
}

// TestKill kills a process that stores reports, at random points: after some reports,
// and when some bytes of a transaction are written. What it had said to have stored is
// there, no report is there in part, and storing them again counts each once.
func TestKill(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 0))
	_, files := writeReports(t)
	store := filepath.Join(t.TempDir(), "s.db")
	killed, complete := 0, 0
	for round := 0; killed < *kills; round++ {
		const rounds = 4 // with one run id
		if round > 4**kills {
			t.Fatalf("only %d of %d processes were killed before their end", killed, round)
		}
		runID := fmt.Sprint(round / rounds)
		said, died := killOne(t, random, store, runID, files)
		if died {
			killed++
		}
		there := inStore(t, store, runID)
		if there < said {
			t.Fatalf("round %d: %d reports were said to be stored, %d are", round, said, there)
		}
		if round%rounds == rounds-1 || killed == *kills {
			again(t, store, runID, files)
			if got := inStore(t, store, runID); got != len(files) {
				t.Fatalf("round %d: %d of %d reports are stored", round, got, len(files))
			}
			complete++
		}
	}
	t.Logf("killed %d processes; %d times all reports were there once", killed, complete)
}

// killOne starts a process and kills it. It returns how many reports that process said
// to have stored or to know.
func killOne(t *testing.T, random *rand.Rand, store, runID string, files []string) (said int, died bool) {
	cmd := command(t, append([]string{"ingest", "--store", store, "--run-id", runID}, files...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for range random.IntN(len(files)) {
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, ": ") {
			break
		}
		said++
	}
	// Then a while longer: until the log has grown, or for some turns of the scheduler.
	size := func() int64 {
		info, err := os.Stat(store + "-wal")
		if err != nil {
			return 0
		}
		return info.Size()
	}
	from, grow := size(), int64(random.IntN(60_000))
	for range random.IntN(20_000) {
		if now := size(); now < from || now > from+grow {
			break
		}
		runtime.Gosched()
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	said = min(len(files), said+strings.Count(string(rest), ".tap: "))
	return said, cmd.Wait() != nil
}

// inStore checks the database and returns how many reports of a run id are in it, all of
// them whole.
func inStore(t *testing.T, store, runID string) int {
	if _, err := os.Stat(store); err != nil {
		return 0 // killed before it had made the file
	}
	s, err := flake.Open(context.Background(), store, flake.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var sound string
	if err := db.QueryRow(`PRAGMA integrity_check`).Scan(&sound); err != nil || sound != "ok" {
		t.Fatalf("integrity: %s, %v", sound, err)
	}
	var n, whole, strays int
	row := db.QueryRow(`SELECT (SELECT count(*) FROM run WHERE run_id = ?1),
		(SELECT count(*) FROM (SELECT 1 FROM attempt JOIN run ON run.id = run WHERE run_id = ?1 GROUP BY run HAVING count(*) = ?2 AND count(DISTINCT test) = ?2)),
		(SELECT count(*) FROM attempt WHERE run NOT IN (SELECT id FROM run)) + (SELECT count(*) FROM run WHERE length(uid) <> 32)`, runID, reportTests)
	if err := row.Scan(&n, &whole, &strays); err != nil {
		t.Fatal(err)
	}
	if n != whole || strays > 0 || n > reportFiles {
		t.Fatalf("run id %s: %d reports, %d whole, %d strays", runID, n, whole, strays)
	}
	return n
}

// again stores what the killed processes had not.
func again(t *testing.T, store, runID string, files []string) {
	s, err := flake.Open(context.Background(), store, flake.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, path := range files {
		r, err := ingest.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Ingest(context.Background(), r, path, flake.Gathering{RunID: runID, Time: now()}); err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
	}
}

// TestAtOnce stores the same reports from several processes at once, into a store that
// none of them finds.
func TestAtOnce(t *testing.T) {
	dir, files := writeReports(t)
	store := filepath.Join(t.TempDir(), "s.db")
	outs := make([][]byte, 4)
	errs := make([]error, len(outs))
	var wg sync.WaitGroup
	for i := range outs {
		cmd := command(t, "ingest", "--store", store, "--run-id", "r", dir)
		wg.Go(func() { outs[i], errs[i] = cmd.CombinedOutput() })
	}
	wg.Wait()
	counted := 0
	for i := range outs {
		if errs[i] != nil {
			t.Errorf("%v: %s", errs[i], outs[i])
		}
		counted += strings.Count(string(outs[i]), "0 failed")
	}
	if got := inStore(t, store, "r"); got != len(files) || counted != len(files) {
		t.Errorf("%d reports are stored, %d were said to be new, want %d", got, counted, len(files))
	}
}

// TestInterrupted: after Ctrl-C what was stored stays, the exit code is 3, and a read of
// standard input that never answers does not keep the command.
func TestInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	silent, w := io.Pipe()
	defer func() { _ = w.Close() }()
	go func() {
		_, _ = io.WriteString(w, "TAP version 13\n1..2\nok 1 - a\n")
		cancel()
	}()
	var stdout, stderr strings.Builder
	code := run(ctx, []string{"ingest", "-"}, silent, &stdout, &stderr)
	if code != exitUnknown || stdout.Len() > 0 || stderr.String() != "flakestat: interrupted\n" {
		t.Errorf("exit %d, %q, %q", code, stdout.String(), stderr.String())
	}
	if got := inStore(t, ".flakestat.db", ""); got != 0 {
		t.Errorf("%d reports are stored", got)
	}
}
