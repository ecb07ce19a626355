package exactlyone

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// increment is what was counted when one state was continued. Few are
// different, so a search that is one shard keeps their numbers.
type increment struct {
	steps  int
	ended  bool
	counts [counters]int
	struck [budgets]int
	notes  string // lines of number, space, what
	held   uint64
}

// increments numbers them.
type increments struct {
	all []increment
	ids map[increment]uint32
}

func (in *increments) id(i increment) uint32 {
	id, ok := in.ids[i]
	if !ok {
		if in.ids == nil {
			in.ids = map[increment]uint32{}
		}
		id = uint32(len(in.all))
		in.ids[i] = id
		in.all = append(in.all, i)
	}
	return id
}

// Counted is the number of what this world has counted since it was asked last.
func (w *world) Counted(steps int, ended bool) uint32 {
	i := increment{steps: steps, ended: ended, counts: w.counts, struck: w.struck, held: w.held}
	for _, what := range slices.Sorted(maps.Keys(w.notes)) {
		i.notes += strconv.Itoa(w.notes[what]) + " " + what + "\n"
	}
	w.counted.add(w.exercised)
	w.exercised = exercised{}
	id, ok := w.increments[i]
	if !ok {
		w.mu.Lock()
		id = w.tables.increments.id(i)
		w.mu.Unlock()
		if w.increments == nil {
			w.increments = map[increment]uint32{}
		}
		w.increments[i] = id
	}
	return id
}

// exercised is what was counted.
func (i increment) exercised() exercised {
	e := exercised{counts: i.counts, struck: i.struck, held: i.held}
	for line := range strings.Lines(i.notes) {
		n, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if e.notes == nil {
			e.notes = map[string]int{}
		}
		e.notes[what], _ = strconv.Atoi(n)
	}
	return e
}

// savedIncrement is an increment in a file.
type savedIncrement struct {
	Steps  int
	Ended  bool
	Counts []int
	Struck []int
	Notes  string
	Held   uint64
}

func (in *increments) saved() (all []savedIncrement) {
	for _, i := range in.all {
		all = append(all, savedIncrement{i.steps, i.ended, slices.Clone(i.counts[:]), slices.Clone(i.struck[:]), i.notes, i.held})
	}
	return all
}

func (s savedIncrement) increment() increment {
	i := increment{steps: s.Steps, ended: s.Ended, notes: s.Notes, held: s.Held}
	copy(i.counts[:], s.Counts)
	copy(i.struck[:], s.Struck)
	return i
}
