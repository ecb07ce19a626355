package herd

import (
	"context"
	"testing"
	"time"

	"exactlyone/retry"
)

// runCrowd is one repetition without chance: every message takes 10 ms.
func runCrowd(t *testing.T, c Crowd, strategy retry.Strategy, clients int) tally {
	t.Helper()
	c.DelaySD = -1
	sim := &crowd{Crowd: c.withDefaults()}
	sim.backoff = retry.Backoff{Strategy: strategy, Base: sim.Base, Cap: sim.Cap}
	got, ok := sim.run(context.Background(), newStream(0, "", 0, 0), clients)
	if !ok {
		t.Fatal("interrupted")
	}
	return got
}

func TestCrowdByHand(t *testing.T) {
	const ms = int64(time.Millisecond)
	for _, tt := range []struct {
		name     string
		crowd    Crowd
		strategy retry.Strategy
		clients  int
		want     tally
	}{
		// Read there at 10, served at 12, back at 22; write there at 32, served at 34, back at 44.
		{"alone", Crowd{}, retry.None, 1, tally{done: 1, requests: 2, writes: 1, end: 44 * ms}},
		// The other's read is served at 14, its write at 36, too late; 46 there, 56, 58, 68, 78, 80, 90.
		{"two", Crowd{}, retry.None, 2, tally{done: 2, requests: 6, writes: 3, end: 90 * ms}},
		{"two wait", Crowd{}, retry.Exponential, 2, tally{done: 2, requests: 6, writes: 3, end: 100 * ms}},
		{"no time at all", Crowd{Service: -1}, retry.None, 3, tally{done: 3, requests: 12, writes: 6, end: 120 * ms}},
		{
			"collapse",
			Crowd{Service: 150 * time.Millisecond, Limit: time.Second},
			retry.None, 1,
			// Given up at 100, 200, …, 1000; there at 10, 110, …, 910; served at 160, 310, 460, 610, 760, 910.
			tally{requests: 10, overtime: 10, wasted: 6, end: 1000 * ms},
		},
		// Round 1 leaves two; the one token lets the first of them try again, the other gives up.
		{"budget", Crowd{Service: -1, Budget: 1}, retry.None, 3, tally{done: 2, gaveUp: 1, requests: 8, writes: 4, end: 80 * ms}},
	} {
		if got := runCrowd(t, tt.crowd, tt.strategy, tt.clients); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestRefused: of four reads that arrive at once one is carried out, one
// waits, two are refused.
func TestRefused(t *testing.T) {
	got := runCrowd(t, Crowd{Service: 5 * time.Millisecond, Queue: 1, Limit: 10 * time.Millisecond}, retry.None, 4)
	if got.requests != 4 || got.refused != 2 {
		t.Errorf("%+v", got)
	}
}

// TestCrowdIsRace: with a server that takes no time a crowd is a race. The
// draws come in another order, so the means are compared.
func TestCrowdIsRace(t *testing.T) {
	const repetitions = 400
	crowd, err := Crowd{Service: -1, Timeout: time.Hour, Limit: time.Hour, Clients: []int{20}, Repetitions: repetitions}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	race, err := Race{Clients: []int{20}, Repetitions: repetitions}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range crowd.Cells {
		r := race.Cells[i]
		for _, pair := range [][2]Estimate{{c.Writes, r.Calls}, {c.Time, r.Time}} {
			if a := pair[0].against(pair[1].Mean, repetitions); a.Errors > 3.2 || a.Errors < -3.2 {
				t.Errorf("%s: %v and %v differ by %.1f errors", c.Strategy, pair[0], pair[1], a.Errors)
			}
		}
		if c.Done.Mean != 20 || c.Requests.Mean != 2*c.Writes.Mean || c.Refused.Mean+c.Overtime.Mean+c.Wasted.Mean+c.Extra.Mean != 0 {
			t.Errorf("%s: %s done, %s requests", c.Strategy, number(c.Done.Mean), number(c.Requests.Mean))
		}
	}
}

// TestCollapse: what the race recommends, no backoff, never ends where the
// server is overloaded; the jittered strategies do.
func TestCollapse(t *testing.T) {
	r, err := Crowd{Clients: []int{100}, Repetitions: 5, Seed: 1}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		collapsed := c.Limited == 5 && c.Done.Mean == 0
		if collapsed != (c.Strategy == retry.None) {
			t.Errorf("%s: done %v, cut off %d", c.Strategy, c.Done.Mean, c.Limited)
		}
	}
}

// TestBudget: with a retry budget requests are bounded by what it allows.
func TestBudget(t *testing.T) {
	const clients, tokens = 100, 300
	r, err := Crowd{Clients: []int{clients}, Repetitions: 5, Budget: tokens}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range r.Cells {
		// Each client's first attempt and each retry is two requests at most.
		if most := 2 * (clients + tokens + 0.1*c.Done.Mean); c.Requests.Mean > most || c.Limited > 0 {
			t.Errorf("%s: %v requests, at most %v expected; %d cut off", c.Strategy, c.Requests.Mean, most, c.Limited)
		}
	}
}

// TestSuccessEarns: of five tokens the second client takes one, after the
// first one's success has found the bucket full; its own brings a tenth back.
func TestSuccessEarns(t *testing.T) {
	sim := &crowd{Crowd: Crowd{Service: -1, DelaySD: -1, Budget: 5}.withDefaults()}
	if _, ok := sim.run(context.Background(), newStream(0, "", 0, 0), 2); !ok || sim.budget.budget.Tokens() != 41 {
		t.Errorf("%d tenths of a token left, want 41", sim.budget.budget.Tokens())
	}
}

func TestBucket(t *testing.T) {
	b := newBucket(2)
	got := []bool{b.take(), b.take(), b.take()}
	for range 11 { // eleven tenths: rounding must not matter
		b.earn()
	}
	got = append(got, b.take(), b.take(), newBucket(0).take())
	want := []bool{true, true, false, true, false, true}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
}
