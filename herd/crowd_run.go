package herd

import (
	"context"
	"fmt"
	"sync"

	"exactlyone/retry"
)

// CrowdResult is what a crowd came to, in the order strategies × clients.
type CrowdResult struct {
	Crowd
	Cells       []CrowdCell // those whose repetitions are all done
	Interrupted bool
}

// CrowdCell is one strategy with one number of clients. Estimates are of
// counts in one repetition.
type CrowdCell struct {
	Strategy  retry.Strategy `json:"strategy"`
	Clients   int            `json:"clients"`
	Done      Estimate       `json:"done"`        // clients told that their write took effect
	GaveUp    Estimate       `json:"gave_up"`     // clients that found the retry budget empty
	Requests  Estimate       `json:"requests"`    // reads and writes that reached the server
	Writes    Estimate       `json:"write_calls"` // the writes among them
	Refused   Estimate       `json:"refused"`     // requests that found the queue full
	Overtime  Estimate       `json:"timed_out"`   // requests given up by their clients
	Wasted    Estimate       `json:"wasted"`      // requests carried out after their clients had given them up
	Extra     Estimate       `json:"extra_writes"`
	Time      Estimate       `json:"time_ms"` // ms until the last client was done or gave up, or the limit
	Limited   int            `json:"limited"` // repetitions that met the limit
	Successes Histogram      `json:"-"`       // clients done over time, of all repetitions
}

// Run runs every strategy with every number of clients. When ctx ends early,
// the result holds what was finished.
func (c Crowd) Run(ctx context.Context) (*CrowdResult, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	type cell struct {
		CrowdCell
		mu      sync.Mutex
		tallies []tally
		done    int
	}
	var cells []*cell
	for _, s := range c.Strategies {
		for _, n := range c.Clients {
			cells = append(cells, &cell{CrowdCell: CrowdCell{Strategy: s, Clients: n}, tallies: make([]tally, c.Repetitions)})
		}
	}
	sweep(ctx, c.Workers, len(cells)*c.Repetitions, func() func(int) {
		sim := &crowd{Crowd: c}
		return func(job int) {
			to, repetition := cells[job/c.Repetitions], job%c.Repetitions
			sim.backoff = retry.Backoff{Strategy: to.Strategy, Base: c.Base, Cap: c.Cap}
			t, ok := sim.run(ctx, newStream(c.Seed, "crowd "+string(to.Strategy), to.Clients, repetition), to.Clients)
			if !ok {
				return
			}
			to.tallies[repetition] = t
			to.mu.Lock()
			defer to.mu.Unlock()
			to.Successes.merge(&sim.successes)
			to.done++
		}
	}, c.Progress)
	result := &CrowdResult{Crowd: c}
	for _, to := range cells {
		if to.done < c.Repetitions {
			result.Interrupted = true
			continue
		}
		to.sum(to.tallies)
		result.Cells = append(result.Cells, to.CrowdCell)
	}
	return result, nil
}

// sum estimates from what the repetitions came to.
func (c *CrowdCell) sum(tallies []tally) {
	of := func(value func(tally) int64) Estimate {
		values := make([]float64, len(tallies))
		for i, t := range tallies {
			values[i] = float64(value(t))
		}
		return estimate(values)
	}
	c.Done = of(func(t tally) int64 { return t.done })
	c.GaveUp = of(func(t tally) int64 { return t.gaveUp })
	c.Requests = of(func(t tally) int64 { return t.requests })
	c.Writes = of(func(t tally) int64 { return t.writes })
	c.Refused = of(func(t tally) int64 { return t.refused })
	c.Overtime = of(func(t tally) int64 { return t.overtime })
	c.Wasted = of(func(t tally) int64 { return t.wasted })
	c.Extra = of(func(t tally) int64 { return t.extra })
	times := make([]float64, len(tallies))
	for i, t := range tallies {
		times[i] = milliseconds(t.end)
		if t.done+t.gaveUp < int64(c.Clients) {
			c.Limited++
		}
	}
	c.Time = estimate(times)
}

// check refuses what cannot be run.
func (c Crowd) check() error {
	r := Race{
		Clients: c.Clients, Strategies: c.Strategies, Repetitions: c.Repetitions,
		Base: c.Base, Cap: c.Cap, DelayMean: c.DelayMean, DelaySD: c.DelaySD, FirstRetry: c.FirstRetry,
	}
	if err := r.check(); err != nil {
		return err
	}
	switch {
	case c.Queue < 0:
		return fmt.Errorf("queue: 0 or more was expected, not %d", c.Queue)
	case c.Timeout < 0 || c.Limit < 0 || c.Timeout > mostLimit || c.Limit > mostLimit:
		return fmt.Errorf("timeout and limit: more than 0 and at most %v was expected", mostLimit)
	case !(c.Budget >= 0): // nor NaN
		return fmt.Errorf("budget: 0 or more was expected, not %g", c.Budget)
	}
	return span("service", c.Service)
}
