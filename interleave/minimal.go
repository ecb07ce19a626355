package interleave

import "context"

// Minimal finds, among all executions with at most so many faults that break a
// property, one with the fewest context switches and among those one with the
// fewest steps. It is Dijkstra's algorithm over pairs (switches, steps); the
// model must have been made by Fork(true), since two states that differ in who
// made the last step may need different numbers of switches from there on.
// Stop is Complete when nothing breaks.
func Minimal(ctx context.Context, cfg Config, m Model, faults int) Report {
	s := &minimal{
		search: search{cfg: cfg, width: m.Width(), models: []Model{m}},
		seen:   newVisited(), faults: faults,
	}
	s.run(ctx)
	s.report.States = s.seen.keys.n
	return s.report
}

type minimal struct {
	search
	seen   *visited
	faults int
	rows   [][]*waiting // by switches, then by steps
	bytes  int64
}

// waiting is states that were reached but not yet settled: the same state may
// be reached again with fewer switches.
type waiting struct {
	words []uint32 // the states, one after another
	found []trail
	info  []packed
}

// packed is what is known of a waiting state besides how it was reached.
type packed struct {
	broken uint32
	faults uint8
}

func (s *minimal) run(ctx context.Context) {
	first := make([]uint32, s.width)
	s.models[0].Start(first)
	s.push(0, 0, first, trail{}, packed{})
	for switches := 0; switches < len(s.rows); switches++ {
		// Settling a state adds only states with more steps to this row.
		for steps := 0; steps < len(s.rows[switches]); steps++ {
			q := s.rows[switches][steps]
			if q == nil {
				continue
			}
			s.rows[switches][steps] = nil
			for i := range q.found {
				if i%1024 == 0 && !s.goOn(ctx, steps) {
					return
				}
				if s.settle(q, i, switches, steps); s.report.Broken != 0 {
					s.report.Stop = Violation
					return
				}
			}
			s.bytes -= int64(4*len(q.words) + 16*len(q.found))
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
	case s.cfg.Memory > 0 && used > s.cfg.Memory, s.cfg.States > 0 && s.seen.keys.n > s.cfg.States:
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
	v, m := q.words[i*s.width:(i+1)*s.width], s.models[0]
	if broken := q.info[i].broken; broken != 0 {
		if !s.counts(broken) {
			return
		}
		s.report.Broken, s.report.Path = broken, append(s.path(q.found[i].parent), q.found[i].action)
		return
	}
	n, isNew := s.seen.add(m.Key(v))
	if !isNew {
		return
	}
	s.trail.add(q.found[i])
	acts := m.Enabled(v, nil)
	if ends(acts) {
		if broken := m.End(v); broken != 0 && s.counts(broken) {
			s.report.Broken, s.report.Path = broken, s.path(uint32(n))
			return
		}
	}
	next := make([]uint32, s.width)
	for _, a := range acts {
		if s.cfg.Skip != nil && s.cfg.Skip(a) {
			continue
		}
		faults := q.info[i].faults
		if a.Fault() {
			if faults++; int(faults) > s.faults {
				continue
			}
		}
		to := switches
		if m.Switch(v, a) {
			to++
		}
		broken := m.Apply(v, a, next)
		s.report.Steps++
		if broken != 0 || !s.seen.has(m.Key(next)) {
			s.push(to, steps+1, next, trail{uint32(n), a}, packed{broken, faults})
		}
	}
}

// counts says whether a broken property is one that is looked for.
func (s *minimal) counts(broken uint32) bool { return s.cfg.Only == 0 || broken == s.cfg.Only }

func (s *minimal) push(switches, steps int, v []uint32, from trail, info packed) {
	for len(s.rows) <= switches {
		s.rows = append(s.rows, nil)
	}
	row := s.rows[switches]
	for len(row) <= steps {
		row = append(row, nil)
	}
	s.rows[switches] = row
	if row[steps] == nil {
		row[steps] = new(waiting)
	}
	q := row[steps]
	q.words = append(q.words, v...)
	q.found = append(q.found, from)
	q.info = append(q.info, info)
	s.bytes += int64(4*len(v) + 16)
}
