package rapidsource_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"exactlyone"
	"exactlyone/interleave"
	"exactlyone/rapidsource"
)

// run searches with rapid.
func run(t *testing.T, writer string, save bool, o exactlyone.Options) *exactlyone.Result {
	t.Helper()
	o.Search, o.Driver = "rapid", rapidsource.Driver(save)
	r, err := exactlyone.Run(t.Context(), builtin(t, writer), exactlyone.Bounds{}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// text is a report.
func text(t *testing.T, r *exactlyone.Result) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b, exactlyone.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDriverFinds: what is wrong with each broken writer is found and shrunk,
// the same way for the same seed, and no story is smaller than the smallest.
func TestDriverFinds(t *testing.T) {
	for _, writer := range []string{"naive", "key_split", "key_atomic_nofence"} {
		least, err := exactlyone.Run(t.Context(), builtin(t, writer), exactlyone.Bounds{}, exactlyone.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(3) {
			r := run(t, writer, false, exactlyone.Options{Seed: seed})
			if r.Verdict != exactlyone.Violated {
				t.Errorf("%s, seed %d: %s %s", writer, seed, r.Verdict, r.Why)
				continue
			}
			if s := r.Story; !s.Shrunk || s.Minimal || s.Property == "" || s.Faults < least.Story.Faults || r.Random.Strategies[0].Failed != 1 {
				t.Errorf("%s, seed %d: %+v, %+v", writer, seed, s, r.Random)
			}
			if again := run(t, writer, false, exactlyone.Options{Seed: seed}); text(t, again) != text(t, r) {
				t.Errorf("%s, seed %d:\n%s\nagain:\n%s", writer, seed, text(t, r), text(t, again))
			}
		}
	}
}

// TestDriverFindsNothing: the verdict is inconclusive, with the bound for the
// number of executions fixed beforehand, and without for one that is not.
func TestDriverFindsNothing(t *testing.T) {
	r := run(t, "key_atomic", false, exactlyone.Options{Executions: 300})
	const bound = "one more execution drawn by rapid fails with a chance of at most 0.994 % (95 %, one-sided, none of 300 failed)"
	if r.Verdict != exactlyone.Inconclusive || r.Random.Executions != 300 || r.Checked == 0 || !strings.Contains(text(t, r), bound) {
		t.Errorf("%+v\n%s", r.Random, text(t, r))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := exactlyone.Run(ctx, builtin(t, "key_atomic"), exactlyone.Bounds{}, exactlyone.Options{
		Search: "rapid", Driver: rapidsource.Driver(false), Executions: exactlyone.None,
		Progress: func(p exactlyone.Progress) {
			if p.Executions >= 4096 {
				cancel()
			}
		},
	})
	if err != nil || r.Verdict != exactlyone.Inconclusive || r.Random.Executions != 4096 || r.Random.Strategies[0].Bound != 0 ||
		!strings.HasPrefix(r.Why, "interrupted") {
		t.Errorf("interrupted: %+v, %v", r, err)
	}
}

// TestDriverFailFile: what failed is written, tried first by the next search, and
// drawn anew once it ends well. Equal searches write equal files.
func TestDriverFailFile(t *testing.T) {
	t.Chdir(t.TempDir())
	file := filepath.Join("testdata", "rapid", "key_split", "key_split-5.fail")
	first := run(t, "key_split", true, exactlyone.Options{Seed: 5})
	data, err := os.ReadFile(file)
	if err != nil || first.Random.File != file {
		t.Fatalf("%v; the file is %q", err, first.Random.File)
	}
	again := run(t, "key_split", true, exactlyone.Options{Seed: 6})
	if !again.Random.Again || again.Random.Executions != 0 || !slices.Equal(labels(again), labels(first)) {
		t.Errorf("again: %s\nat first: %s", text(t, again), text(t, first))
	}
	if err := os.Rename(filepath.Dir(file), filepath.Join("testdata", "rapid", "key_atomic")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename("testdata/rapid/key_atomic/key_split-5.fail", "testdata/rapid/key_atomic/key_atomic-5.fail"); err != nil {
		t.Fatal(err)
	}
	if well := run(t, "key_atomic", true, exactlyone.Options{Executions: 50}); well.Random.Executions != 50 || well.Random.Again {
		t.Errorf("it ends well: %s", text(t, well))
	}
	run(t, "key_split", true, exactlyone.Options{Seed: 5})
	if same, err := os.ReadFile(file); err != nil || string(same) != string(data) {
		t.Errorf("%v; the same search wrote\n%s\nand\n%s", err, data, same)
	}
	for _, bad := range []string{"", "v0.0.1#1\n0x1", "nonsense"} {
		if err := os.WriteFile(file, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := exactlyone.Run(t.Context(), builtin(t, "key_split"), exactlyone.Bounds{}, exactlyone.Options{Search: "rapid", Driver: rapidsource.Driver(true)})
		if err == nil || !strings.Contains(err.Error(), "fail files of key_split: ") {
			t.Errorf("the file %q: %v, %v", bad, r, err)
		}
	}
}

func labels(r *exactlyone.Result) (all []string) {
	for _, s := range r.Story.Steps {
		all = append(all, s.Label)
	}
	return all
}

// TestDriverNondeterminism is an error, never a finding.
func TestDriverNondeterminism(t *testing.T) {
	for seed := range uint64(20) {
		r, err := exactlyone.Run(t.Context(), moody(t), exactlyone.Bounds{}, exactlyone.Options{
			Search: "rapid", Driver: rapidsource.Driver(false), Seed: seed,
		})
		if !errors.Is(err, interleave.ErrNondeterministic) || r != nil {
			t.Errorf("seed %d: %+v, %v", seed, r, err)
		}
	}
}
