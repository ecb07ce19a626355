package flake

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"exactlyone/ingest"
)

// asJSON is all that a report says.
func asJSON(t *testing.T, s *Store) string {
	t.Helper()
	var b bytes.Buffer
	if err := report(t, s, Config{}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMerge: the union says the same in whatever order and however often stores are
// merged, and the same as one store that was given all reports.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	all := open(t, filepath.Join(dir, "all.db"))
	var parts []string
	for i := range 3 {
		path := filepath.Join(dir, fmt.Sprintf("odd name %d?#%%.db", i))
		parts = append(parts, path)
		s := open(t, path)
		for j := range 4 {
			result := []string{"ok", "not ok"}[(i+j)%2]
			text := fmt.Sprintf(`<testsuite name="s"><testcase name="a%d" classname="c"/><testcase name="b" classname="c">%s</testcase></testsuite>`, i,
				map[string]string{"ok": "", "not ok": fmt.Sprintf(`<failure message="m%d"/>`, j)}[result])
			g := Gathering{RunID: fmt.Sprint(i, j/2), Time: at(10*i + j), Revision: fmt.Sprint("r", j), Labels: []string{"k=v"}}
			add(t, s, text, g)
			add(t, all, text, g)
		}
		if i == 1 {
			for _, to := range []*Store{s, all} {
				if _, err := to.Fix(context.Background(), "b", "r2", at(9)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	want := asJSON(t, all)
	for _, order := range [][]int{{0, 1, 2}, {2, 0, 1, 0, 2}} {
		s := newStore(t)
		for n, i := range order {
			m, err := s.Merge(context.Background(), parts[i])
			if err != nil {
				t.Fatal(err)
			}
			if fresh := n < 3; fresh != (m.Known == 0) || m.Runs+m.Known == 0 {
				t.Errorf("order %v, store %d: %+v", order, i, m)
			}
		}
		if diff := cmp.Diff(want, asJSON(t, s)); diff != "" {
			t.Errorf("order %v (-one store +merged):\n%s", order, diff)
		}
	}
}

func TestMergeRefuses(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "s.db"))
	if _, err := s.Merge(context.Background(), filepath.Join(dir, "s.db")); err == nil {
		t.Error("merged into itself")
	}
	if _, err := s.Merge(context.Background(), filepath.Join(dir, "none.db")); !errors.Is(err, ErrNoStore) {
		t.Errorf("no file: %v", err)
	}
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Merge(context.Background(), text); err == nil || !strings.Contains(err.Error(), "this file is no store of flakestat") {
		t.Errorf("text file: %v", err)
	}
	add(t, s, tap("ok:a"), Gathering{Time: at(1)}) // the store is still good
}

// TestOpenRefuses: foreign and newer databases are left alone.
func TestOpenRefuses(t *testing.T) {
	for name, script := range map[string]string{
		"this is a database, but no store":      `CREATE TABLE x (y)`,
		"the store has version 99, this":        fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = 99`, applicationID),
		"a prior rate of 7: a number between 0": ``,
	} {
		path := filepath.Join(t.TempDir(), "x.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(script); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		o := Options{Create: true}
		if script == "" {
			o.PriorRate = 7
		}
		if s, err := Open(context.Background(), path, o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

// TestMigration: a store of the first version is brought up to date and keeps its runs.
func TestMigration(t *testing.T) {
	path := filepath.Join(t.TempDir(), "old.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(migrations[0] + fmt.Sprintf(`;
		INSERT INTO setting VALUES ('prior_rate', '0.05');
		INSERT INTO run VALUES (1, randomblob(32), 'r', 'tap', '', '', '', 1000000, 'imported', 0, 0, 0);
		INSERT INTO test VALUES (7, '', '', 'a', '');
		INSERT INTO attempt VALUES (1, 0, 7, 0, 0, 1, 1, 0, NULL, NULL);
		PRAGMA application_id = %d; PRAGMA user_version = 1`, applicationID))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if s.PriorRate() != 0.05 {
		t.Errorf("prior rate %v", s.PriorRate())
	}
	if x := find(t, report(t, s, Config{}), "a"); x.Failures != 1 || x.Runs != 1 {
		t.Errorf("%+v", x)
	}
	if _, err := s.Fix(context.Background(), "a", "r", at(1)); err != nil {
		t.Error(err)
	}
}

// TestBadReport: nothing of a report that cannot be read counts.
func TestBadReport(t *testing.T) {
	s := newStore(t)
	_, err := s.Ingest(context.Background(), strings.NewReader(`<testsuite name="s"><testcase name="a"/><testcase name="b"`), "cut.xml", Gathering{Time: at(1)})
	var bad *ingest.Error
	if !errors.As(err, &bad) || bad.Kind != ingest.KindTruncated {
		t.Errorf("%v", err)
	}
	if r := report(t, s, Config{}); len(r.Runs)+len(r.Tests) != 0 {
		t.Errorf("%+v", r)
	}
	for _, labels := range [][]string{{"x"}, {"=v"}, {"k="}, {"a=1", "a=2"}, {"a=1,b=2"}} {
		if _, err := s.Ingest(context.Background(), strings.NewReader(tap("ok:a")), "a", Gathering{Labels: labels}); err == nil {
			t.Errorf("labels %v were taken", labels)
		}
	}
}
