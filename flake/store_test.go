package flake

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "s.db"))
}

// at is the time of the i-th run.
func at(i int) time.Time { return time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC) }

// tap is a report with a point for each outcome: "ok a, not ok b, …".
func tap(points ...string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "TAP version 13\n1..%d\n", len(points))
	for i, p := range points {
		result, name, _ := strings.Cut(p, ":")
		fmt.Fprintf(&text, "%s %d - %s\n", result, i+1, name)
	}
	return text.String()
}

func add(t testing.TB, s *Store, report string, g Gathering) Ingested {
	t.Helper()
	in, err := s.Ingest(context.Background(), strings.NewReader(report), "report", g)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func report(t testing.TB, s *Store, c Config) *Report {
	t.Helper()
	r, err := s.Report(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestIngestOnce(t *testing.T) {
	s := newStore(t)
	text := tap("ok:a", "not ok:b")
	if in := add(t, s, text, Gathering{Time: at(1)}); in.Known || in.Runs != 2 || in.Failures != 1 {
		t.Errorf("first: %+v", in)
	}
	if in := add(t, s, text, Gathering{Time: at(2)}); !in.Known {
		t.Errorf("second: %+v", in)
	}
	if in := add(t, s, text, Gathering{Time: at(3), RunID: "2"}); in.Known {
		t.Errorf("another run: %+v", in)
	}
	if in := add(t, s, text, Gathering{Time: at(4), Revision: "later"}); !in.Known {
		t.Errorf("at another revision: %+v", in)
	}
	r := report(t, s, Config{})
	if len(r.Runs) != 2 || len(r.Tests) != 2 || r.Tests[0].Failures != 2 || r.Tests[0].Runs != 2 {
		t.Errorf("%+v", r)
	}
	if in := add(t, s, text, Gathering{Time: at(5), Labels: []string{"os=mac"}}); in.Known {
		t.Errorf("other labels: %+v", in)
	}
}

// TestReportWhileStoring: a report does not wait for a report being stored, and sees
// nothing of it.
func TestReportWhileStoring(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, other := open(t, path), open(t, path)
	add(t, s, tap("ok:a"), Gathering{Time: at(1)})
	r, w := io.Pipe()
	done := make(chan error)
	go func() {
		_, err := s.Ingest(context.Background(), r, "slow", Gathering{Time: at(2)})
		done <- err
	}()
	text := tap("ok:a", "not ok:b")
	if _, err := io.WriteString(w, text); err != nil { // taken, so its transaction has begun
		t.Fatal(err)
	}
	if got := report(t, other, Config{}); len(got.Runs) != 1 || len(got.Tests) != 1 {
		t.Errorf("%+v", got)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := report(t, other, Config{}); len(got.Runs) != 2 || len(got.Tests) != 2 {
		t.Errorf("%+v", got)
	}
}
