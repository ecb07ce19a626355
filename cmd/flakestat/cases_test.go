package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// casesDir holds the reports with known counts.
const casesDir = "../../ingest/testdata/cases/"

// TestDryRunCounts: --dry-run --format json prints what expected.json says, case by case.
func TestDryRunCounts(t *testing.T) {
	text, err := os.ReadFile(casesDir + "expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Cases []map[string]any `json:"cases"`
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if len(want.Cases) != 14 {
		t.Fatalf("%d cases", len(want.Cases))
	}
	t.Chdir(casesDir)
	for _, w := range want.Cases {
		var stdout, stderr bytes.Buffer
		code := run(context.Background(), []string{"ingest", "--dry-run", "--format", "json", w["file"].(string)}, strings.NewReader(""), &stdout, &stderr)
		if wantCode := map[any]int{"ok": exitOK, "error": exitUsage}[w["outcome"]]; code != wantCode {
			t.Errorf("%s: exit %d, want %d: %s", w["file"], code, wantCode, stderr.String())
		}
		var got struct {
			Schema int              `json:"schema"`
			Cases  []map[string]any `json:"cases"`
		}
		if err := json.Unmarshal(stdout.Bytes(), &got); err != nil || got.Schema != 1 || len(got.Cases) != 1 {
			t.Fatalf("%s: %v, %s", w["file"], err, stdout.String())
		}
		delete(w, "about")
		for _, list := range []any{w["tests"], got.Cases[0]["tests"]} {
			for _, x := range list.([]any) {
				dropZeros(x.(map[string]any))
			}
		}
		for _, test := range w["tests"].([]any) {
			if _, stated := test.(map[string]any)["seconds"]; !stated {
				dropSeconds(got.Cases[0]["tests"].([]any), test.(map[string]any))
			}
		}
		if diff := cmp.Diff(w, got.Cases[0]); diff != "" {
			t.Errorf("%s (-expected +got):\n%s", w["file"], diff)
		}
	}
	if _, err := os.Stat(".flakestat.db"); err == nil {
		t.Error("a dry run made a store")
	}
}

// dropZeros: a field left out is zero.
func dropZeros(test map[string]any) {
	for k, v := range test {
		if v == 0.0 || v == "" {
			delete(test, k)
		}
	}
}

// dropSeconds leaves a duration out where the case does not give one.
func dropSeconds(tests []any, like map[string]any) {
	for _, x := range tests {
		test := x.(map[string]any)
		if test["suite"] == like["suite"] && test["class"] == like["class"] && test["name"] == like["name"] {
			delete(test, "seconds")
		}
	}
}
