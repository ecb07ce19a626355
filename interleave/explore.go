package interleave

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// Config says how to search. The zero value searches with one worker a core
// and no limit on memory.
type Config struct {
	Workers  int            // 0 means GOMAXPROCS
	Memory   int64          // bytes for the states seen and waiting; 0 means no limit
	Progress func(Progress) // called now and then from the searching goroutine; may be nil
	// Visit is called with every distinct state, in the order found, and End
	// with every distinct state in which an execution ends. Either may be nil;
	// the vector is only lent.
	Visit, End func(v []uint32)
}

// Progress is how far a search has got.
type Progress struct {
	Faults int // faults in the executions searched now
	Depth  int // steps in the executions searched now
	States int // distinct states found
	Steps  int // steps performed
	Queue  int // states still to be continued, as far as known
}

// Stop says why a search ended.
type Stop string

// Why a search ends.
const (
	Complete  Stop = "complete"  // every state within the bounds was visited
	Violation Stop = "violation" // a property was broken
	Memory    Stop = "memory"    // the limit was reached
	Cancelled Stop = "cancelled" // the context ended
)

// Report is what a search did.
type Report struct {
	Stop   Stop
	Broken uint32 // the property broken, 0 if none
	Faults int    // faults in the execution found, or searched when it stopped
	Depth  int    // longest execution prefix searched within that number of faults
	States int    // distinct states
	Steps  int    // steps performed, also those that led to a state seen before
	Ends   int    // distinct ends
	Queue  int    // states not continued when it stopped
	Bytes  int64  // memory for the states, at most
	Path   []Action
}

// Executions is how many paths were followed, each up to its end or to a state
// that had been seen before.
func (r Report) Executions() int { return r.Steps - (r.States - 1) + r.Ends }

// Explore visits every state reachable from the start, those with fewer faults
// first and among them those with fewer steps, until a property is broken. The
// report does not depend on the number of workers.
func Explore(ctx context.Context, cfg Config, m Model) Report {
	s := &search{cfg: cfg, width: m.Width(), seen: newVisited(), cur: &vectors{}, next: &vectors{}}
	if s.cfg.Workers <= 0 {
		s.cfg.Workers = runtime.GOMAXPROCS(0)
	}
	s.models = append(s.models, m)
	for len(s.models) < s.cfg.Workers {
		s.models = append(s.models, m.Fork(false))
	}
	s.outs = make([]output, s.cfg.Workers*batchPerWorker)
	s.run(ctx)
	return s.report
}

// search is breadth-first within one number of faults at a time. The states of
// a level are expanded by all workers, who only read the set of states seen;
// then what they found is added in order, so that the least parent wins.
type search struct {
	cfg    Config
	width  int
	models []Model
	seen   *visited
	trail  blocks[trail]
	cur    *vectors   // the level being expanded
	next   *vectors   // the level after it
	later  []*vectors // by number of faults: states to start from
	outs   []output
	report Report
}

// trail is how a state was first reached; its parent has a smaller number.
type trail struct {
	parent uint32
	action Action
}

// output is what one worker found for one batch of states.
type output struct {
	found  vectors // from holds the parent's number
	keys   []Key
	acts   []Action
	broken []uint32
	steps  int
	ends   []uint32 // numbers of states in which an execution ends
	lasts  vectors  // those states themselves
	ebad   []uint32
}

const (
	batchLen       = 128
	batchPerWorker = 8
)

func (s *search) run(ctx context.Context) {
	first := make([]uint32, s.width)
	s.models[0].Start(first)
	s.later = []*vectors{{width: s.width}}
	s.cur.width, s.next.width = s.width, s.width
	s.add(first, s.models[0].Key(first), 0, 0, 0)
	s.later[0].push(first, 0)
	s.next.reset()
	for faults := 0; faults < len(s.later); faults++ {
		s.report.Faults, s.report.Depth = faults, 0
		if s.later[faults] == nil {
			continue
		}
		s.cur, s.later[faults] = s.later[faults], nil
		for s.cur.len() > 0 {
			if stop := s.level(ctx, faults); stop != "" {
				s.stop(stop)
				return
			}
			if s.report.Broken != 0 {
				s.stop(Violation)
				return
			}
			s.cur, s.next = s.next, s.cur
			s.next.width = s.width
			s.next.reset()
			s.report.Depth++
		}
	}
	s.stop(Complete)
}

func (s *search) stop(why Stop) {
	s.report.Stop = why
	s.report.States = s.seen.keys.n
	s.report.Queue = s.next.len()
	for _, q := range s.later {
		if q != nil {
			s.report.Queue += q.len()
		}
	}
}

// level expands every state of the current level.
func (s *search) level(ctx context.Context, faults int) Stop {
	n := s.cur.len()
	for at := 0; at < n; {
		if ctx.Err() != nil {
			return Cancelled
		}
		batches := min(len(s.outs), (n-at+batchLen-1)/batchLen)
		s.expand(at, batches)
		for b := range batches {
			s.merge(&s.outs[b], faults)
		}
		at = min(n, at+batches*batchLen)
		s.progress(faults, n-at)
		if used := s.bytes(); used > s.report.Bytes {
			s.report.Bytes = used
		}
		if s.cfg.Memory > 0 && s.report.Bytes > s.cfg.Memory {
			return Memory
		}
	}
	return ""
}

func (s *search) progress(faults, left int) {
	if s.cfg.Progress == nil {
		return
	}
	s.cfg.Progress(Progress{
		Faults: faults, Depth: s.report.Depth, States: s.seen.keys.n,
		Steps: s.report.Steps, Queue: left + s.next.len(),
	})
}

func (s *search) bytes() int64 {
	total := s.seen.bytes() + s.trail.bytes(8) + s.cur.bytes() + s.next.bytes()
	for _, q := range s.later {
		if q != nil {
			total += q.bytes()
		}
	}
	return total
}

// expand lets the workers fill outs[0:batches] with what follows the states
// from cur[at].
func (s *search) expand(at, batches int) {
	if s.cfg.Workers == 1 || batches == 1 {
		for b := range batches {
			s.batch(s.models[0], at+b*batchLen, &s.outs[b])
		}
		return
	}
	var wg sync.WaitGroup
	var taken atomic.Int64
	failed := make([]any, len(s.models))
	for w, m := range s.models {
		wg.Go(func() {
			defer func() { failed[w] = recover() }()
			for b := int(taken.Add(1)) - 1; b < batches; b = int(taken.Add(1)) - 1 {
				s.batch(m, at+b*batchLen, &s.outs[b])
			}
		})
	}
	wg.Wait()
	if i := slices.IndexFunc(failed, func(r any) bool { return r != nil }); i >= 0 {
		panic(failed[i]) // the code under test is at fault; the caller reports it
	}
}

// batch expands up to batchLen states.
func (s *search) batch(m Model, at int, out *output) {
	out.found.width, out.lasts.width = s.width, s.width
	out.found.reset()
	out.lasts.reset()
	out.keys, out.acts, out.broken = out.keys[:0], out.acts[:0], out.broken[:0]
	out.ends, out.ebad, out.steps = out.ends[:0], out.ebad[:0], 0
	var acts []Action
	buf := make([]uint32, s.width)
	for i := at; i < min(at+batchLen, s.cur.len()); i++ {
		v := s.cur.at(i)
		acts = m.Enabled(v, acts[:0])
		if len(acts) == 0 {
			out.ends = append(out.ends, s.cur.from[i])
			out.ebad = append(out.ebad, m.End(v))
			out.lasts.push(v, int(s.cur.from[i]))
		}
		for _, a := range acts {
			broken := m.Apply(v, a, buf)
			out.steps++
			key := m.Key(buf)
			if broken == 0 && s.seen.has(key) {
				continue
			}
			out.found.push(buf, int(s.cur.from[i]))
			out.keys = append(out.keys, key)
			out.acts = append(out.acts, a)
			out.broken = append(out.broken, broken)
		}
	}
}

// merge adds what one batch found, in order.
func (s *search) merge(out *output, faults int) {
	s.report.Steps += out.steps
	for i := range out.ends {
		s.report.Ends++
		if s.cfg.End != nil {
			s.cfg.End(out.lasts.at(i))
		}
		if out.ebad[i] != 0 && s.report.Broken == 0 {
			s.report.Broken, s.report.Path = out.ebad[i], s.path(out.ends[i])
		}
	}
	for i, key := range out.keys {
		n := s.add(out.found.at(i), key, out.found.from[i], out.acts[i], out.broken[i])
		if n < 0 {
			continue
		}
		to := s.next
		if out.acts[i].Fault() {
			for len(s.later) <= faults+1 {
				s.later = append(s.later, &vectors{width: s.width})
			}
			to = s.later[faults+1]
		}
		to.push(out.found.at(i), n)
	}
}

// add puts a state into the visited set and returns its number, or -1 if it is
// not to be continued: seen before, or broken.
func (s *search) add(v []uint32, key Key, parent uint32, a Action, broken uint32) int {
	n, isNew := s.seen.add(key)
	if isNew {
		s.trail.add(trail{parent, a})
		if s.cfg.Visit != nil {
			s.cfg.Visit(v)
		}
	}
	if broken != 0 {
		if s.report.Broken == 0 {
			s.report.Broken, s.report.Path = broken, append(s.path(parent), a)
		}
		return -1
	}
	if !isNew {
		return -1
	}
	return n
}

// path is the actions that lead to a state.
func (s *search) path(n uint32) []Action {
	var p []Action
	for ; n != 0; n = s.trail.at(int(n)).parent {
		p = append(p, s.trail.at(int(n)).action)
	}
	slices.Reverse(p)
	return p
}
