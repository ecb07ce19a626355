package interleave

import "slices"

// Joined is what the shards of an exhaustive search have found together.
type Joined struct {
	Report
	parts []*joining
	seen  map[Key]bool // states found after the split
	order []shardState // of the states, as a search in one piece finds them
	split int
}

// shardState is a state as one shard numbers it.
type shardState struct {
	shard  int
	number uint32
}

// joining is one shard.
type joining struct {
	*Searched
	trail []trail
	first map[uint32]uint32 // by parent, the first state that was reached from it
}

// Join goes through the states in the order of a search in one piece: level by
// level, where a level's states follow their parents in order. Of a state that
// several shards have found it takes the first; what follows another's can be
// found from that one no later. Count is called for each state continued.
//
// Steps and Ends are left to the caller. Queue is how many states were not
// continued. If the shards disagree on what they have in common, ok is false.
func Join(shards []*Searched, samples int, count func(shard int, counted uint32)) (r Report, ok bool) {
	j := &Joined{seen: map[Key]bool{}, split: shards[0].Split}
	if j.split == 0 {
		shards, j.split = shards[:1], shards[0].States // each has searched everything
	}
	for _, s := range shards {
		part, ok := newJoining(s)
		if !ok || s.Split != shards[0].Split || s.Split > 0 && len(s.Keys) != s.States-s.Split || len(s.Counted) != s.States {
			return Report{}, false
		}
		j.parts = append(j.parts, part)
	}
	j.run(count)
	j.States = len(j.order)
	for i := range min(samples, j.States) {
		j.Samples = append(j.Samples, j.path(j.order[i*j.States/min(samples, j.States)]))
	}
	return j.Report, true
}

func newJoining(s *Searched) (*joining, bool) {
	p := &joining{Searched: s, trail: make([]trail, 1, s.States), first: map[uint32]uint32{}}
	r := &trailReader{Searched: s}
	for r.next(); r.ok; r.next() {
		n := uint32(len(p.trail))
		if r.cur.parent >= n {
			return nil, false
		}
		if _, known := p.first[r.cur.parent]; !known {
			p.first[r.cur.parent] = n
		}
		p.trail = append(p.trail, r.cur)
	}
	return p, len(p.trail) == s.States
}

// run goes through all levels, or up to the one with the first violation.
func (j *Joined) run(count func(shard int, counted uint32)) {
	last := j.violated()
	j.Stop = Complete
	start := shardState{}
	j.order = append(j.order, start)
	wins := map[shardState]bool{start: true}
	later := [][]shardState{{start}}
	for faults := 0; faults < len(later); faults++ {
		cur := later[faults]
		j.Faults, j.Depth = faults, 0
		for len(wins) > 0 && anyOf(cur, wins) {
			var next []shardState
			for _, at := range cur {
				won := wins[at]
				if delete(wins, at); won {
					j.counted(at, count)
				}
				j.children(at, func(child shardState, a Action) {
					isNew := j.isNew(child)
					if isNew {
						j.order = append(j.order, child)
						wins[child] = true
					}
					if !a.Fault() {
						next = append(next, child)
						return
					}
					if faults+1 == len(later) && isNew {
						later = append(later, nil)
					}
					if faults+1 < len(later) {
						later[faults+1] = append(later[faults+1], child)
					}
				})
			}
			if last != nil && last.Faults == faults && last.Depth == j.Depth {
				j.Stop, j.Broken, j.Path = Violation, last.Broken, last.Path
				return
			}
			cur = next
			j.Depth++
		}
	}
}

func anyOf(all []shardState, set map[shardState]bool) bool {
	for _, s := range all {
		if set[s] {
			return true
		}
	}
	return false
}

// violated is the shard that found a violation first, nil if none did.
func (j *Joined) violated() (first *joining) {
	for _, p := range j.parts {
		if p.Broken != 0 && (first == nil || p.Faults < first.Faults || p.Faults == first.Faults && p.Depth < first.Depth) {
			first = p
		}
	}
	return first
}

// isNew notes a state. All shards have those before the split.
func (j *Joined) isNew(s shardState) bool {
	if int(s.number) < j.split {
		return true
	}
	k := j.parts[s.shard].Keys[int(s.number)-j.split]
	if j.seen[k] {
		return false
	}
	j.seen[k] = true
	return true
}

// children calls f with the states that were reached from one, in order. Those
// found after the split are in the shard that continued it.
func (j *Joined) children(of shardState, f func(child shardState, a Action)) {
	shared := int(of.number) < j.split
	for i, p := range j.parts {
		if !shared && i != of.shard {
			continue
		}
		n, ok := p.first[of.number]
		if ok && i > 0 && int(n) < j.split {
			continue // the first shard has it, too
		}
		for ; ok && int(n) < p.States && p.trail[n].parent == of.number; n++ {
			f(shardState{i, n}, p.trail[n].action)
		}
	}
}

// counted calls count with what was counted when a state was continued.
func (j *Joined) counted(at shardState, count func(shard int, counted uint32)) {
	for i, p := range j.parts {
		if (i == at.shard || int(at.number) < j.split) && p.Counted[at.number] > 0 {
			count(i, p.Counted[at.number]-1)
			return
		}
	}
	j.Queue++
}

// path is the actions that lead to a state.
func (j *Joined) path(s shardState) []Action {
	var p []Action
	all := j.parts[s.shard].trail
	for n := s.number; n != 0; n = all[n].parent {
		p = append(p, all[n].action)
	}
	slices.Reverse(p)
	return p
}
