package interleave

import (
	"context"
	"testing"
)

// TestBehind: a search that goes on and is stopped before it has caught up reports
// what had been searched before, and keeps nothing.
func TestBehind(t *testing.T) {
	m := &counters{steps: []uint32{9, 9, 9}}
	var kept *Searched
	cfg := Config{Workers: 1, Round: func(_ Stop, took func() *Searched) { kept = took() }}
	want := Explore(context.Background(), cfg, m)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cfg.From, cfg.Round = kept, func(Stop, func() *Searched) { t.Error("it is kept anew") }
	got := Explore(ctx, cfg, &counters{steps: []uint32{9, 9, 9}})
	if got.Stop != Cancelled || got.States != want.States || got.Steps != want.Steps || got.Ends != want.Ends {
		t.Errorf("%s with %d states, %d steps, %d ends; want what had been searched: %d, %d, %d",
			got.Stop, got.States, got.Steps, got.Ends, want.States, want.Steps, want.Ends)
	}
}
