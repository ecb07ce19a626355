package herd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"exactlyone/retry"
)

// RaceResult is what a race came to, in the order strategies × clients.
type RaceResult struct {
	Race
	Cells       []RaceCell // those whose repetitions are all done
	Interrupted bool
}

// RaceCell is one strategy with one number of clients.
type RaceCell struct {
	Strategy retry.Strategy
	Clients  int
	Calls    Estimate  // write calls
	Time     Estimate  // ms until the last answer
	Arrivals Histogram // of the write calls of all repetitions
}

const (
	mostClients     = 1_000_000
	mostRepetitions = 1_000_000
	mostLimit       = 365 * 24 * time.Hour // of virtual time
)

// Run runs every strategy with every number of clients. When ctx ends early,
// the result holds what was finished.
func (r Race) Run(ctx context.Context) (*RaceResult, error) {
	r = r.withDefaults()
	if err := r.check(); err != nil {
		return nil, err
	}
	type cell struct {
		RaceCell
		mu          sync.Mutex
		calls, time []float64
		done        int
	}
	var cells []*cell
	for _, s := range r.Strategies {
		for _, n := range r.Clients {
			cells = append(cells, &cell{
				RaceCell: RaceCell{Strategy: s, Clients: n},
				calls:    make([]float64, r.Repetitions), time: make([]float64, r.Repetitions),
			})
		}
	}
	sweep(ctx, r.Workers, len(cells)*r.Repetitions, func() func(int) {
		sim := &race{Race: r}
		return func(job int) {
			c, repetition := cells[job/r.Repetitions], job%r.Repetitions
			sim.backoff = retry.Backoff{Strategy: c.Strategy, Base: r.Base, Cap: r.Cap}
			calls, end, ok := sim.run(ctx, newStream(r.Seed, string(c.Strategy), c.Clients, repetition), c.Clients)
			if !ok {
				return
			}
			c.calls[repetition], c.time[repetition] = float64(calls), milliseconds(end)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.Arrivals.merge(&sim.arrivals)
			c.done++
		}
	}, r.Progress)
	result := &RaceResult{Race: r}
	for _, c := range cells {
		if c.done < r.Repetitions {
			result.Interrupted = true
			continue
		}
		c.Calls, c.Time = estimate(c.calls), estimate(c.time)
		result.Cells = append(result.Cells, c.RaceCell)
	}
	return result, nil
}

// check refuses what cannot be run.
func (r Race) check() error {
	for _, n := range r.Clients {
		if n < 1 || n > mostClients {
			return fmt.Errorf("clients: 1 to %d was expected, not %d", mostClients, n)
		}
	}
	for i, n := range r.Clients {
		if slices.Contains(r.Clients[:i], n) {
			return fmt.Errorf("clients: %d is named twice", n)
		}
	}
	for i, s := range r.Strategies {
		if slices.Contains(r.Strategies[:i], s) {
			return fmt.Errorf("strategies: %s is named twice", s)
		}
	}
	switch {
	case r.Repetitions < 1 || r.Repetitions > mostRepetitions:
		return fmt.Errorf("repetitions: 1 to %d was expected, not %d", mostRepetitions, r.Repetitions)
	case r.FirstRetry < 1:
		return fmt.Errorf("first retry: 1 or more was expected, not %d", r.FirstRetry)
	}
	if r.DelayMean == 0 && r.DelaySD == 0 {
		return errors.New("delay mean and deviation: one above 0 was expected; without any delay nobody is ever too late")
	}
	return errors.Join(span("base", r.Base), span("cap", r.Cap), span("delay mean", r.DelayMean), span("delay deviation", r.DelaySD))
}
