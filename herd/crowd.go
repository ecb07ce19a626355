package herd

import (
	"context"
	"math"
	"time"

	"exactlyone/retry"
)

// Crowd is the race on a server of limited capacity. It carries out one
// request at a time, reads and writes alike, in the order of arrival; requests
// that find its queue full are refused at once. A client that has waited for
// too long gives its request up, waits and begins again with the read; the
// server, which cannot know that, works on.
type Crowd struct {
	Clients     []int            // nil means 10, 50, 100
	Strategies  []retry.Strategy // nil means Published
	Repetitions int              // 0 means 20
	Base        time.Duration    // of the backoff; 0 means 5 ms
	Cap         time.Duration    // of the backoff; 0 means 2 s
	DelayMean   time.Duration    // one way; 0 means 10 ms; below 0 means none
	DelaySD     time.Duration    // 0 means 2 ms; below 0 means none
	FirstRetry  int              // as in Race
	Service     time.Duration    // to carry out a request; 0 means 2 ms, below 0 no time at all
	Queue       int              // requests that wait at most; 0 means 100
	Timeout     time.Duration    // how long a client waits for an answer; 0 means 100 ms
	Limit       time.Duration    // end of the simulation; 0 means 30 s
	Budget      float64          // tokens of the retry budget that all clients share; 0 means no budget
	Seed        uint64
	Workers     int // threads; 0 means one a core; the results do not depend on it
	Progress    func(done, total int)
}

// withDefaults replaces zeros by what they mean.
func (c Crowd) withDefaults() Crowd {
	if len(c.Clients) == 0 {
		c.Clients = []int{10, 50, 100}
	}
	if len(c.Strategies) == 0 {
		c.Strategies = Published
	}
	set(&c.Repetitions, 20)
	set(&c.Base, 5*time.Millisecond)
	set(&c.Cap, 2*time.Second)
	set(&c.DelayMean, 10*time.Millisecond)
	set(&c.DelaySD, 2*time.Millisecond)
	c.DelayMean, c.DelaySD = max(c.DelayMean, 0), max(c.DelaySD, 0)
	set(&c.FirstRetry, 2)
	set(&c.Service, 2*time.Millisecond)
	c.Service = max(c.Service, 0)
	set(&c.Queue, 100)
	set(&c.Timeout, 100*time.Millisecond)
	set(&c.Limit, 30*time.Second)
	return c
}

// bucket is a [retry.Budget] in tenths of a token: each retry takes a token, each
// success brings a tenth of one back, up to the initial number. Who finds none
// gives up.
type bucket struct{ budget *retry.Budget } // nil is no budget

func newBucket(tokens float64) *bucket {
	tenths := int(math.Round(10 * tokens))
	if tenths == 0 {
		return &bucket{}
	}
	return &bucket{retry.NewBudget(retry.BudgetConfig{Tokens: tenths, RetryCost: 10, TimeoutCost: 10, Gain: 1})}
}

// take reports whether a retry may be made.
func (b *bucket) take() bool {
	if b.budget == nil {
		return true
	}
	_, ok := b.budget.Withdraw(retry.KindRetryable)
	return ok
}

func (b *bucket) earn() {
	if b.budget != nil {
		b.budget.Deposit(0)
	}
}

// kind of a message, or of what happens.
type kind uint8

const (
	arrives  kind = iota // a request at the server
	served               // the server is done with the request in hand
	answers              // an answer at the client
	overtime             // a client has waited for too long
)

// outcome of a request.
type outcome uint8

const (
	done    outcome = iota
	changed         // a write: the row has another version
	refused         // the queue is full
)

// message is a request or the answer to it.
type message struct {
	kind    kind
	write   bool
	outcome outcome
	client  int32
	number  uint32 // of the request among its client's
	version uint32 // that was read
}

// customer is a client of a crowd.
type customer struct {
	number   uint32 // of the request it waits for
	failures int
	wait     time.Duration
	wrote    bool // a write of its took effect
	away     bool // it is done or has given up
}

// tally is what one repetition came to.
type tally struct {
	done, gaveUp, requests, writes, refused, overtime, wasted, extra int64

	end int64 // ns until the last client was done or gave up, or the limit
}

// crowd runs repetitions of a Crowd one after the other, in the same memory.
type crowd struct {
	Crowd
	tally
	backoff   retry.Backoff
	random    stream
	events    queue[message]
	customers []customer
	waiting   []message // at the server, from head on
	head      int
	inHand    message
	busy      bool
	version   uint32
	budget    *bucket
	left      int       // customers not away
	successes Histogram // over time
}

// run is one repetition. It ends early, with ok false, when ctx does.
func (c *crowd) run(ctx context.Context, random stream, clients int) (t tally, ok bool) {
	c.tally, c.random, c.left = tally{}, random, clients
	c.events.reset()
	c.successes.reset()
	c.customers = append(c.customers[:0], make([]customer, clients)...)
	c.waiting, c.head, c.busy, c.version = c.waiting[:0], 0, false, 0
	c.budget = newBucket(c.Budget)
	for i := range c.customers {
		c.send(0, int32(i), false, 0)
	}
	for n := 1; c.left > 0; n++ {
		if n%(1<<16) == 0 && ctx.Err() != nil {
			return tally{}, false
		}
		e := c.events.pop()
		if e.at > int64(c.Limit) {
			c.end = int64(c.Limit)
			break
		}
		switch e.what.kind {
		case arrives:
			c.arrive(e.at, e.what)
		case served:
			c.serve(e.at)
		case answers:
			c.answer(e.at, e.what)
		case overtime:
			if cu := &c.customers[e.what.client]; !cu.away && cu.number == e.what.number {
				c.overtime++
				c.fail(e.at, e.what.client)
			}
		}
	}
	return c.tally, true
}

func (c *crowd) delay() int64 { return c.random.delay(c.DelayMean, c.DelaySD) }

// send sends a request of a client at a time to come.
func (c *crowd) send(at int64, client int32, write bool, version uint32) {
	cu := &c.customers[client]
	cu.number++
	m := message{kind: arrives, write: write, client: client, number: cu.number, version: version}
	c.events.add(at+c.delay(), m)
	m.kind = overtime
	c.events.add(at+int64(c.Timeout), m)
}

// arrive takes a request in at the server.
func (c *crowd) arrive(at int64, m message) {
	c.requests++
	if m.write {
		c.writes++
	}
	switch {
	case !c.busy:
		c.start(at, m)
	case len(c.waiting)-c.head < c.Queue:
		c.waiting = append(c.waiting, m)
	default:
		c.refused++
		m.kind, m.outcome = answers, refused
		c.events.add(at+c.delay(), m)
	}
}

// start begins to carry a request out.
func (c *crowd) start(at int64, m message) {
	c.busy, c.inHand = true, m
	c.events.add(at+int64(c.Service), message{kind: served})
}

// serve carries out the request in hand and turns to the next one.
func (c *crowd) serve(at int64) {
	m := c.inHand
	cu := &c.customers[m.client]
	if cu.away || cu.number != m.number {
		c.wasted++
	}
	switch {
	case !m.write:
		m.version = c.version
	case m.version == c.version:
		c.version++
		if cu.wrote {
			c.extra++
		}
		cu.wrote = true
	default:
		m.outcome = changed
	}
	m.kind = answers
	c.events.add(at+c.delay(), m)
	c.busy = false
	if c.head < len(c.waiting) {
		next := c.waiting[c.head]
		if c.head++; c.head == len(c.waiting) {
			c.waiting, c.head = c.waiting[:0], 0
		} else if c.head >= 4096 {
			c.waiting, c.head = append(c.waiting[:0], c.waiting[c.head:]...), 0
		}
		c.start(at, next)
	}
}

// answer takes an answer in at its client.
func (c *crowd) answer(at int64, m message) {
	cu := &c.customers[m.client]
	switch {
	case cu.away || cu.number != m.number: // too late
	case m.outcome != done:
		c.fail(at, m.client)
	case m.write:
		c.done++
		c.successes.add(at)
		c.budget.earn()
		c.leave(at, cu)
	default:
		c.send(at, m.client, true, m.version)
	}
}

// fail lets a client begin again, or give up.
func (c *crowd) fail(at int64, client int32) {
	cu := &c.customers[client]
	if !c.budget.take() {
		c.gaveUp++
		c.leave(at, cu)
		return
	}
	cu.wait = c.backoff.Wait(c.FirstRetry+cu.failures, cu.wait, c.random.uniform)
	cu.failures++
	c.send(at+int64(cu.wait), client, false, 0)
}

func (c *crowd) leave(at int64, cu *customer) {
	cu.away = true
	c.left--
	c.end = at
}
