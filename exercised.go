package exactlyone

import (
	"errors"
	"maps"

	"exactlyone/model"
)

// What reports count. Each step of the search counts once, however many
// executions it is part of.
const (
	answersDelivered = iota
	replays
	conflicts409
	conflictingSteps
	answersLost
	answersLostAfterCommit
	requestsLost
	duplicatesSent
	duplicatesDelivered
	crashes
	crashesBetweenCommits
	jumps
	stuckEnds
	commitsErredInEffect
	commitsErred
	serializationFailures
	deadlocks
	counters
)

var counterNames = [counters]string{
	answersDelivered:       "answers delivered",
	replays:                "replays",
	conflicts409:           "409 answers",
	conflictingSteps:       "conflicting steps",
	answersLost:            "answers lost",
	answersLostAfterCommit: "answers lost after a commit",
	requestsLost:           "requests lost",
	duplicatesSent:         "requests sent twice",
	duplicatesDelivered:    "duplicates delivered",
	crashes:                "crashes",
	crashesBetweenCommits:  "crashes after a commit, before the end",
	jumps:                  "clock jumps",
	stuckEnds:              "ends in which somebody waits for ever",
	commitsErredInEffect:   "commits that erred but took effect",
	commitsErred:           "commits that erred without effect",
	serializationFailures:  "serialization failures",
	deadlocks:              "deadlocks",
}

// exercised is what one worker counted.
type exercised struct {
	counts [counters]int
	struck [budgets]int // by fault
	notes  map[string]int
	held   uint64 // properties whose premise held at least once
}

func (e *exercised) count(what int) { e.counts[what]++ }

func (e *exercised) noted(what string) {
	if e.notes == nil {
		e.notes = map[string]int{}
	}
	e.notes[what]++
}

func (e *exercised) countAnswer(a model.Answer) {
	e.count(answersDelivered)
	if a.Replayed() {
		e.count(replays)
	}
	if a.Status == 409 {
		e.count(conflicts409)
	}
}

// countFailure counts a store's reply that ends the transaction.
func (w *world) countFailure(reply uint32) {
	if errors.Is(w.values.Value(reply).(Reply).Err, model.ErrSerialization) {
		w.count(serializationFailures)
	}
}

// countConflict counts a change to a store while another request that has used
// a store is still running.
func (w *world) countConflict(v []uint32, c, s int) {
	for oc := range w.clients {
		for os := range w.layout.slots {
			if oc == c && os == s {
				continue
			}
			if wd := w.word(v, oc, os); wd.phase() == phaseRunning && wd.touched() {
				w.count(conflictingSteps)
				return
			}
		}
	}
}

// add sums what another worker counted.
func (e *exercised) add(o exercised) {
	for i, n := range o.counts {
		e.counts[i] += n
	}
	for i, n := range o.struck {
		e.struck[i] += n
	}
	for what, n := range o.notes {
		if e.notes == nil {
			e.notes = map[string]int{}
		}
		e.notes[what] += n
	}
	e.held |= o.held
}

// list is everything that happened at least once, by name.
func (e *exercised) list() map[string]int {
	all := map[string]int{}
	for i, n := range e.counts {
		if n > 0 {
			all[counterNames[i]] = n
		}
	}
	maps.Copy(all, e.notes)
	return all
}
