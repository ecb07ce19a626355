package exactlyone

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"exactlyone/interleave"
	"exactlyone/model"
)

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before committing it")

// builtin is a built-in writer as a system; key "" means its own.
func builtin(t testing.TB, name string, key model.KeySource) System {
	t.Helper()
	i := slices.IndexFunc(Builtins, func(b Builtin) bool { return b.Name == name })
	if i < 0 {
		t.Fatalf("no writer %q", name)
	}
	if key == "" {
		key = Builtins[i].DefaultKey()
	}
	return Builtins[i].System(key)
}

func mustRun(t testing.TB, sys System, b Bounds, o Options) *Result {
	t.Helper()
	r, err := Run(context.Background(), sys, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// golden compares text with a file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// TestStories pins the smallest story of each broken writer, for two clients
// and for one, some as diagrams, too, and checks that it can be replayed.
func TestStories(t *testing.T) {
	drawn := []string{"naive_1", "naive_1_duplicate", "key_split_1", "key_split_1_commit", "key_atomic_nofence"}
	for _, tt := range []struct {
		name, writer string
		key          model.KeySource
		bounds       Bounds
	}{
		{"naive", "naive", "", Bounds{}},
		{"naive_1", "naive", "", Bounds{Clients: 1}},
		{"naive_1_crash", "naive", "", Bounds{Clients: 1, LostAnswers: None}},
		{"naive_1_duplicate", "naive", "", Bounds{Clients: 1, LostAnswers: None, Crashes: None, Duplicates: 1}},
		{"key_split", "key_split", "", Bounds{}},
		{"key_split_1", "key_split", "", Bounds{Clients: 1}},
		{"key_split_1_commit", "key_split", "", Bounds{Clients: 1, Crashes: None, CommitFaults: 1}},
		{"key_atomic_nofence", "key_atomic_nofence", "", Bounds{}},
		{"key_atomic_nofence_3", "key_atomic_nofence", "", Bounds{Clients: 3}},
		{"key_atomic_per_attempt", "key_atomic", model.KeyPerAttempt, Bounds{Clients: 1}},
		{"check_first", "check_first", "", Bounds{}},
		{"unique_staged", "unique_staged", "", Bounds{}},
		{"cache", "cache", "", Bounds{}},
		{"mutex_crash", "mutex", "", Bounds{}},
		{"mutex_two_nodes", "mutex", "", Bounds{Nodes: 2, Crashes: None}},
		{"mutex_statement_answer", "mutex", "", Bounds{Clients: 1, Crashes: None, LostAnswers: None, StatementAnswers: 1}},
		{"key_atomic_short_lease", "key_atomic_short_lease", "", Bounds{Jumps: None}},
		{"key_atomic_renew_all", "key_atomic_renew_all", "", Bounds{Jumps: None}},
		{"key_atomic_stored_errors", "key_atomic_stored_errors", "", Bounds{Clients: 1, Crashes: None, LostAnswers: None, Jumps: None, Calls: 1}},
		{"key_atomic_sweep_early", "key_atomic_sweep_early", "", Bounds{Crashes: None}},
		{"key_atomic_sweep_claims", "key_atomic_sweep_claims", "", Bounds{Crashes: None, LostAnswers: None}},
		{"outbox_nodedup", "outbox_nodedup", "", Bounds{Rounds: 2}},
		{"saga_crash", "saga", "", Bounds{}},
		{"saga_statement_answer", "saga", "", Bounds{Clients: 1, Crashes: None, LostAnswers: None, Jumps: None, StatementAnswers: 1}},
		{"downstream_ignored", "downstream_ignored", "", Bounds{}},
		{"downstream_ignored_call", "downstream_ignored", "", Bounds{Clients: 1, Crashes: None, LostAnswers: None, Calls: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys := builtin(t, tt.writer, tt.key)
			r := mustRun(t, sys, tt.bounds, Options{})
			if r.Verdict != Violated {
				t.Fatalf("%s, want violated", r.Verdict)
			}
			var text strings.Builder
			_ = r.Story.WriteText(&text, TextOptions{})
			golden(t, filepath.Join("testdata", "stories", tt.name+".txt"), text.String())
			diagram := mermaid(t, r.Story)
			checkMermaid(t, diagram)
			if slices.Contains(drawn, tt.name) {
				golden(t, filepath.Join("testdata", "stories", tt.name+".mmd"), diagram)
			}
			again, err := Replay(sys, r.Story, 0, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.Story.Steps, again.Steps); diff != "" || again.Property != r.Story.Property {
				t.Errorf("the replay breaks %q (-found +replayed):\n%s", again.Property, diff)
			}
		})
	}
}

// TestStoriesAreMinimal compares the smallest story with what a naive search
// finds, which follows every execution: no fewer faults, and among those no
// fewer switches, and then steps, will do.
func TestStoriesAreMinimal(t *testing.T) {
	for _, tt := range []struct {
		writer string
		bounds Bounds
	}{
		{"naive", Bounds{Clients: 1, Jumps: None}},
		{"key_split", Bounds{Clients: 1, Jumps: None}},
		{"key_split", Bounds{Attempts: 1, Jumps: None, Crashes: None}},
	} {
		sys := builtin(t, tt.writer, "")
		r := mustRun(t, sys, tt.bounds, Options{})
		b, _ := tt.bounds.withDefaults()
		tab, err := newTables(&sys, b)
		if err != nil {
			t.Fatal(err)
		}
		best := [3]int{99, 99, 99}
		p := newPerformance(newWorld(tab, reductions{}).Fork(true).(*world))
		everyExecution(p, func(p *performance) {
			story := p.trace(&Trace{})
			got := [3]int{story.Faults, story.Switches, len(p.steps)}
			if slices.Compare(got[:], best[:]) < 0 {
				best = got
			}
		})
		if got := [3]int{r.Story.Faults, r.Story.Switches, len(r.Story.Steps)}; got != best {
			t.Errorf("%s %v: faults, switches, steps %v, naively %v", tt.writer, tt.bounds, got, best)
		}
	}
}

// everyExecution calls f with every execution that breaks a property, by trying
// every choice in turn.
func everyExecution(p *performance, f func(*performance)) {
	if p.broken != 0 {
		f(p)
		return
	}
	v, steps := slices.Clone(p.v), len(p.steps)
	acts := p.enabled()
	for i, a := range acts {
		p.perform(a, i, len(acts))
		everyExecution(p, f)
		copy(p.v, v)
		p.steps, p.broken = p.steps[:steps], 0
	}
}

// TestKeyAtomicHolds: the right writer stays green under every fault, and all
// that can go wrong was exercised.
func TestKeyAtomicHolds(t *testing.T) {
	for _, b := range []Bounds{
		{},
		{Clients: 1, Attempts: 3, Crashes: 2, LostAnswers: 2, LostRequests: 1, CommitFaults: 1},
		{Attempts: 2, Crashes: None, LostAnswers: None, Duplicates: 1, Jumps: 1, CommitFaults: 1},
		{Clients: 3, Attempts: 1, Jumps: 1},
		{Nodes: 2, Jumps: 1},
	} {
		r := mustRun(t, builtin(t, "key_atomic", ""), b, Options{})
		if r.Verdict != Holds {
			t.Errorf("%v: %s %s", r.Bounds, r.Verdict, r.Why)
		}
		for _, what := range []string{"replays", "409 answers", "takeover", "fenced out"} {
			if r.Exercised[what] == 0 && r.Bounds.Clients > 1 {
				t.Errorf("%v: %s were never exercised: %v", r.Bounds, what, r.Exercised)
			}
		}
	}
}

// TestSameAtAnyNumberOfWorkers: verdict, counts and story are the same, byte
// for byte.
func TestSameAtAnyNumberOfWorkers(t *testing.T) {
	for _, writer := range []string{"key_split", "key_atomic", "key_atomic_nofence"} {
		var first string
		for _, workers := range []int{1, 2, 5} {
			r := mustRun(t, builtin(t, writer, ""), Bounds{}, Options{Workers: workers})
			r.Bytes = 0
			var text bytes.Buffer
			_ = r.WriteText(&text, TextOptions{})
			fmt.Fprintf(&text, "%+v", r.Story)
			if first == "" {
				first = text.String()
			}
			if diff := cmp.Diff(first, text.String()); diff != "" {
				t.Errorf("%s with %d workers (-1 worker +%d):\n%s", writer, workers, workers, diff)
			}
		}
	}
}

// TestReductionsAgree: with every reduction, alone, together and with none, the
// verdict and the size of the story are the same.
func TestReductionsAgree(t *testing.T) {
	b := Bounds{Attempts: 2, Crashes: 1, LostAnswers: None, Jumps: None}
	for _, writer := range []string{"naive", "key_split"} {
		want := mustRun(t, builtin(t, writer, ""), b, Options{}).Story
		for _, reduction := range []string{"none", "visited", "symmetry", "crashes", "clients", "symmetry,crashes"} {
			r := mustRun(t, builtin(t, writer, ""), b, Options{Reduction: reduction})
			if r.Story == nil || r.Story.Faults != want.Faults || r.Story.Switches != want.Switches || len(r.Story.Steps) != len(want.Steps) || !r.Story.Minimal {
				t.Errorf("%s, reduction %s: %s with another story than all reductions", writer, reduction, r.Verdict)
			}
		}
	}
	small := Bounds{Clients: 1, Jumps: 1}
	for _, reduction := range []string{"none", "visited", "all"} {
		if r := mustRun(t, builtin(t, "key_atomic", ""), small, Options{Reduction: reduction}); r.Verdict != Holds {
			t.Errorf("key_atomic, reduction %s: %s", reduction, r.Verdict)
		}
	}
}

func TestCutShort(t *testing.T) {
	sys := builtin(t, "key_atomic", "")
	r := mustRun(t, sys, Bounds{}, Options{Memory: 1 << 20})
	if r.Verdict != Inconclusive || r.Why != "the states took more than 1.0 MiB; then 10000 executions drawn at random broke nothing" || r.Faults == 0 || r.Queue == 0 {
		t.Errorf("%s, %q, %d faults, %d states wait", r.Verdict, r.Why, r.Faults, r.Queue)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := Run(ctx, sys, Bounds{}, Options{Progress: func(p interleave.Progress) {
		if p.States > 1000 {
			cancel()
		}
	}})
	if err != nil || r.Verdict != Inconclusive || r.Why != "interrupted" || r.States < 1000 {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
}

func TestVacuous(t *testing.T) {
	sys := builtin(t, "naive", "")
	alone := Bounds{Clients: 1, Attempts: 1, CommitFaults: 1, Crashes: None, LostAnswers: None}
	if r := mustRun(t, sys, alone, Options{}); r.Verdict != Vacuous || r.Why != "commit_faults found no place to strike" {
		t.Errorf("a fault asked for by name found no place: %s, want vacuous", r.Verdict)
	}
	sys.Start = func(*Env) model.Server { return refuser{} }
	r := mustRun(t, sys, Bounds{}, Options{})
	if r.Verdict != Vacuous || !strings.Contains(r.Why, "never put to the test") {
		t.Errorf("a writer that does nothing: %s %q, want vacuous", r.Verdict, r.Why)
	}
}

// refuser never does anything.
type refuser struct{}

func (refuser) Handle(context.Context, model.Request) model.Answer { return model.Answer{Status: 400} }
