package exactlyone

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"exactlyone/interleave"
)

// Checkpoint is a file in which a search is kept. If the file exists, the search
// goes on from there, and ends as if it had never been stopped. It must have been
// written by the same build, for the same system, bounds and options, but for
// Workers and Memory.
type Checkpoint struct {
	File string
	// Due says whether it is time to write the file; it is asked now and then.
	// Without it the file is written at the start, when the context ends, and
	// when the search ends.
	Due func() bool
	// Shard of Shards, counted from 1, is the part of the search that is done
	// here; see [Merge]. 0 of 0 is all of it.
	Shard, Shards int
	Origin        Origin // how a command makes the system again

	splitAt int // as in [interleave.Config]
}

// savedHead says which search a file holds.
type savedHead struct {
	Build, System string
	Origin        Origin
	Bounds        Bounds
	Named         []string
	Search        string
	Executions    int
	Reduction     string
	Seed          uint64
	Shard, Shards int
}

// differs is what tells two searches apart, "" if nothing does; shards aside.
func (h savedHead) differs(o savedHead) string {
	switch {
	case h.System != o.System || h.Origin != o.Origin:
		return "system"
	case h.Bounds != o.Bounds || !slices.Equal(h.Named, o.Named):
		return "bounds"
	case h.Build != o.Build:
		return "build"
	}
	h.Shard, h.Shards, o.Shard, o.Shards = 0, 0, 0, 0
	h.Named, o.Named = nil, nil
	if fmt.Sprintf("%+v", h) != fmt.Sprintf("%+v", o) {
		return "options"
	}
	return ""
}

// build identifies the program that runs: by a hash of its file, since nothing
// else says what code a search ran.
var build = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
})

// checkpointer keeps a search in a file.
type checkpointer struct {
	r    *run
	to   Checkpoint
	file saved
	stop context.CancelFunc
	err  error // the file could not be written; the search has been stopped
}

// openCheckpoint reads the file if there is one.
func (r *run) openCheckpoint() error {
	c := *r.o.Checkpoint
	switch {
	case c.File == "":
		return fmt.Errorf("%w: checkpoint: the name of a file was expected", ErrUsage)
	case c.Shards < 0 || c.Shards > maxShards || c.Shard > c.Shards || c.Shards > 0 && c.Shard < 1:
		return fmt.Errorf("%w: shard %d/%d: 1/n to n/n, n up to %d, was expected", ErrUsage, c.Shard, c.Shards, maxShards)
	case !r.visited && r.strategies == nil:
		return fmt.Errorf("%w: checkpoint: a search with the reduction visited was expected; without, nothing is remembered", ErrUsage)
	}
	id, err := build()
	if err != nil {
		return fmt.Errorf("checkpoint: the program cannot be told from others: %w", err)
	}
	k := &checkpointer{r: r, to: c, file: saved{Head: savedHead{
		Build: id, System: r.sys.Name, Origin: c.Origin, Bounds: r.bounds, Named: r.named,
		Search: cmp.Or(r.o.Search, "exhaustive"), Executions: r.o.Executions,
		Reduction: cmp.Or(r.o.Reduction, "all"), Seed: r.o.Seed, Shard: c.Shard, Shards: c.Shards,
	}}}
	r.ctx, k.stop = context.WithCancel(r.ctx)
	r.keep = k
	found, err := ReadSaved(c.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	what := found.Head.differs(k.file.Head)
	if what == "" && (found.Head.Shard != c.Shard || found.Head.Shards != c.Shards) {
		what = "shard"
	}
	if what != "" {
		return fmt.Errorf("%w: checkpoint %s: it was written for %s %s; remove it to start anew", ErrUsage, c.File, another(what), what)
	}
	k.file.Random, k.file.Search = found.Random, found.Search
	return nil
}

func another(what string) string {
	if strings.HasSuffix(what, "s") {
		return "other"
	}
	return "another"
}

// maxShards is how many parts a search can be split into.
const maxShards = 1024

// write writes the file. If that fails, the search ends here.
func (k *checkpointer) write() {
	if k.err != nil {
		return
	}
	if err := k.file.write(k.to.File); err != nil {
		k.err = fmt.Errorf("checkpoint: %w", err)
		k.stop()
	}
}

// due says whether it is time to write.
func (k *checkpointer) due() bool { return k.r.ctx.Err() != nil || k.to.Due != nil && k.to.Due() }

// sampling makes a search that draws executions go on from the file, and keep
// itself there.
func (k *checkpointer) sampling(cfg *interleave.SampleConfig) {
	if k.to.Shards > 0 {
		cfg.Shard, cfg.Shards = k.to.Shard-1, k.to.Shards
	}
	if k.file.Random == nil {
		k.file.Random = &savedRandom{}
	} else {
		cfg.From = k.file.Random.sampling(cfg.Strategies)
		k.r.before.add(k.file.Random.Exercised.exercised())
	}
	next := k.file.Random.Next // before which everything is in total
	total := k.file.Random.Exercised.exercised()
	cfg.Round = func(s *interleave.Sampling) {
		if s.Next > next { // else the round was not finished and does not count
			next = s.Next
			counted := k.r.settle()
			total.add(counted)
			if cfg.Shards > 0 {
				k.file.Random.Rounds = append(k.file.Random.Rounds, savedRound{s.Report.Steps, s.Report.Longest, savedCounts(counted)})
			}
		}
		ended := s.Report.Broken != 0 || cfg.Executions > 0 && s.Next >= cfg.Executions
		if ended || k.due() {
			k.file.Random.note(s, total, ended)
			k.write()
		}
	}
	if cfg.From == nil {
		k.write()
	}
}

// failed notes a violation that was found in the pilot.
func (k *checkpointer) failed(broken uint32, path []interleave.Action) {
	k.file.Random = &savedRandom{Ended: true, Broken: broken, Path: path}
	k.write()
}

// searching makes an exhaustive search go on from the file, and keep itself
// there.
func (k *checkpointer) searching(cfg *interleave.Config) {
	if !k.whole() {
		cfg.Shard, cfg.Shards = k.to.Shard-1, k.to.Shards
		cfg.SplitAt = k.to.splitAt
	}
	if found := k.file.Search; found != nil {
		cfg.From = found.Searched
		for _, i := range found.Increments {
			k.r.increments.id(i.increment())
		}
		cfg.Again = func() {
			k.r.settle() // what was counted on the way here was counted before
			k.r.before = found.Exercised.exercised()
		}
	}
	cfg.Round = func(stop interleave.Stop, took func() *interleave.Searched) {
		if stop == "" && !k.due() {
			return
		}
		k.file.Search = &savedSearch{
			Ended:    stop == interleave.Complete || stop == interleave.Violation,
			Searched: took(), Exercised: savedCounts(k.r.total()), Increments: k.r.increments.saved(),
		}
		k.write()
	}
	if cfg.From == nil {
		k.write()
	}
}

// whole says whether a search is no shard. There may be no checkpointer.
func (k *checkpointer) whole() bool { return k == nil || k.to.Shards == 0 }

// part says what a result is only a part of.
func (r *run) part(res *Result) {
	switch {
	case r.merged != nil && r.merged.unended() != "":
		res.Why = fmt.Sprintf("shard %s has not ended: %s", r.merged.unended(), res.Why)
	case !r.keep.whole():
		res.Why = fmt.Sprintf("shard %d/%d: %s", r.keep.to.Shard, r.keep.to.Shards, res.Why)
	}
}
