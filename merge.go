package exactlyone

import (
	"context"
	"fmt"
	"strings"

	"exactlyone/interleave"
)

// Merge makes one result of the files of all shards of a search: that of the
// search in one piece. Of o it takes Workers, Memory and Progress. The error
// wraps [ErrUsage] if the files are not the shards of one search by this very
// program. A search of which a shard has not ended is at best inconclusive, and
// its numbers are those of what was done.
func Merge(ctx context.Context, sys System, files []*Saved, o Options) (*Result, error) {
	var result *Result
	err := guarded(func() (err error) {
		result, err = mergeHere(ctx, sys, files, o)
		return err
	})
	return result, err
}

func mergeHere(ctx context.Context, sys System, files []*Saved, o Options) (*Result, error) {
	shards, err := inOrder(files)
	if err != nil {
		return nil, err
	}
	id, err := build()
	if err != nil {
		return nil, fmt.Errorf("this program cannot be told from others: %w", err)
	}
	head := shards[0].Head
	if head.Build != id {
		return nil, fmt.Errorf("%w: %s: it was written by another build than this one", ErrUsage, shards[0].Path)
	}
	o = Options{
		Search: head.Search, Executions: head.Executions, Reduction: head.Reduction, Seed: head.Seed,
		Workers: o.Workers, Memory: o.Memory, Progress: o.Progress,
	}
	bounds, err := head.Bounds.exact()
	if err != nil {
		return nil, err
	}
	r, err := newRun(ctx, sys, bounds, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.named = head.Named
	r.merged = &merger{r: r, shards: shards}
	return r.search()
}

// inOrder is all shards of one search, in order.
func inOrder(files []*Saved) ([]*Saved, error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("%w: the files of all shards were expected", ErrUsage)
	}
	first := files[0]
	n := first.Head.Shards
	if n == 0 {
		return nil, fmt.Errorf("%w: %s: it is no shard, but a whole search", ErrUsage, first.Path)
	}
	all := make([]*Saved, n)
	for _, f := range files {
		h := f.Head
		if what := first.Head.differs(h); what != "" {
			return nil, fmt.Errorf("%w: %s and %s: they are of different %s", ErrUsage, first.Path, f.Path, plural(what))
		}
		if h.Shards != n || h.Shard < 1 || h.Shard > n {
			return nil, fmt.Errorf("%w: %s and %s: shards of one search were expected, found %d/%d and %d/%d", ErrUsage, first.Path, f.Path, first.Head.Shard, n, h.Shard, h.Shards)
		}
		if other := all[h.Shard-1]; other != nil {
			return nil, fmt.Errorf("%w: %s and %s: both are shard %d/%d", ErrUsage, other.Path, f.Path, h.Shard, n)
		}
		all[h.Shard-1] = f
	}
	var missing []string
	for i, f := range all {
		if f == nil {
			missing = append(missing, fmt.Sprintf("%d/%d", i+1, n))
		}
	}
	if missing != nil {
		return nil, fmt.Errorf("%w: missing: shard %s", ErrUsage, strings.Join(missing, ", "))
	}
	return all, nil
}

func plural(what string) string { return strings.TrimSuffix(what, "s") + "s" }

// merger is the shards of one search.
type merger struct {
	r      *run
	shards []*Saved
}

// unended lists the shards that were cut short.
func (m *merger) unended() string {
	var all []string
	for _, s := range m.shards {
		if !(s.Random != nil && s.Random.Ended || s.Search != nil && s.Search.Ended) {
			all = append(all, fmt.Sprintf("%d/%d", s.Head.Shard, s.Head.Shards))
		}
	}
	return strings.Join(all, ", ")
}

// failed: every shard has found it as well.
func (*merger) failed(uint32, []interleave.Action) {}

// sampling makes a search go on where its shards together have stopped. If one
// of them found a violation, that is before the round of the first: it is drawn
// again.
func (m *merger) sampling(cfg *interleave.SampleConfig) {
	first := -1
	for i, s := range m.shards {
		if s.Random != nil && s.Random.Broken != 0 && (first < 0 || s.Random.Failed < m.shards[first].Random.Failed) {
			first = i
		}
	}
	sum := &savedRandom{Drawn: make([]int, len(cfg.Strategies))}
	cfg.From = sum.sampling(cfg.Strategies)
	from := cfg.From
	switch {
	case m.unended() != "":
		m.all(from)
		if first >= 0 {
			s := m.shards[first].Random
			from.Failed, from.Report.Broken, from.Report.Path = s.Failed, s.Broken, s.Path
			from.Report.Drawn[s.Failed%len(from.Report.Drawn)].Failed = 1
		}
		from.Next = max(1, from.Next)
		cfg.Executions = from.Next // no more
	case first >= 0:
		from.Next = m.shards[first].Random.Failed / interleave.RoundLen * interleave.RoundLen
		m.rounds(from)
	default:
		m.all(from)
		from.Next = cfg.Executions
	}
	m.ends(from, cfg.Samples)
}

// all sums everything that was drawn.
func (m *merger) all(to *interleave.Sampling) {
	to.Next = 0
	for _, s := range m.shards {
		if s.Random == nil {
			continue
		}
		to.Next = max(to.Next, s.Random.Next)
		to.Report.Executions += s.Random.Executions
		to.Report.Steps += s.Random.Steps
		to.Report.Longest = max(to.Report.Longest, s.Random.Longest)
		for i, n := range s.Random.Drawn {
			to.Report.Drawn[i].Executions += n
		}
		m.r.before.add(s.Random.Exercised.exercised())
	}
}

// rounds sums the rounds before to.Next.
func (m *merger) rounds(to *interleave.Sampling) {
	n := to.Next / interleave.RoundLen
	to.Report.Executions = to.Next
	for i := range to.Next {
		to.Report.Drawn[i%len(to.Report.Drawn)].Executions++
	}
	for _, s := range m.shards {
		for i, round := range s.Random.Rounds[:n] {
			if m.r.before.add(round.Exercised.exercised()); i == n-1 {
				to.Report.Steps += round.Steps
				to.Report.Longest = max(to.Report.Longest, round.Longest)
			}
		}
	}
}

// ends merges the ends seen, and the samples, of executions before to.Next.
func (m *merger) ends(to *interleave.Sampling, samples int) {
	for _, s := range m.shards {
		if s.Random == nil {
			continue
		}
		for _, e := range s.Random.Ends {
			seen, ok := to.Seen[e.Key]
			if !ok {
				seen = interleave.Twice{First: -1, Second: -1}
			}
			for _, at := range []int{e.First, e.Second} {
				if at >= 0 && at < to.Next {
					seen = seen.Add(at)
				}
			}
			if seen.First >= 0 {
				to.Seen[e.Key] = seen
			}
		}
	}
	n := len(m.shards)
	for at := range min(samples, to.Next) {
		if s := m.shards[at%n].Random; s != nil && at/n < len(s.Samples) {
			to.Report.Samples = append(to.Report.Samples, s.Samples[at/n])
		}
	}
}

// searched is what the shards of an exhaustive search have found.
func (m *merger) searched() (interleave.Report, error) {
	var parts []*interleave.Searched
	var meanings [][]savedIncrement
	var held uint64
	var bytes int64
	for _, s := range m.shards {
		if s.Search == nil || s.Search.Searched == nil {
			return interleave.Report{}, fmt.Errorf("%w: %s: nothing was searched yet; continue it", ErrUsage, s.Path)
		}
		parts = append(parts, s.Search.Searched)
		meanings = append(meanings, s.Search.Increments)
		held |= s.Search.Exercised.Held // whoever met a property first has counted it
		bytes = max(bytes, s.Search.Searched.Bytes)
	}
	steps, ends := 0, 0
	damaged := false
	report, ok := interleave.Join(parts, samples, func(shard int, counted uint32) {
		if int(counted) >= len(meanings[shard]) {
			damaged = true
			return
		}
		i := meanings[shard][counted]
		if steps += i.Steps; i.Ended {
			ends++
		}
		m.r.before.add(i.increment().exercised())
	})
	if !ok || damaged {
		return report, fmt.Errorf("%w: %s …: the shards do not agree on what they have in common", ErrUsage, m.shards[0].Path)
	}
	m.r.before.held |= held
	report.Steps, report.Ends, report.Bytes = steps, ends, bytes
	if report.Stop == interleave.Complete && m.unended() != "" {
		report.Stop = interleave.Cancelled
		for _, p := range parts {
			if p.Faults < report.Faults || p.Faults == report.Faults && p.Depth < report.Depth {
				report.Faults, report.Depth = p.Faults, p.Depth
			}
		}
	}
	return report, nil
}
