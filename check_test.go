package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"exactlyone/model"
)

// fakeT is a test that may fail without failing this one.
type fakeT struct {
	testing.TB
	logs, errors []string
	fatal        bool
}

func (f *fakeT) Helper()                  {}
func (f *fakeT) Name() string             { return "TestFake/sub_test" }
func (f *fakeT) Context() context.Context { return context.Background() }
func (f *fakeT) Logf(format string, args ...any) {
	f.logs = append(f.logs, fmt.Sprintf(format, args...))
}

func (f *fakeT) Errorf(format string, args ...any) {
	f.errors = append(f.errors, fmt.Sprintf(format, args...))
}
func (f *fakeT) Fatalf(format string, args ...any) { f.Errorf(format, args...); f.fatal = true }

// said is all that was logged or reported.
func (f *fakeT) said() string { return strings.Join(append(f.logs, f.errors...), "\n") }

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	saved := filepath.Join("testdata", "exactlyone", "TestFake@sub_test.json")
	split, atomic := builtin(t, "key_split", ""), builtin(t, "key_atomic", "")
	atomic.Name, split.Name = "writer", "writer"
	quick := Bounds{Clients: 1, Jumps: None}
	expect := func(what string, sys System, fatal bool, texts ...string) {
		t.Helper()
		f := new(fakeT)
		Check(f, sys, quick)
		if f.fatal != fatal {
			t.Errorf("%s: failed %v, want %v:\n%s", what, f.fatal, fatal, f.said())
		}
		for _, text := range texts {
			if !strings.Contains(f.said(), text) {
				t.Errorf("%s: %q was not said:\n%s", what, text, f.said())
			}
		}
	}
	expect("right writer", atomic, false, "HOLDS  writer")
	expect("broken writer", split, true, "VIOLATED  writer", "node 1 crashes", "saved as "+saved)
	expect("broken writer again", split, true, "the story saved as "+saved+" still breaks at-most-one")
	expect("another writer", atomic, false, "diverges from the trace at step 2", "HOLDS")
	if err := os.WriteFile(saved, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := new(fakeT)
	if Check(f, atomic, quick); len(f.errors) != 1 || f.fatal {
		t.Errorf("a broken file: %q, want one error, then the search", f.errors)
	}
	if err := os.Remove(saved); err != nil {
		t.Fatal(err)
	}
	idle := split
	idle.Start = func(*Env) model.Server { return refuser{} }
	expect("a writer that does nothing", idle, true, "VACUOUS")
	idle.Start = nil
	expect("no writer", idle, true, "Start is missing")
}

func TestReplayDiverges(t *testing.T) {
	var splitStore model.Store
	split := builtin(t, "key_split", "")
	story := mustRun(t, split, Bounds{Clients: 1}, Options{}).Story
	if _, err := Replay(split, story, 99, nil); !errors.Is(err, ErrUsage) {
		t.Errorf("until step 99: %v, want a usage error", err)
	}
	var stands Snapshot
	got, err := Replay(split, story, 5, func(s Snapshot) { stands = s })
	if err != nil || len(got.Steps) != 5 || got.Property != "" || got.Minimal {
		t.Fatalf("until step 5: %+v, %v", got, err)
	}
	if text := fmt.Sprint(stands); !strings.Contains(text, "reports (1 rows") || !strings.Contains(text, "next: BEGIN") {
		t.Errorf("after step 5: %s", text)
	}

	// A writer that registers the key in the same transaction asks for
	// something else at the first step where it differs.
	edited := split
	edited.Start = func(env *Env) model.Server {
		return handler(func(ctx context.Context, req model.Request) model.Answer {
			_, _ = env.Store("db").Do(ctx, model.Select("keys", model.Eq("key", req.Key)))
			_, _ = env.Store("db").Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
			return model.Created(1)
		})
	}
	_, err = Replay(edited, story, 0, nil)
	if !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), `at step 3: the trace chose "client 1: BEGIN"`) {
		t.Errorf("an edited writer: %v, want a divergence at step 3", err)
	}
	longer := *story
	longer.Steps = slices.Concat(story.Steps, story.Steps[:1])
	if _, err = Replay(edited, &longer, 0, nil); !errors.Is(err, ErrDiverged) {
		t.Errorf("a longer trace: %v", err)
	}
	for what, tt := range map[string]struct {
		handle handler
		edits  Edits
	}{
		"a statement more": {func(ctx context.Context, req model.Request) model.Answer {
			_, _ = splitStore.Do(ctx, model.Select("reports"))
			return model.KeySplit{Store: splitStore}.Handle(ctx, req)
		}, Edits{Added: 2}},
		"no look first": {func(ctx context.Context, req model.Request) model.Answer {
			tx, _ := splitStore.Begin(ctx)
			_, _ = tx.Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
			_ = tx.Commit(ctx)
			return model.Answer{Status: 503}
		}, Edits{LeftOut: 2}},
	} {
		edited.Start = func(env *Env) model.Server { splitStore = env.Store("db"); return tt.handle }
		got, err := Replay(edited, story, 0, nil)
		if err != nil || got.Property != story.Property || got.Edits == nil || *got.Edits != tt.edits || got.Minimal {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

func TestReadTraceErrors(t *testing.T) {
	for want, text := range map[string]string{
		"f: line 1: a trace in JSON was expected: unexpected end": "",
		"f: line 2: a trace in JSON was expected":                 "{\n\"version\": x}",
		"f: a trace in JSON was expected":                         `{"version": "1"}`,
		"f: trace version 1 was expected, found 7":                `{"version": 7}`,
		"clients: 1 to 8 was expected, not 99":                    `{"version": 1, "bounds": {"clients": 99}}`,
		"step 1: n, label, and choice below of were expected":     `{"version": 1, "steps": [{"n": 1, "choice": 2, "of": 2, "label": "x"}]}`,
		"step 1: n, label, and choice below of were expected ":    `{"version": 1, "steps": [{"n": 2, "choice": 0, "of": 2, "label": "x"}]}`,
		"step 2: n, label, and choice below of were expected":     `{"version": 1, "steps": [{"n": 1, "of": 1, "label": "x"}, {"n": 2, "of": 1}]}`,
	} {
		_, err := ReadTrace(strings.NewReader(text), "f")
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// FuzzReadTrace: no text makes reading or replaying a trace panic or hang.
func FuzzReadTrace(f *testing.F) {
	sys := builtin(f, "key_split", "")
	path := filepath.Join(f.TempDir(), "trace.json")
	if err := mustRun(f, sys, Bounds{Clients: 1}, Options{}).Story.WriteFile(path); err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(whole))
	f.Add(string(whole[:len(whole)/2]))
	f.Add(`{"version":1,"system":"key_split","bounds":{"clients":2},"steps":[{"n":1,"choice":1,"of":3,"label":"x"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ReadTrace(strings.NewReader(text), "f")
		if err != nil {
			if !errors.Is(err, ErrUsage) {
				t.Errorf("error %v is no usage error", err)
			}
			return
		}
		if _, err := Replay(sys, trace, 0, nil); err != nil && !errors.Is(err, ErrDiverged) && !errors.Is(err, ErrUsage) {
			t.Errorf("replay: %v", err)
		}
	})
}
