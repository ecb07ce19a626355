package interleave

import "cmp"

// Sharded is a [Model] that can be searched in parts, each in a process of its
// own.
type Sharded interface {
	Model
	// Stable tells the same states apart as Key does, and is the same in every
	// process.
	Stable(v []uint32) Key
	// Part is the same in every process. States of one part should lead to the
	// same states rather than states of two.
	Part(v []uint32) uint64
	// Counted numbers what this model has counted since it was asked last, and
	// that in this state so many steps were taken, and whether it is an end.
	Counted(steps int, ended bool) uint32
}

const defaultSplitAt = 5000

// part is what a search that is one shard keeps besides.
type part struct {
	split   int // states found by all shards, 0 before the split
	keys    blocks[Key]
	counted blocks[uint32] // 1 + what was counted when the state was continued, 0 if it was not
}

// stable is what a state is told by in other shards, if there are any.
func (s *search) stable(m Model, v []uint32) Key {
	if s.part == nil {
		return Key{}
	}
	return m.(Sharded).Stable(v)
}

// split leaves in the queue that the search goes on with only what is this
// shard's.
func (s *search) split() {
	if s.part == nil || s.part.split > 0 || s.cur.n < cmp.Or(s.cfg.SplitAt, defaultSplitAt) {
		return
	}
	s.part.split = s.states
	own, m := s.newQueue(), s.models[0].(Sharded)
	for b := range s.cur.batches() {
		s.cur.batch(b, func(v []uint32, number uint32) {
			if m.Part(v)%uint64(s.cfg.Shards) == uint64(s.cfg.Shard) {
				own.push(appendCoded(nil, v), number)
			}
		})
	}
	s.cur = own
}

// count notes what a worker counted when it continued a state.
func (s *search) count(m Model, number uint32, steps int, ended bool) {
	if s.part != nil {
		*s.part.counted.at(int(number)) = 1 + m.(Sharded).Counted(steps, ended)
	}
}
