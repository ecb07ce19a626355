package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"exactlyone/herd"
	"exactlyone/retry"
)

// capacityFlags are the flags of herd capacity.
type capacityFlags struct {
	herdFlags
	service, timeout, limit time.Duration
	queue                   int
	budget                  float64
}

func newCapacity() *cobra.Command {
	f := new(capacityFlags)
	cmd := &cobra.Command{
		Use:   "capacity",
		Short: "The same on a server that can be overloaded",
		Long: `Capacity lets the clients of "explore herd" meet a server that carries out one
request at a time and refuses those that find its queue full. Clients lose
patience, begin again, and the server does work that nobody waits for.

With a retry budget each retry takes a token of a bucket that all clients share,
and each success brings back a tenth of one; who finds none gives up.`,
		Example: `  explore herd capacity
  explore herd capacity --budget 100
  explore herd capacity --service 1ms --queue 50 --timeout 1s
  explore herd capacity --clients 100 --show done --format svg --out done.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.sweepFlags(cmd, 20)
	fl := cmd.Flags()
	fl.DurationVar(&f.service, "service", 2*time.Millisecond, "time the server takes for a request; 0 for none, as in explore herd")
	fl.IntVar(&f.queue, "queue", 100, "requests that wait at the server at most")
	fl.DurationVar(&f.timeout, "timeout", 100*time.Millisecond, "how long a client waits for an answer")
	fl.DurationVar(&f.limit, "limit", 30*time.Second, "virtual time after which a repetition is stopped")
	fl.Float64Var(&f.budget, "budget", 0, "tokens of the retry budget; 0 for no budget")
	f.outputFlags(cmd, herd.Means, herd.Done)
	return cmd
}

func (f *capacityFlags) run(cmd *cobra.Command) error {
	strategies, err := f.checkSweep(herd.Means, herd.Done)
	switch {
	case err != nil:
		return err
	case f.service < 0 || f.budget < 0:
		return errors.New("--service, --budget: 0 or more was expected")
	case f.queue < 1:
		return errors.New("--queue: 1 or more was expected")
	case f.timeout <= 0 || f.limit <= 0:
		return errors.New("--timeout, --limit: more than 0 was expected")
	}
	progress := newProgress(cmd.ErrOrStderr())
	result, err := herd.Crowd{
		Clients: f.clients, Strategies: strategies, Repetitions: f.repetitions, Base: f.base, Cap: f.cap,
		DelayMean: orNone(f.delayMean), DelaySD: orNone(f.delaySD), FirstRetry: f.firstRetry,
		Service: orNone(f.service), Queue: f.queue, Timeout: f.timeout, Limit: f.limit, Budget: f.budget,
		Seed: f.seed, Workers: f.workers, Progress: progress.repetitions,
	}.Run(cmd.Context())
	progress.clear()
	if err != nil {
		return err
	}
	return f.report(cmd, result, result.Interrupted)
}

// layersFlags are the flags of herd layers.
type layersFlags struct {
	herdFlags
	attempts []int
	requests int
	every    time.Duration
	strategy string
	budget   float64
}

func newLayers() *cobra.Command {
	f := new(layersFlags)
	cmd := &cobra.Command{
		Use:   "layers",
		Short: "Layers of services that each retry the one below",
		Long: `Layers lets requests of users pass through services that each call the next one
and retry it, down to a backend that fails, and counts the calls. k layers of m
attempts make m^k calls of one request.

With a retry budget each layer has a bucket of tokens of its own: each retry
takes one, and only a success would bring any back.`,
		Example: `  explore herd layers
  explore herd layers --attempts 4,3
  explore herd layers --budget 10
  explore herd layers --format svg --out layers.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	fl := cmd.Flags()
	fl.IntSliceVar(&f.attempts, "attempts", []int{3, 3, 3, 3, 3}, "attempts of each layer, first the one that users call")
	fl.IntVar(&f.requests, "requests", 1000, "requests of users")
	fl.DurationVar(&f.every, "every", 10*time.Millisecond, "time between two of them")
	fl.StringVar(&f.strategy, "strategy", string(retry.Full), "backoff strategy of all layers")
	fl.DurationVar(&f.base, "base", 5*time.Millisecond, "base of the backoff")
	fl.DurationVar(&f.cap, "cap", 2*time.Second, "cap of the backoff")
	fl.Float64Var(&f.budget, "budget", 0, "tokens of each layer's retry budget; 0 for no budgets")
	f.networkFlags(cmd)
	f.outputFlags(cmd)
	return cmd
}

func (f *layersFlags) run(cmd *cobra.Command) error {
	strategy, err := retry.ParseStrategy(f.strategy)
	switch {
	case err != nil:
		return err
	case f.requests < 1 || len(f.attempts) == 0:
		return errors.New("--requests, --attempts: 1 or more was expected")
	case f.budget < 0 || f.every <= 0:
		return errors.New("--budget: 0 or more, --every: more than 0 was expected")
	case f.base <= 0 || f.cap <= 0:
		return errors.New("--base, --cap: more than 0 was expected")
	}
	if err := f.check(); err != nil {
		return err
	}
	result, err := herd.Stack{
		Attempts: f.attempts, Requests: f.requests, Every: f.every,
		Backoff:   retry.Backoff{Strategy: strategy, Base: f.base, Cap: f.cap},
		DelayMean: orNone(f.delayMean), DelaySD: orNone(f.delaySD), Budget: f.budget, Seed: f.seed,
	}.Run(cmd.Context())
	if err != nil {
		return err
	}
	return f.report(cmd, result, result.Interrupted)
}
