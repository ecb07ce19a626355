package interleave

import (
	"context"
	"runtime"
	"slices"
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

	// For Explore only: From is where an earlier search stopped, nil for none.
	// Again is then called once the search is there. Round is called after each
	// round, and when the search stops, with the reason;
	// took says how far it has got, which takes time. Either may be nil.
	// Shard of Shards, counted from 0, is the part to be searched of a model that
	// is [Sharded]; 0 of 0 is all of it.
	From  *Searched
	Again func()
	Round func(stop Stop, took func() *Searched)

	Shard, Shards int
	// SplitAt is how many states a number of faults begins with at least where
	// the search is split: every shard searches everything before, and after it
	// what follows from the states of its parts. 0 means 5000; fewer would be no
	// fair share.
	SplitAt int

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
	s := &search{cfg: cfg, width: m.Width()}
	for i := range s.seen {
		s.seen[i] = newVisited()
	}
	if cfg.Shards > 0 {
		s.part = new(part)
	}
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

// search is breadth-first within one number of faults at a time. A round takes
// some batches of states of a level through three phases:
//
//	expand: batch by batch, all workers; nobody writes what others read
//	merge:  shard by shard of the states seen, all workers, each in the order of the batches
//	number: one worker numbers what is new, in order, and puts it into queues
//
// So the first parent in order wins at any number of workers, and there is
// little to do in the last phase.
type search struct {
	cfg    Config
	width  int
	models []Model
	seen   [shards]*visited // by key
	states int              // in seen
	trail  blocks[trail]
	cur    *queue   // the level being expanded
	at     int      // how many of its states were
	next   *queue   // the level after it
	later  []*queue // by number of faults: states to start from
	outs   []output
	reader *trailReader // of cfg.From
	part   *part        // nil if this is no shard
	report Report
}

// shards is how many parts of the states seen can be merged at once.
const shards = 16

// shard is the part that a key belongs to.
func (k Key) shard() int { return int(k[1] >> 60) }

// trail is how a state was first reached; its parent has a smaller number.
type trail struct {
	parent uint32
	action Action
}

// output is what one worker found for one batch of states, one after another
// in coded, and the states of the batch in which an execution ends.
type output struct {
	steps  int
	coded  []byte
	found  []found
	stable []Key           // of a shard, as found
	shards [shards][]int32 // by shard, where in found
	lasts  []uint32
	ends   []end
}

type found struct {
	trail
	key    Key
	broken uint32
	end    int32 // of its code
	isNew  bool
}

type end struct{ number, broken uint32 }

// batchPerWorker is how many batches of a round there are for each worker.
const batchPerWorker = 8

func (s *search) run(ctx context.Context) {
	first := make([]uint32, s.width)
	s.models[0].Start(first)
	s.next = s.newQueue()
	key := s.models[0].Key(first)
	s.seen[key.shard()].add(key)
	s.add(appendCoded(nil, first), trail{}, s.stable(s.models[0], first), s.next)
	s.later = []*queue{s.next}
	for faults := 0; faults < len(s.later); faults++ {
		s.report.Faults, s.report.Depth = faults, 0
		s.cur, s.later[faults] = s.later[faults], nil
		s.split()
		for s.cur != nil && s.cur.n > 0 {
			s.next, s.at = s.newQueue(), 0
			if s.cfg.From != nil {
				s.again(ctx, faults)
			}
			if s.report.Stop = s.level(ctx, faults); s.report.Stop != "" {
				s.finish()
				return
			}
			s.cur = s.next
			s.report.Depth++
		}
	}
	if s.cfg.From != nil {
		s.arrive() // it had been completed
	}
	s.report.Stop = Complete
	s.finish()
}

func (s *search) newQueue() *queue { return &queue{width: s.width} }

func (s *search) finish() {
	s.report.States = s.states
	if from := s.cfg.From; from != nil { // it did not get as far as it was before
		s.counted()
		s.report.States, s.report.Faults, s.report.Depth = from.States, from.Faults, from.Depth
		s.report.Queue = from.States // at most: it is not known again which were continued
		return
	}
	s.round(s.report.Stop)
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

// level expands the states of the current level that were not yet.
func (s *search) level(ctx context.Context, faults int) Stop {
	for {
		s.report.Bytes = max(s.report.Bytes, s.bytes())
		at := (s.at + batchLen - 1) / batchLen
		n := min(len(s.outs), s.cur.batches()-at)
		switch {
		case s.at > 0 && s.cfg.Memory > 0 && s.report.Bytes > s.cfg.Memory:
			return s.cutShort(Memory)
		case n > 0 && ctx.Err() != nil:
			return s.cutShort(Cancelled)
		case n == 0:
			return s.cutShort("")
		}
		together(s.cfg.Workers, n, func(worker, b int) { s.batch(s.models[worker], at+b, &s.outs[b]) })
		together(min(s.cfg.Workers, n), shards, func(_, i int) { s.merge(s.outs[:n], i) })
		for b := range n {
			s.number(&s.outs[b], faults)
		}
		s.at = min(s.cur.n, (at+n)*batchLen)
		if s.cfg.Progress != nil {
			s.cfg.Progress(Progress{
				Faults: faults, Depth: s.report.Depth, States: s.states, Steps: s.report.Steps,
				Queue: s.cur.n - s.at + s.next.n,
			})
		}
		s.round("")
	}
}

// cutShort is why the search stops, and a violation is the better reason.
func (s *search) cutShort(why Stop) Stop {
	if s.report.Broken != 0 {
		return Violation
	}
	return why
}

func (s *search) bytes() int64 {
	total := s.trail.bytes(8) + s.cur.bytes() + s.next.bytes()
	for _, v := range s.seen {
		total += v.bytes()
	}
	if s.part != nil {
		total += s.part.keys.bytes(16) + s.part.counted.bytes(4)
	}
	for _, q := range s.later {
		if q != nil {
			total += q.bytes()
		}
	}
	return total
}

// batch expands one batch of states.
func (s *search) batch(m Model, b int, out *output) {
	out.reset()
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
			key := m.Key(next)
			shard := key.shard()
			if broken == 0 && s.seen[shard].has(key) {
				continue
			}
			out.shards[shard] = append(out.shards[shard], int32(len(out.found)))
			out.coded = appendCoded(out.coded, next)
			if s.part != nil {
				out.stable = append(out.stable, s.stable(m, next))
			}
			out.found = append(out.found, found{trail{number, a}, key, broken, int32(len(out.coded)), false})
		}
		s.count(m, number, len(acts), ends(acts))
	})
}

// reset empties an output and keeps its memory.
func (o *output) reset() {
	o.steps, o.coded, o.found, o.lasts, o.ends = 0, o.coded[:0], o.found[:0], o.lasts[:0], o.ends[:0]
	o.stable = o.stable[:0]
	for i := range o.shards {
		o.shards[i] = o.shards[i][:0]
	}
}

// merge adds what was found to one shard of the states seen.
func (s *search) merge(outs []output, shard int) {
	for b := range outs {
		for _, i := range outs[b].shards[shard] {
			f := &outs[b].found[i]
			_, f.isNew = s.seen[shard].add(f.key)
		}
	}
}

// number gives numbers to what is new in one batch, in order.
func (s *search) number(out *output, faults int) {
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
	from := int32(0)
	for i := range out.found {
		f := &out.found[i]
		if f.broken != 0 && s.report.Broken == 0 {
			s.report.Broken, s.report.Path = f.broken, append(s.path(f.parent), f.action)
		}
		if f.isNew {
			var to *queue // where something is broken, the search ends
			if f.broken == 0 {
				to = s.queueAfter(f.action, faults)
			}
			var stable Key
			if s.part != nil {
				stable = out.stable[i]
			}
			s.add(out.coded[from:f.end], f.trail, stable, to)
		}
		from = f.end
	}
}

// queueAfter is the queue for a state reached with an action.
func (s *search) queueAfter(a Action, faults int) *queue {
	if !a.Fault() {
		return s.next
	}
	for len(s.later) <= faults+1 {
		s.later = append(s.later, s.newQueue())
	}
	return s.later[faults+1]
}

// add numbers a new state and puts it into a queue, if any.
func (s *search) add(coded []byte, t trail, stable Key, to *queue) {
	if s.cfg.Visit != nil {
		v := make([]uint32, s.width)
		decode(coded, v)
		s.cfg.Visit(v)
	}
	s.trail.add(t)
	if s.part != nil {
		s.part.keys.add(stable)
		s.part.counted.add(0)
	}
	if to != nil {
		to.push(coded, uint32(s.states))
	}
	s.states++
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
