package herd

import (
	"context"
	"slices"
	"testing"
	"time"
)

// TestLayers: the simulated calls are the attempts multiplied, layer by layer.
func TestLayers(t *testing.T) {
	for _, tt := range []struct {
		attempts []int
		calls    []int64
	}{
		{[]int{1}, []int64{1, 1}},
		{[]int{4, 3}, []int64{1, 4, 12}},
		{[]int{3, 3, 3, 3, 3}, []int64{1, 3, 9, 27, 81, 243}},
		{[]int{2, 1, 5}, []int64{1, 2, 2, 10}},
	} {
		for _, requests := range []int{1, 7} {
			r, err := Stack{Attempts: tt.attempts, Requests: requests}.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range tt.calls {
				if r.Calls[i] != n*int64(requests) {
					t.Errorf("%v, %d requests: calls %v, want %v of each", tt.attempts, requests, r.Calls, tt.calls)
				}
			}
			if backend, _ := r.PerRequest(); backend != float64(r.Product()) {
				t.Errorf("%v: %v calls to the backend, the product is %d", tt.attempts, backend, r.Product())
			}
		}
	}
}

// TestLayersByHand: a message takes 10 ms. Two attempts of two layers: down 30
// ms, up 10, wait 5, down 10, up 20 to layer 1; wait 5; again 10+10+10+5+10+20;
// up 10 to the user.
func TestLayersByHand(t *testing.T) {
	backoff := Stack{}.Backoff
	backoff.Strategy, backoff.Base = "exponential", 5*time.Millisecond
	r, err := Stack{Attempts: []int{2, 2}, Requests: 3, DelaySD: -1, Backoff: backoff}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := 30.0 + 10 + 5 + 10 + 20 + 5 + 65 + 10; r.Time.Mean != want || r.Time.SD != 0 {
		t.Errorf("%+v ms, want %v", r.Time, want)
	}
}

// TestLayersBudget: with a budget of B tokens in each of k layers, no more
// than R + kB calls reach the backend, and of one request come nearly k calls
// in all layers.
func TestLayersBudget(t *testing.T) {
	r, err := Stack{Budget: 10}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if want := []int64{1000, 1010, 1020, 1030, 1040, 1050}; !slices.Equal(r.Calls, want) {
		t.Errorf("calls %v, want %v", r.Calls, want)
	}
	if backend, all := r.PerRequest(); all-backend < 5 || all-backend > 5.11 {
		t.Errorf("%v calls in five layers", all-backend)
	}
}
