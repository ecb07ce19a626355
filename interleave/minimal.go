package interleave

import (
	"context"
	"slices"
)

// Minimal finds, among all executions with at most so many faults that break a
// property, one with the fewest context switches and among those one with the
// fewest steps. It is Dijkstra's algorithm over pairs (switches, steps); the
// model must have been made by Fork(true), since two states that differ in who
// made the last step may need different numbers of switches from there on.
// Stop is Complete when nothing breaks.
func Minimal(ctx context.Context, cfg Config, m Model, faults int) Report {
	s := &minimal{
		search: search{cfg: cfg, width: m.Width(), seen: newVisited(), models: []Model{m}},
		faults: faults,
	}
	s.run(ctx)
	s.report.States = s.seen.keys.n
	return s.report
}

type minimal struct {
	search
	faults int
	queue  [][]*waiting // by switches, then by steps
	bytes  int64
}

// waiting is states that were reached but not yet settled: the same state may
// be reached again with fewer switches.
type waiting struct {
	vectors
	acts   []Action
	broken []uint32
	faults []uint8
}

func (s *minimal) run(ctx context.Context) {
	first := make([]uint32, s.width)
	s.models[0].Start(first)
	s.push(0, 0, first, 0, 0, 0, 0)
	for switches := 0; switches < len(s.queue); switches++ {
		// Settling a state adds only states with more steps to this row.
		for steps := 0; steps < len(s.queue[switches]); steps++ {
			q := s.queue[switches][steps]
			if q == nil {
				continue
			}
			s.queue[switches][steps] = nil
			for i := range q.len() {
				if i%1024 == 0 && !s.goOn(ctx, steps) {
					return
				}
				if s.settle(q, i, switches, steps); s.report.Broken != 0 {
					s.report.Stop = Violation
					return
				}
			}
			s.bytes -= q.size()
		}
	}
	s.report.Stop = Complete
}

// goOn reports progress, and false when the search must end here.
func (s *minimal) goOn(ctx context.Context, steps int) bool {
	used := s.bytes + s.seen.bytes() + s.trail.bytes(8)
	s.report.Bytes = max(s.report.Bytes, used)
	switch {
	case ctx.Err() != nil:
		s.report.Stop = Cancelled
		return false
	case s.cfg.Memory > 0 && used > s.cfg.Memory:
		s.report.Stop = Memory
		return false
	}
	if s.cfg.Progress != nil {
		s.cfg.Progress(Progress{Faults: s.faults, Depth: steps, States: s.seen.keys.n, Steps: s.report.Steps})
	}
	return true
}

// settle takes a state from the queue; the first time it is taken, it was
// reached in the best way.
func (s *minimal) settle(q *waiting, i, switches, steps int) {
	v, m := q.at(i), s.models[0]
	if q.broken[i] != 0 {
		s.report.Broken, s.report.Path = q.broken[i], append(s.path(q.from[i]), q.acts[i])
		return
	}
	n, isNew := s.seen.add(m.Key(v))
	if !isNew {
		return
	}
	s.trail.add(trail{q.from[i], q.acts[i]})
	acts := m.Enabled(v, nil)
	if len(acts) == 0 {
		if broken := m.End(v); broken != 0 {
			s.report.Broken, s.report.Path = broken, s.path(uint32(n))
		}
		return
	}
	buf := make([]uint32, s.width)
	for _, a := range acts {
		faults := q.faults[i]
		if a.Fault() {
			if faults++; int(faults) > s.faults {
				continue
			}
		}
		to := switches
		if m.Switch(v, a) {
			to++
		}
		broken := m.Apply(v, a, buf)
		s.report.Steps++
		if broken != 0 || !s.seen.has(m.Key(buf)) {
			s.push(to, steps+1, buf, n, a, broken, faults)
		}
	}
}

func (s *minimal) push(switches, steps int, v []uint32, from int, a Action, broken uint32, faults uint8) {
	for len(s.queue) <= switches {
		s.queue = append(s.queue, nil)
	}
	row := s.queue[switches]
	if len(row) <= steps {
		row = slices.Grow(row, steps+1-len(row))[:steps+1]
	}
	s.queue[switches] = row
	if row[steps] == nil {
		row[steps] = &waiting{vectors: vectors{width: s.width}}
	}
	q := row[steps]
	s.bytes -= q.size()
	q.push(v, from)
	q.acts = append(q.acts, a)
	q.broken = append(q.broken, broken)
	q.faults = append(q.faults, faults)
	s.bytes += q.size()
}

func (q *waiting) size() int64 { return q.vectors.bytes() + int64(len(q.acts))*9 }
