package interleave

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
)

// Searched is how far an exhaustive search has got. Nothing of a state is in it
// but how it was first reached: a search that goes on from here takes those
// steps again, one for each state, to learn what is in them.
type Searched struct {
	Faults, Depth, At int // which level was expanded, and how many of its states were
	States            int
	Steps, Ends       int
	Bytes             int64
	Actions           []Action // those in Trail
	Broken            uint32   // as in [Report]
	Path              []Action
	Trail             []byte // for each state but the first, in order: the parent less the one before, and where in Actions

	// Of a shard: how many states were found before the search was split, 0 if it
	// was not; the keys of those found after that; for each state 1 + what was
	// counted when it was continued, 0 if it was not.
	Split   int
	Keys    []Key
	Counted []uint32
}

// errAgain is a search that does not meet again what it met before.
var errAgain = fmt.Errorf("%w: a step that was possible before the search was stopped no longer is", ErrNondeterministic)

// round lets the caller keep the search.
func (s *search) round(stop Stop) {
	if s.cfg.Round != nil && s.cfg.From == nil {
		s.cfg.Round(stop, s.searched)
	}
}

// searched is how far the search has got.
func (s *search) searched() *Searched {
	to := &Searched{
		Faults: s.report.Faults, Depth: s.report.Depth, At: s.at, States: s.states,
		Steps: s.report.Steps, Ends: s.report.Ends, Bytes: s.report.Bytes,
		Broken: s.report.Broken, Path: s.report.Path,
	}
	if s.part != nil {
		to.Split = s.part.split
		for i := range s.states {
			to.Counted = append(to.Counted, *s.part.counted.at(i))
			if to.Split > 0 && i >= to.Split {
				to.Keys = append(to.Keys, *s.part.keys.at(i))
			}
		}
	}
	numbers := map[Action]int{}
	var last uint32
	for i := 1; i < s.states; i++ {
		t := s.trail.at(i)
		n, ok := numbers[t.action]
		if !ok {
			n = len(to.Actions)
			numbers[t.action] = n
			to.Actions = append(to.Actions, t.action)
		}
		// The parents of one queue's states ascend; two queues take turns.
		to.Trail = binary.AppendVarint(to.Trail, int64(t.parent)-int64(last))
		to.Trail = binary.AppendUvarint(to.Trail, uint64(n))
		last = t.parent
	}
	return to
}

// trailReader reads the trail of a search.
type trailReader struct {
	*Searched
	at  int
	cur trail
	ok  bool
}

// next reads how the next state was reached; ok is false after the last.
func (r *trailReader) next() {
	by, n := binary.Varint(r.Trail[r.at:])
	action, k := binary.Uvarint(r.Trail[r.at+max(0, n):])
	if r.ok = n > 0 && k > 0 && action < uint64(len(r.Actions)); !r.ok {
		return
	}
	r.at += n + k
	r.cur = trail{uint32(int64(r.cur.parent) + by), r.Actions[action]}
}

// again reaches those states after the current level that were reached before
// the search was stopped. If it was stopped in this level, it goes on from here.
func (s *search) again(ctx context.Context, faults int) {
	if s.reader == nil {
		s.reader = &trailReader{Searched: s.cfg.From}
		s.reader.next()
	}
	visit := s.onceMore(faults)
	for b := range s.cur.batches() {
		if ctx.Err() != nil {
			s.counted() // level says why it ends here; the file stays as it is
			return
		}
		s.cur.batch(b, visit)
	}
	s.at = s.cur.n
	if from := s.cfg.From; faults == from.Faults && s.report.Depth == from.Depth {
		s.arrive()
	}
}

// arrive goes on as the search that was stopped.
func (s *search) arrive() {
	from := s.cfg.From
	if s.reader.ok || s.states != from.States {
		panic(errAgain)
	}
	s.counted()
	for i, n := range from.Counted {
		*s.part.counted.at(i) = n
	}
	s.at, s.cfg.From, s.reader = from.At, nil, nil
}

// counted is what the search that was stopped had counted.
func (s *search) counted() {
	s.report.Steps, s.report.Ends, s.report.Bytes = s.cfg.From.Steps, s.cfg.From.Ends, s.cfg.From.Bytes
	s.report.Broken, s.report.Path = s.cfg.From.Broken, s.cfg.From.Path
	if s.cfg.Again != nil {
		s.cfg.Again()
	}
}

// onceMore takes the steps from one state that led to new states.
func (s *search) onceMore(faults int) func(v []uint32, number uint32) {
	m, next := s.models[0], make([]uint32, s.width)
	var acts []Action
	var coded []byte
	return func(v []uint32, number uint32) {
		if !s.reader.ok || s.reader.cur.parent != number {
			return
		}
		acts = m.Enabled(v, acts[:0])
		for s.reader.ok && s.reader.cur.parent == number {
			t := s.reader.cur
			if !slices.Contains(acts, t.action) {
				panic(errAgain)
			}
			broken := m.Apply(v, t.action, next)
			key := m.Key(next)
			if _, isNew := s.seen[key.shard()].add(key); !isNew {
				panic(errAgain)
			}
			var to *queue // as in number
			if broken == 0 {
				to = s.queueAfter(t.action, faults)
			}
			coded = appendCoded(coded[:0], next)
			s.add(coded, t, s.stable(m, next), to)
			s.reader.next()
		}
	}
}
