package ingest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// expectedCase is one entry of testdata/cases/expected.json.
type expectedCase struct {
	Counts
	About string `json:"about"`
}

// expectedCases returns the right answers, which were worked out by hand.
func expectedCases(t testing.TB) []expectedCase {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "cases", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Schema int
		Cases  []expectedCase
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if all.Schema != 1 || len(all.Cases) != 14 {
		t.Fatalf("expected.json has schema %d and %d cases, want 1 and 14", all.Schema, len(all.Cases))
	}
	return all.Cases
}

// TestCases compares the counts of each case with the right ones: every field, every test,
// and their order. Seconds are compared where the answer has them.
func TestCases(t *testing.T) {
	for _, want := range expectedCases(t) {
		t.Run(want.File, func(t *testing.T) {
			f, err := os.Open(filepath.Join("testdata", "cases", want.File))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			got, err := Count(f, want.File)
			if (err != nil) != (want.Outcome == "error") {
				t.Errorf("error %v, want outcome %s", err, want.Outcome)
			}
			for i := range got.Tests {
				if i >= len(want.Tests) || want.Tests[i].Seconds == 0 {
					got.Tests[i].Seconds = 0
				}
			}
			if diff := cmp.Diff(want.Counts, got); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
		})
	}
}
