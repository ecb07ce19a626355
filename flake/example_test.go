package flake_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"exactlyone/flake"
)

// A test that failed once in four runs, whose number was fixed beforehand.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	store, err := flake.Open(ctx, filepath.Join(dir, "runs.db"), flake.Options{Create: true})
	if err != nil {
		panic(err)
	}
	defer func() { _ = store.Close() }()

	for night, result := range []string{"ok", "ok", "not ok", "ok"} {
		report := "TAP version 13\n1..1\n" + result + " 1 - total\n"
		_, err := store.Ingest(ctx, strings.NewReader(report), "night.tap", flake.Gathering{
			RunID: fmt.Sprint(night), // the reports hold no time, so some are the same bytes
			Time:  time.Date(2026, 3, 1+night, 2, 0, 0, 0, time.UTC),
			How:   flake.Planned, Planned: 4,
		})
		if err != nil {
			panic(err)
		}
	}
	report, err := store.Report(ctx, flake.Config{})
	if err != nil {
		panic(err)
	}
	for _, t := range report.Tests {
		fmt.Printf("%s is %s: %d of %d, at least %s, at most %s\n", t.Display, t.Verdict, t.Failures, t.Runs, t.LowerShown, t.UpperShown)
	}
	// Output: total is flaky: 1 of 4, at least 1.27 %, at most 75.14 %
}
