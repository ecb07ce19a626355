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
	Samples  int            // how many paths to report as samples
	// Visit is called with every distinct state, in the order found, and End
	// with every distinct state in which an execution ends. Either may be nil;
	// the vector is only lent.
	Visit, End func(v []uint32)

	// For Minimal only: at most so many states (0: no limit), the property that
	// counts (0: any), and actions that are left out (nil: none).
	States int
	Only   uint32
	Skip   func(a Action) bool
}

// Progress is how far a search has got.
type Progress struct {
	Faults int // faults in the executions searched now
	Depth  int // steps in the executions searched now
	States int // distinct states found
	Steps  int // steps performed
	Queue  int // states still to be continued, as far as known

	Executions int // drawn at random, if any were
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
	Stop    Stop
	Broken  uint32     // the property broken, 0 if none
	Faults  int        // faults in the execution found, or searched when it stopped
	Depth   int        // longest execution prefix searched within that number of faults
	States  int        // distinct states
	Steps   int        // steps performed, also those that led to a state seen before
	Ends    int        // distinct ends
	Queue   int        // states not continued when it stopped
	Bytes   int64      // memory for the states, at most
	Path    []Action   // the execution found; nil if none was
	Samples [][]Action // paths to states evenly spaced among those found
}

// Executions is how many paths were followed, each up to its end or to a state
// that had been seen before.
func (r Report) Executions() int { return r.Steps - (r.States - 1) + r.Ends }

// Explore visits every state reachable from the start, those with fewer faults
// first and among them those with fewer steps, until a property is broken. The
// report does not depend on the number of workers.
func Explore(ctx context.Context, cfg Config, m Model) Report {
	s := &search{cfg: cfg, width: m.Width(), seen: newVisited()}
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
	cur    *queue   // the level being expanded
	at     int      // how many of its states were
	next   *queue   // the level after it
	later  []*queue // by number of faults: states to start from
	outs   []output
	report Report
}

// trail is how a state was first reached; its parent has a smaller number.
type trail struct {
	parent uint32
	action Action
}

// output is what one worker found for one batch of states, one after another
// in words, and the states of the batch in which an execution ends.
type output struct {
	steps int
	words []uint32
	found []found
	lasts []uint32
	ends  []end
}

type found struct {
	trail
	key    Key
	broken uint32
}

type end struct{ number, broken uint32 }

const (
	batchLen       = 128
	batchPerWorker = 8
)

func (s *search) run(ctx context.Context) {
	first := make([]uint32, s.width)
	s.models[0].Start(first)
	s.next = s.newQueue()
	s.add(first, found{key: s.models[0].Key(first)}, s.next)
	s.later = []*queue{s.next}
	for faults := 0; faults < len(s.later); faults++ {
		s.report.Faults, s.report.Depth = faults, 0
		s.cur, s.later[faults] = s.later[faults], nil
		for s.cur != nil && s.cur.n > 0 {
			s.next = s.newQueue()
			if s.report.Stop = s.level(ctx, faults); s.report.Stop != "" {
				s.finish()
				return
			}
			s.cur = s.next
			s.report.Depth++
		}
	}
	s.report.Stop = Complete
	s.finish()
}

func (s *search) newQueue() *queue { return &queue{width: s.width} }

func (s *search) finish() {
	s.report.States = s.seen.keys.n
	if s.report.Stop != Complete {
		s.report.Queue = s.cur.n - s.at + s.next.n
		for _, q := range s.later {
			if q != nil {
				s.report.Queue += q.n
			}
		}
	}
	n := min(s.cfg.Samples, s.report.States)
	for i := range n {
		s.report.Samples = append(s.report.Samples, s.path(uint32(i*s.report.States/n)))
	}
}

// level expands every state of the current level.
func (s *search) level(ctx context.Context, faults int) Stop {
	s.at = 0
	for at := 0; at < s.cur.batches(); {
		if ctx.Err() != nil {
			return s.cutShort(Cancelled)
		}
		n := min(len(s.outs), s.cur.batches()-at)
		s.expand(at, n)
		for b := range n {
			s.merge(&s.outs[b], faults)
		}
		at += n
		s.at = min(s.cur.n, at*batchLen)
		if s.cfg.Progress != nil {
			s.cfg.Progress(Progress{
				Faults: faults, Depth: s.report.Depth, States: s.seen.keys.n, Steps: s.report.Steps,
				Queue: s.cur.n - s.at + s.next.n,
			})
		}
		s.report.Bytes = max(s.report.Bytes, s.bytes())
		if s.cfg.Memory > 0 && s.report.Bytes > s.cfg.Memory {
			return s.cutShort(Memory)
		}
	}
	return s.cutShort("")
}

// cutShort is why the search stops, and a violation is the better reason.
func (s *search) cutShort(why Stop) Stop {
	if s.report.Broken != 0 {
		return Violation
	}
	return why
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

// expand lets the workers fill outs[0:n] with what follows the batches of cur
// from number at on.
func (s *search) expand(at, n int) {
	if s.cfg.Workers == 1 || n == 1 {
		for b := range n {
			s.batch(s.models[0], at+b, &s.outs[b])
		}
		return
	}
	var wg sync.WaitGroup
	var taken atomic.Int64
	failed := make([]any, len(s.models))
	for w, m := range s.models {
		wg.Go(func() {
			ended := false
			defer func() {
				if failed[w] = recover(); failed[w] == nil && !ended {
					failed[w] = ErrGoexit
				}
			}()
			for b := int(taken.Add(1)) - 1; b < n; b = int(taken.Add(1)) - 1 {
				s.batch(m, at+b, &s.outs[b])
			}
			ended = true
		})
	}
	wg.Wait()
	for _, r := range failed {
		if r != nil {
			panic(r) // the code under test is at fault; the caller reports it
		}
	}
}

// batch expands one batch of states.
func (s *search) batch(m Model, b int, out *output) {
	*out = output{words: out.words[:0], found: out.found[:0], lasts: out.lasts[:0], ends: out.ends[:0]}
	var acts []Action
	next := make([]uint32, s.width)
	s.cur.batch(b, func(v []uint32, number uint32) {
		acts = m.Enabled(v, acts[:0])
		if ends(acts) {
			out.ends = append(out.ends, end{number, m.End(v)})
			out.lasts = append(out.lasts, v...)
		}
		out.steps += len(acts)
		for _, a := range acts {
			broken := m.Apply(v, a, next)
			if key := m.Key(next); broken != 0 || !s.seen.has(key) {
				out.found = append(out.found, found{trail{number, a}, key, broken})
				out.words = append(out.words, next...)
			}
		}
	})
}

// merge adds what one batch found, in order.
func (s *search) merge(out *output, faults int) {
	s.report.Steps += out.steps
	for i, e := range out.ends {
		s.report.Ends++
		if s.cfg.End != nil {
			s.cfg.End(out.lasts[i*s.width : (i+1)*s.width])
		}
		if e.broken != 0 && s.report.Broken == 0 {
			s.report.Broken, s.report.Path = e.broken, s.path(e.number)
		}
	}
	for i, f := range out.found {
		to := s.next
		if f.action.Fault() {
			for len(s.later) <= faults+1 {
				s.later = append(s.later, s.newQueue())
			}
			to = s.later[faults+1]
		}
		s.add(out.words[i*s.width:(i+1)*s.width], f, to)
	}
}

// add puts a state into the visited set, and into a queue if it is new and
// nothing is broken there.
func (s *search) add(v []uint32, f found, to *queue) {
	n, isNew := s.seen.add(f.key)
	if isNew {
		s.trail.add(f.trail)
		if s.cfg.Visit != nil {
			s.cfg.Visit(v)
		}
	}
	switch {
	case f.broken != 0 && s.report.Broken == 0:
		s.report.Broken, s.report.Path = f.broken, append(s.path(f.parent), f.action)
	case f.broken == 0 && isNew:
		to.push(v, uint32(n))
	}
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
