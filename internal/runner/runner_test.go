//go:build unix

package runner_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"exactlyone/internal/runner"
)

// guarded is set in the process that TestGuard kills.
const guarded = "RUNNER_TEST_GUARDED"

func TestMain(m *testing.M) {
	if fifo := os.Getenv(guarded); fifo != "" {
		_, _ = runner.Run(context.Background(), runner.Command{Args: holding(fifo), Guard: runner.NewGuard(), Stdout: os.Stdout})
	}
	os.Exit(m.Run())
}

// holding is a command that says "ready" once it, its child and its grandchild hold the
// pipe, and never ends.
func holding(fifo string) []string {
	return []string{"sh", "-c", `exec 3>"$0"; sh -c 'sleep 100000 & echo ready; wait' & sleep 100000`, fifo}
}

// pipe makes a named pipe and opens it for reading.
func pipe(t *testing.T) (path string, r *os.File) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the writer comes later
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return path, f
}

// when calls f at the first write.
type when func()

func (f when) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}

func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		name, script string
		want         runner.Result
		text         string
	}{
		{"success", "exit 0", runner.Result{How: runner.Exited}, "exit status 0"},
		{"failure", "exit 7", runner.Result{How: runner.Exited, Code: 7}, "exit status 7"},
		{"signal", "kill -KILL $$", runner.Result{How: runner.Signaled, Code: -1, Signal: "killed"}, "signal: killed"},
	} {
		got, err := runner.Run(t.Context(), runner.Command{Args: []string{"sh", "-c", tt.script}})
		if err != nil || got != tt.want || got.String() != tt.text || got.OK() != (tt.name == "success") {
			t.Errorf("%s: %+v, %q, %v", tt.name, got, got, err)
		}
	}
}

func TestOutput(t *testing.T) {
	var out, both strings.Builder
	errs := runner.NewKept(100)
	dir := t.TempDir()
	c := runner.Command{
		Args: []string{"sh", "-c", `echo $A; pwd; echo err >&2; cat`}, Dir: dir, Env: []string{"A=1"},
		Stdout: &out, Stderr: errs,
	}
	if r, err := runner.Run(t.Context(), c); err != nil || !r.OK() {
		t.Fatalf("%v, %v", r, err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != "1\n"+real+"\n" || errs.Text() != "err\n" {
		t.Errorf("%q, %q", out.String(), errs.Text())
	}
	c.Stdout, c.Stderr = &both, &both
	if _, err := runner.Run(t.Context(), c); err != nil || both.String() != "1\n"+real+"\nerr\n" {
		t.Errorf("%q, %v", both.String(), err)
	}
}

// full takes no byte.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestFullWriter(t *testing.T) {
	r, err := runner.Run(t.Context(), runner.Command{
		Args: []string{"sh", "-c", "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done"}, Stdout: full{},
	})
	if err != nil || !r.OK() {
		t.Errorf("%v, %v", r, err)
	}
}

func TestStartErrors(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for program, reason := range map[string]error{
		"no-such-program": exec.ErrNotFound,
		"./no/such/file":  fs.ErrNotExist,
		plain:             fs.ErrPermission,
	} {
		_, err := runner.Run(t.Context(), runner.Command{Args: []string{program}})
		var start *runner.StartError
		if !errors.As(err, &start) || !errors.Is(err, reason) || start.Program != program {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// TestTimeout: a command that would never end is ended, with the whole group.
func TestTimeout(t *testing.T) {
	fifo, r := pipe(t)
	hold, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := runner.Run(t.Context(), runner.Command{Args: holding(fifo), Timeout: time.Millisecond})
	if err != nil || got.How != runner.TimedOut || got.String() != "timed out" {
		t.Errorf("%+v, %v", got, err)
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); err != nil { // ends when nobody holds the pipe
		t.Error(err)
	}
}

// TestInterrupted ends the context once the grandchild runs.
func TestInterrupted(t *testing.T) {
	fifo, r := pipe(t)
	ctx, cancel := context.WithCancel(t.Context())
	got, err := runner.Run(ctx, runner.Command{Args: holding(fifo), Stdout: when(cancel)})
	if err != nil || got.How != runner.Interrupted || got.Signal != "terminated" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := io.ReadAll(r); err != nil {
		t.Error(err)
	}
	if got, err := runner.Run(ctx, runner.Command{Args: []string{"no-such-program"}}); err != nil || got.How != runner.Interrupted {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestGrace: SIGTERM may be answered, but not ignored.
func TestGrace(t *testing.T) {
	for _, tt := range []struct {
		script string
		grace  time.Duration
		want   runner.Result
	}{
		{`trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`, time.Hour, runner.Result{How: runner.Interrupted, Code: 7}},
		{`trap '' TERM; echo ready; while :; do sleep 0.01; done`, time.Millisecond, runner.Result{How: runner.Interrupted, Code: -1, Signal: "killed"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		got, err := runner.Run(ctx, runner.Command{Args: []string{"sh", "-c", tt.script}, Grace: tt.grace, Stdout: when(cancel)})
		if err != nil || got != tt.want {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestLeftBehind: what a command leaves running is killed.
func TestLeftBehind(t *testing.T) {
	var out strings.Builder
	got, err := runner.Run(t.Context(), runner.Command{
		Args: []string{"sh", "-c", "sleep 100000 & echo done"}, Grace: time.Millisecond, Stdout: &out,
	})
	if err != nil || got != (runner.Result{How: runner.Exited, LeftBehind: true}) || out.String() != "done\n" {
		t.Errorf("%+v, %q, %v", got, out.String(), err)
	}
}

// TestOutOfReach: a process that left the group does not keep Run.
func TestOutOfReach(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid is not installed")
	}
	fifo, _ := pipe(t)
	got, err := runner.Run(t.Context(), runner.Command{
		Args: []string{"sh", "-c", `setsid sh -c 'read -r end <"$0"' "$0" & exit 0`, fifo}, Grace: time.Millisecond,
	})
	if err != nil || !got.LeftBehind {
		t.Errorf("%+v, %v", got, err)
	}
	w, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err == nil {
		_, _ = io.WriteString(w, "end\n")
		_ = w.Close()
	}
}

// TestGuard kills a process with -9 while it runs a command: the group ends with it.
func TestGuard(t *testing.T) {
	fifo, r := pipe(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	helper := exec.Command(exe)
	helper.Env = append(os.Environ(), guarded+"="+fifo)
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	if text, err := bufio.NewReader(out).ReadString('\n'); text != "ready\n" {
		t.Fatalf("%q, %v", text, err)
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait()
	if _, err := io.ReadAll(r); err != nil {
		t.Error(err)
	}
}

// TestGuardForgets: a guard kills nothing that has ended.
func TestGuardForgets(t *testing.T) {
	guard := runner.NewGuard()
	for range 3 {
		if r, err := runner.Run(t.Context(), runner.Command{Args: []string{"true"}, Guard: guard}); err != nil || !r.OK() {
			t.Errorf("%v, %v", r, err)
		}
	}
	guard.Close()
	(*runner.Guard)(nil).Close()
}

func TestKept(t *testing.T) {
	for _, tt := range []struct {
		keep   int
		pieces []string
		want   string
	}{
		{10, nil, ""},
		{10, []string{"0123", "456789"}, "0123456789"},
		{10, []string{"0123456789", "a"}, "01234\n[... 1 bytes are missing ...]\n6789a"},
		{10, []string{"0123456789abcdefghijklmnop"}, "01234\n[... 16 bytes are missing ...]\nlmnop"},
		{10, []string{"01", "2345678", "9abc", "d", "efghi"}, "01234\n[... 9 bytes are missing ...]\nefghi"},
	} {
		k := runner.NewKept(tt.keep)
		total := 0
		for _, p := range tt.pieces {
			n, err := k.Write([]byte(p))
			if n != len(p) || err != nil {
				t.Fatal(n, err)
			}
			total += n
		}
		if got := k.Text(); got != tt.want || k.Total() != int64(total) {
			t.Errorf("%q: %q, want %q", tt.pieces, got, tt.want)
		}
	}
}
