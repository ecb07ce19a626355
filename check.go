package exactlyone

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"exactlyone/clock"
)

// Check fails the test unless every behaviour of the system within the bounds
// keeps its properties. A failing story is saved under testdata/exactlyone and
// tried first the next time, so that it can be debugged and is kept as a test.
// With EXACTLYONE_GO_STORY=1 in the environment the story is written as a test in
// Go as well, beside the test that found it; see [ReplayStory].
//
// A check that was cut short, by memory or because the test's deadline came
// near, or in which a property was never put to the test, fails as well.
func Check(t testing.TB, sys System, b Bounds) {
	t.Helper()
	if sys.Name == "" {
		sys.Name = t.Name()
	}
	sys.seed(t)
	path := filepath.Join("testdata", "exactlyone", fileName(t.Name())+".json")
	if replaySaved(t, sys, b, path) {
		return
	}
	ctx, cancel := beforeDeadline(t)
	defer cancel()
	result, err := Run(ctx, sys, b, Options{})
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	var text strings.Builder
	_ = result.WriteText(&text, TextOptions{})
	switch result.Verdict {
	case Holds:
		t.Logf("%s", text.String())
		return
	case Violated:
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Errorf("the story cannot be saved: %v", err)
		} else if err := result.Story.WriteFile(path); err != nil {
			t.Errorf("the story cannot be saved: %v", err)
		} else {
			text.WriteString("\nsaved as " + path + ", which the next run of this test tries first\n")
		}
		offerGoStory(t, result.Story, 1)
	}
	t.Fatalf("%s", text.String())
}

// replaySaved tries the story that an earlier run saved, and says whether it
// still fails.
func replaySaved(t testing.TB, sys System, b Bounds, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err != nil {
		t.Errorf("saved story: %v", err)
		return false
	}
	defer func() { _ = f.Close() }()
	saved, err := ReadTrace(f, path)
	if err != nil {
		t.Errorf("saved story: %v", err)
		return false
	}
	if now, err := b.withDefaults(); err == nil && now != saved.Bounds {
		t.Logf("saved story %s was found under other bounds, %s; searching anew", path, saved.Bounds)
		return false
	}
	again, err := Replay(sys, saved, 0, nil)
	switch {
	case errors.Is(err, ErrDiverged):
		t.Logf("saved story %s: %v; searching anew", path, err)
	case err != nil:
		t.Errorf("saved story %s: %v", path, err)
	case again.Property == "":
		t.Logf("saved story %s ends well now; searching anew", path)
	default:
		var text strings.Builder
		_ = again.WriteText(&text, TextOptions{})
		offerGoStory(t, again, 2)
		t.Fatalf("the story saved as %s still breaks %s:\n%s", path, again.Property, text.String())
		return true
	}
	return false
}

// beforeDeadline is a context that ends while there is still time to report.
func beforeDeadline(t testing.TB) (context.Context, context.CancelFunc) {
	if d, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, ok := d.Deadline(); ok {
			left := end.Sub(clock.Real{}.Now())
			return context.WithDeadline(t.Context(), end.Add(-left/10))
		}
	}
	return context.WithCancel(t.Context())
}

// fileName is a test's name without what file systems do not like; different
// names stay different. A slash becomes @.
func fileName(test string) string {
	return strings.ReplaceAll(url.PathEscape(strings.ReplaceAll(test, "@", "%40")), "%2F", "@")
}
