package herd

import (
	"context"
	"fmt"
	"time"

	"exactlyone/retry"
)

// Race is the published experiment, after M. Brooker's simulator
// (aws-samples/aws-arch-backoff-simulator): at time 0 every client sends a
// read of one row; the answer holds its version; the client sends a write with
// that version, which fails if the row has another one by then. After a failed
// write it waits and begins again with the read. Each message takes |N(mean,
// sd)| one way, drawn anew.
//
// Counted are the write calls. Time ends when the last answer has arrived.
type Race struct {
	Clients     []int            // of each experiment; nil means 10, 50, 100
	Strategies  []retry.Strategy // nil means Published
	Repetitions int              // of each; 0 means 100
	Base        time.Duration    // of the backoff; 0 means 5 ms
	Cap         time.Duration    // of the backoff; 0 means 2 s
	DelayMean   time.Duration    // one way; 0 means 10 ms; below 0 means none
	DelaySD     time.Duration    // 0 means 2 ms; below 0 means none
	FirstRetry  int              // number under which Backoff.Wait knows the first retry; 0 means 2: see docs/herd.md
	Seed        uint64           // of all repetitions
	Workers     int              // threads; 0 means one a core; the results do not depend on it
	Progress    func(done, total int)
}

// withDefaults replaces zeros by what they mean.
func (r Race) withDefaults() Race {
	if len(r.Clients) == 0 {
		r.Clients = []int{10, 50, 100}
	}
	if len(r.Strategies) == 0 {
		r.Strategies = Published
	}
	set(&r.Repetitions, 100)
	set(&r.Base, 5*time.Millisecond)
	set(&r.Cap, 2*time.Second)
	set(&r.DelayMean, 10*time.Millisecond)
	set(&r.DelaySD, 2*time.Millisecond)
	r.DelayMean, r.DelaySD = max(r.DelayMean, 0), max(r.DelaySD, 0)
	set(&r.FirstRetry, 2)
	return r
}

// longest is the longest of a race's durations: even a million clients who wait
// for one another so long stay within the 292 years that a time has room for.
const longest = time.Hour

// span refuses a duration that is negative or too long.
func span(name string, d time.Duration) error {
	if d < 0 || d > longest {
		return fmt.Errorf("%s: 0 to %v was expected, not %v", name, longest, d)
	}
	return nil
}

// set gives *p a value where it is zero.
func set[T comparable](p *T, value T) {
	if *p == *new(T) {
		*p = value
	}
}

// racer is a client of a race.
type racer struct {
	read     int64 // when its last read arrived at the server
	failures int
	wait     time.Duration // the last one
}

// race runs repetitions of a Race one after the other, in the same memory.
type race struct {
	Race
	backoff  retry.Backoff
	writes   queue[int32] // arrivals at the server, by client
	clients  []racer
	arrivals Histogram
}

// run is one repetition: write calls and the time until all are done, in
// nanoseconds. It ends early, with ok false, when ctx does.
//
// Only the arrival of a write is an event. That of the read before it need not
// be one: the row still has the version that was read if and only if no write
// has succeeded since. A read that arrives in the very nanosecond of a write
// sees the row as it was before.
func (r *race) run(ctx context.Context, random stream, clients int) (calls, end int64, ok bool) {
	r.writes.reset()
	r.arrivals.reset()
	r.clients = append(r.clients[:0], make([]racer, clients)...)
	delay := func() int64 { return random.delay(r.DelayMean, r.DelaySD) }
	uniform := random.uniform
	for i := range r.clients {
		r.clients[i].read = delay()
		r.writes.add(r.clients[i].read+delay()+delay(), int32(i))
	}
	lastWrite := int64(-1)
	for r.writes.len() > 0 {
		if calls++; calls%(1<<16) == 0 && ctx.Err() != nil {
			return 0, 0, false
		}
		e := r.writes.first()
		r.arrivals.add(e.at)
		c, answer := &r.clients[e.what], e.at+delay()
		if c.read > lastWrite {
			lastWrite, end = e.at, max(end, answer)
			r.writes.pop()
			continue
		}
		c.wait = r.backoff.Wait(r.FirstRetry+c.failures, c.wait, uniform)
		c.failures++
		c.read = answer + int64(c.wait) + delay()
		r.writes.replace(c.read+delay()+delay(), e.what)
	}
	return calls, end, true
}
