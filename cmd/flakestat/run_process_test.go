package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"exactlyone/flake"
)

// TestKillRun kills flakestat run with -9 at random points. Each run that had ended before
// the last is stored, none is stored in part or twice, and the next try counts them.
func TestKillRun(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 0))
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir) // who is killed leaves the folders of its runs
	store, logs := filepath.Join(dir, "s.db"), filepath.Join(dir, "log")
	ended := 0 // runs of killed campaigns that wrote their line
	for range max(1, *kills/10) {
		cmd := command(t, "run", "--until-fail", "--store", store, "--rev", "r", "--name", "x", "--", "sh", "-c", `echo run >>"$0"; echo`, logs)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for wait := ended + random.IntN(8); lines(t, logs) <= wait; {
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		ended = lines(t, logs)
		n, campaigns := processes(t, store)
		if n > ended || n < ended-campaigns {
			t.Fatalf("%d runs are stored of %d that ended in %d campaigns", n, ended, campaigns)
		}
	}
	n, _ := processes(t, store)
	var stdout, stderr bytes.Buffer
	run(context.Background(), []string{"run", "-n", "1", "--store", store, "--rev", "r", "--name", "x", "--format", "json", "--", "true"}, nil, &stdout, &stderr)
	var s flake.Summary
	if err := json.Unmarshal(stdout.Bytes(), &s); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if s.Earlier.Runs != n || s.Tests[0].EarlierRuns != n {
		t.Errorf("%d runs are stored, %+v are counted", n, s.Earlier)
	}
}

func lines(t *testing.T, path string) int {
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("\n"))
}

// processes counts the runs and campaigns of a store, and checks that they are whole.
func processes(t *testing.T, store string) (n, campaigns int) {
	if _, err := os.Stat(store); err != nil {
		return 0, 0
	}
	db, err := sql.Open("sqlite", store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	var runs, attempts int
	var sound string
	err = db.QueryRow(`SELECT (SELECT count(*) FROM process), (SELECT count(*) FROM campaign), (SELECT count(*) FROM run WHERE length(uid) = 32),
		(SELECT count(*) FROM attempt JOIN process USING (run)), (SELECT integrity_check FROM pragma_integrity_check)`).Scan(&n, &campaigns, &runs, &attempts, &sound)
	if err != nil || n != runs || n != attempts || sound != "ok" {
		t.Fatalf("%d processes, %d runs, %d attempts, %s: %v", n, runs, attempts, sound, err)
	}
	return n, campaigns
}

// fifo makes a named pipe and opens it for reading.
func fifo(t *testing.T) (string, *os.File) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0) // so that reading waits for a writer
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return path, f
}

// TestInterruptedRun: Ctrl-C in the third run says what the first two found, and that the
// bounds hold though somebody stopped; what was running counts for nothing.
func TestInterruptedRun(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.db")
	path, r := fifo(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = bufio.NewReader(r).ReadString('\n')
		cancel()
	}()
	var stdout, stderr strings.Builder
	code := run(ctx, []string{
		"run", "--certify", ".01", "--store", store, "--rev", "r", "--name", "x", "--",
		"sh", "-c", `[ $FLAKESTAT_RUN -lt 3 ] && exit 0; sleep 100000 & echo third >"$0"; wait`, path,
	}, nil, &stdout, &stderr)
	if code != exitUnknown || stderr.Len() > 0 {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
	for _, want := range []string{"inconclusive: 2 runs, 0 failed; 1 cut short and not counted\n", "0/2", "undecided, 297 more", "confidence sequence", "1 run cut short"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in\n%s", want, stdout.String())
		}
	}
	if n, _ := processes(t, store); n != 2 {
		t.Errorf("%d runs are stored", n)
	}
}

// TestParallelRuns: runs at once have folders and seeds of their own, and are stored once.
func TestParallelRuns(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "s.db")
	var stdout, stderr strings.Builder
	code := run(context.Background(), []string{
		"run", "-n", "40", "--parallel", "8", "--store", store, "--rev", "r", "--seed", "5", "--",
		"sh", "-c", `set -C; echo $FLAKESTAT_SEED >$FLAKESTAT_RUN_DIR/new; cat $FLAKESTAT_RUN_DIR/new >"$0/$FLAKESTAT_RUN"; echo $FLAKESTAT_RUN_DIR >>"$0/dirs"`, dir,
	}, nil, &stdout, &stderr)
	if code != exitOK {
		t.Fatalf("exit %d: %s%s", code, stdout.String(), stderr.String())
	}
	seeds := map[string]bool{}
	for n := 1; n <= 40; n++ {
		seed, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(n)))
		if err != nil || string(seed) != fmt.Sprintln(runSeed(5, n)) {
			t.Errorf("run %d: %q, %v", n, seed, err)
		}
		seeds[string(seed)] = true
	}
	if n, _ := processes(t, store); n != 40 || len(seeds) != 40 {
		t.Errorf("%d runs are stored, %d seeds", n, len(seeds))
	}
	f, err := os.Open(filepath.Join(dir, "dirs"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := io.ReadAll(f)
	for path := range strings.FieldsSeq(string(all)) {
		if _, statErr := os.Stat(path); statErr == nil || err != nil {
			t.Errorf("%s is left, %v", path, err)
		}
	}
}

// TestPrinted: of long output the format is told and a bounded part kept.
func TestPrinted(t *testing.T) {
	for _, tt := range []struct {
		name, head, line string
		events           bool
	}{
		{"plain", "", "a line of text\n", false},
		{"events", "", `{"Action":"output","Package":"x","Output":"text\n"}` + "\n", true},
		{"events after noise", "noise\n", `{"Action":"output","Package":"x","Output":"text\n"}` + "\n", true},
	} {
		o := newPrinted(filepath.Join(t.TempDir(), "o"))
		text := tt.head + strings.Repeat(tt.line, 20_000)
		if _, err := io.WriteString(o.stdout(), text[:100_001]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(o.stdout(), text[100_001:]); err != nil {
			t.Fatal(err)
		}
		if err := o.close(); err != nil {
			t.Fatal(err)
		}
		if got := o.events() != nil; got != tt.events {
			t.Errorf("%s: events %v", tt.name, got)
		} else if got {
			r, err := o.events()()
			if err != nil {
				t.Fatal(err)
			}
			if all, err := io.ReadAll(r); err != nil || string(all) != text {
				t.Errorf("%s: %d bytes of %d, %v", tt.name, len(all), len(text), err)
			}
			_ = r.Close()
		}
		if kept := o.text(); len(kept) > keptBytes+100 || strings.Contains(kept, "Action") || !strings.HasSuffix(kept, "text\n") {
			t.Errorf("%s: %d bytes are kept", tt.name, len(kept))
		}
	}
}
