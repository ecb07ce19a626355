package choice

// Exhaustive goes through every sequence of answers, in lexicographic order:
//
//	e := new(choice.Exhaustive)
//	for e.Next() {
//		run(e)
//	}
//
// The first run is answered 0 throughout. The program must ask the same
// questions when given the same answers. After TigerBeetle's exhaustigen.
type Exhaustive struct {
	started bool
	path    Sequence // answers of this run
	asked   int      // questions so far in this run
}

// Next prepares the next run; false when all have been made.
func (e *Exhaustive) Next() bool {
	if !e.started {
		e.started = true
		return true
	}
	e.path = e.path[:e.asked] // a run that stopped early leaves no stale tail
	e.asked = 0
	for len(e.path) > 0 {
		last := &e.path[len(e.path)-1]
		if last.Answer+1 < last.Of {
			last.Answer++
			return true
		}
		e.path = e.path[:len(e.path)-1]
	}
	return false
}

// Choose answers the next question of this run. It panics when the program
// asks another question than it did for the same answers before.
func (e *Exhaustive) Choose(n int, label string) int {
	if e.asked == len(e.path) {
		e.path = append(e.path, Choice{Of: n})
	}
	c := e.path[e.asked]
	if c.Of != n {
		panic("choice: the program is not deterministic: " + label)
	}
	e.asked++
	return c.Answer
}

// Sequence is the answers given in this run so far.
func (e *Exhaustive) Sequence() Sequence { return e.path[:e.asked] }
