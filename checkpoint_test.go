package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// reported is everything that a report shows but for seconds, and but for how far
// a search got that ran out of memory.
func reported(t *testing.T, r *Result) string {
	t.Helper()
	if strings.Contains(r.Why, "the states took more than") {
		// How far it gets depends on how much it had learned when it went on.
		return fmt.Sprint(r.Verdict, r.Why, r.Random.Executions, r.Random.Strategies)
	}
	var text strings.Builder
	if err := r.WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s\n%d executions, %d checked, %d faults\n%+v", text.String(), r.Executions, r.Checked, r.Faults, r.Random)
}

// searchesToKeep are searches that hold, that are violated early and late, and
// that draw.
var searchesToKeep = []struct {
	name, writer string
	bounds       Bounds
	options      Options
	long         bool
}{
	{"holds", "key_atomic", Bounds{}, Options{}, true},
	{"violated", "key_atomic_nofence", Bounds{Clients: 3, Crashes: 2}, Options{}, true},
	{"out of memory", "key_atomic", Bounds{}, Options{Memory: 5 << 20, Executions: 100, Workers: 2}, true},
	{"holds drawn", "key_atomic", Bounds{}, Options{Search: "random", Executions: 7000, Seed: 3}, true},
	{"one strategy", "key_atomic", Bounds{}, Options{Search: "pos", Executions: 4096}, false},
	{"violated in the pilot", "naive", Bounds{}, Options{Search: "random"}, false},
	{"violated later", "key_atomic_nofence", Bounds{Crashes: 9, LostAnswers: 9, Jumps: 1}, Options{Search: "pos", Executions: 50000, Seed: 1}, true},
	{"holds, small", "key_atomic", Bounds{Clients: 1}, Options{}, false},
	{"violated, small", "key_split", Bounds{Clients: 1}, Options{}, false},
}

// TestCheckpoint: a search that is stopped again and again ends as one that was
// not.
func TestCheckpoint(t *testing.T) {
	for _, tt := range searchesToKeep {
		if tt.long && testing.Short() {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			sys := builtin(t, tt.writer, "")
			want := reported(t, mustRun(t, sys, tt.bounds, tt.options))
			o := tt.options
			o.Checkpoint = &Checkpoint{File: filepath.Join(t.TempDir(), "search")}
			for stops := 0; ; stops++ {
				ctx, cancel := context.WithCancel(context.Background())
				if o.Memory == 0 {
					o.Workers = 1 + stops%3 // when memory runs out depends on it
				}
				calls := 0
				o.Progress = func(Progress) {
					if calls++; calls == 1+stops*stops {
						cancel()
					}
				}
				r, err := Run(ctx, sys, tt.bounds, o)
				stopped := ctx.Err() != nil
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				if !stopped {
					if got := reported(t, r); got != want {
						t.Errorf("stopped %d times:\n%s\nin one go:\n%s", stops, got, want)
					}
					t.Logf("stopped %d times", stops)
					break
				}
			}
			o.Progress = nil
			if got := reported(t, mustRun(t, sys, tt.bounds, o)); got != want {
				t.Errorf("from the file of the end:\n%s\nin one go:\n%s", got, want)
			}
		})
	}
}

// shard runs one shard and reads its file.
func shard(t *testing.T, sys System, b Bounds, o Options, i, n int) *Saved {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shard")
	o.Checkpoint = &Checkpoint{File: path, Shard: i, Shards: n}
	mustRun(t, sys, b, o)
	s, err := ReadSaved(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMerge: the shards of a search together give the report of the whole.
func TestMerge(t *testing.T) {
	for _, tt := range searchesToKeep {
		sys := builtin(t, tt.writer, "")
		if tt.options.Memory > 0 || tt.long && testing.Short() {
			continue // each shard has as much memory
		}
		want := reported(t, mustRun(t, sys, tt.bounds, tt.options))
		for _, n := range []int{1, 2, 3, 7} {
			t.Run(fmt.Sprint(tt.name, n), func(t *testing.T) {
				var files []*Saved
				for i := range n {
					tt.options.Workers = 1 + i%2
					files = append(files, shard(t, sys, tt.bounds, tt.options, n-i, n))
				}
				r, err := Merge(t.Context(), sys, files, Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := reported(t, r); got != want {
					t.Errorf("merged:\n%s\nin one piece:\n%s", got, want)
				}
			})
		}
	}
}

// TestSavedIsRefused: files that are not what was expected.
func TestSavedIsRefused(t *testing.T) {
	sys := builtin(t, "key_atomic", "")
	o := Options{Search: "random", Executions: 10}
	one, two := shard(t, sys, Bounds{}, o, 1, 2), shard(t, sys, Bounds{}, o, 2, 2)
	three := shard(t, sys, Bounds{}, o, 3, 3)
	other := shard(t, sys, Bounds{Clients: 1}, o, 2, 2)
	rebuilt := *two
	rebuilt.Head.Build = "another"
	both := *one
	both.Head.Build = "another"
	whole := filepath.Join(t.TempDir(), "whole")
	o.Checkpoint = &Checkpoint{File: whole}
	mustRun(t, sys, Bounds{}, o)
	all, err := ReadSaved(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		files []*Saved
		want  string
	}{
		"none":           {nil, "all shards were expected"},
		"missing":        {[]*Saved{two}, "missing: shard 1/2"},
		"doubled":        {[]*Saved{one, two, one}, "both are shard 1/2"},
		"other numbers":  {[]*Saved{one, three}, "found 1/2 and 3/3"},
		"other bounds":   {[]*Saved{one, other}, "different bounds"},
		"another build":  {[]*Saved{one, &rebuilt}, "different builds"},
		"not this build": {[]*Saved{&both, &rebuilt}, "another build than this one"},
		"whole":          {[]*Saved{all}, "no shard"},
	} {
		if _, err := Merge(t.Context(), sys, tt.files, Options{}); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	for name, change := range map[string]func(*Options, *Bounds){
		"bounds":  func(_ *Options, b *Bounds) { b.Clients = 1 },
		"options": func(o *Options, _ *Bounds) { o.Seed = 9 },
		"shard":   func(o *Options, _ *Bounds) { o.Checkpoint = &Checkpoint{File: whole, Shard: 1, Shards: 2} },
	} {
		o, b := o, Bounds{}
		change(&o, &b)
		if _, err := Run(t.Context(), sys, b, o); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), name+"; remove it") {
			t.Errorf("%s: %v", name, err)
		}
	}
	refusesDamage(t, whole)
}

// refusesDamage cuts a file short, and changes it, at every place.
func refusesDamage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range data {
		changed := append([]byte(nil), data...)
		changed[at] ^= 1
		for _, bad := range [][]byte{data[:at], changed} {
			if err := os.WriteFile(path, bad, 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadSaved(path); !errors.Is(err, ErrUsage) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("damaged at %d: %v", at, err)
			}
		}
	}
}
