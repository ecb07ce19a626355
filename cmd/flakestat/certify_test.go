package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"exactlyone/flake"
)

// TestCertifyAtOnce: while one campaign is under way, no other on the same revision takes
// itself for the first try. Another revision is free, and so is one on which a campaign has
// ended without a run.
func TestCertifyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	store, err := flake.Open(t.Context(), path, flake.Options{Create: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	begin := func(revision string) *flake.Recorder {
		r, err := store.Record(t.Context(), flake.Series{
			Command: "another", Name: "x", Revision: revision, Time: time.Unix(0, 0), Plan: flake.Plan{Mode: flake.Count, Runs: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	begin("begun")
	if err := begin("ended").End(t.Context()); err != nil {
		t.Fatal(err)
	}
	const beside, first = "1 campaign of the same test had begun on this revision and not ended", "was fixed before the first"
	for revision, want := range map[string]string{"begun": beside, "ended": first, "another": first} {
		var out, errs strings.Builder
		code := run(t.Context(), []string{"run", "--certify", "0.5", "--store", path, "--rev", revision, "--name", "x", "--", "true"}, nil, &out, &errs)
		if code != exitOK || !strings.Contains(out.String(), want) {
			t.Errorf("revision %s: exit %d: %s%s", revision, code, &out, &errs)
		}
	}
}
