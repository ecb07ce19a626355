package exactlyone

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"exactlyone/interleave"
)

// TestMergePrograms: the shards of exhaustive searches of random programs, split
// early and stopped on the way, together give the report of the whole.
func TestMergePrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("many searches; -short")
	}
	violated, held, split, shared := 0, 0, 0, 0
	for seed := range uint64(130) {
		p := newProgram(seed, 2+int(seed%3))
		sys, b := *p.system(), p.bounds
		for _, l := range b.Limits() {
			if l.fault && *l.N == 0 {
				*l.N = None
			}
		}
		whole, err := Run(t.Context(), sys, b, Options{Memory: 2 << 20, Executions: 1})
		if err != nil || whole.Random != nil {
			continue // not for what is tested here, or too large
		}
		var files []*Saved
		n, states := 2+int(seed%2), 0
		for i := range n {
			s := stoppedShard(t, sys, b, &Checkpoint{File: filepath.Join(t.TempDir(), "shard"), Shard: i + 1, Shards: n, splitAt: 1 + int(seed%7)})
			files = append(files, s)
			if searched := s.Search.Searched; searched.Split > 0 {
				split++
				states += searched.States - searched.Split
			}
		}
		r, err := Merge(t.Context(), sys, files, Options{Workers: 1})
		if err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		if got, want := reported(t, r), reported(t, whole); got != want {
			t.Fatalf("merged:\n%s\nin one piece:\n%s\n%s", got, want, p)
		}
		if s := files[0].Search.Searched; s.Split > 0 && states > whole.States-s.Split {
			shared++
		}
		if whole.Verdict == Violated {
			violated++
		} else {
			held++
		}
	}
	t.Logf("%d violated, %d not; %d shards were split off, in %d searches they met the same states", violated, held, split, shared)
	if min(violated, held, split, shared) < 8 {
		t.Error("too few of a kind")
	}
}

// stoppedShard searches a shard that is stopped after every few rounds.
func stoppedShard(t *testing.T, sys System, b Bounds, c *Checkpoint) *Saved {
	t.Helper()
	for stops := 0; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		o := Options{Workers: 1 + stops%2, Checkpoint: c, Progress: func(interleave.Progress) {
			if calls++; calls > 5<<stops {
				cancel()
			}
		}}
		r, err := Run(ctx, sys, b, o)
		stopped := ctx.Err() != nil
		cancel()
		if err != nil {
			t.Fatalf("%s, shard %d/%d, stopped %d times: %v", sys.Name, c.Shard, c.Shards, stops, err)
		}
		if !stopped {
			if r.Verdict != Violated && (!r.Part || !strings.HasPrefix(r.Why, "shard ")) {
				t.Errorf("%s: %s", r.Verdict, r.Why)
			}
			s, err := ReadSaved(c.File)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
	}
}
