package main

import (
	"context"
	"testing"

	"exactlyone"
)

// TestStoresAgree: on memory and on SQLite every writer gets the same verdict,
// and the same smallest story: same property, faults, switches and steps.
func TestStoresAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: long searches")
	}
	for _, writer := range []string{"naive", "unique", "mutex", "key_split", "key_atomic", "key_atomic_nofence"} {
		for _, b := range []exactlyone.Bounds{
			{},
			{Clients: 1},
			{Clients: 1, Attempts: 3, Crashes: 2, LostAnswers: exactlyone.None, LostRequests: 1, Jumps: 1, Rounds: 2},
			{Crashes: exactlyone.None, LostAnswers: exactlyone.None, Duplicates: 1, Jumps: exactlyone.None, Cancels: 1},
		} {
			var memory *exactlyone.Result
			for _, store := range stores {
				sys, err := newSystem(writer, &exactlyone.Origin{Store: store})
				if err != nil {
					t.Fatal(err)
				}
				r, err := exactlyone.Run(context.Background(), sys, b, exactlyone.Options{})
				if err != nil {
					t.Fatalf("%s on %s: %v", writer, store, err)
				}
				if memory == nil {
					memory = r
				}
				if r.Verdict != memory.Verdict || r.States != memory.States || r.Ends != memory.Ends {
					t.Errorf("%s %v: %s with %d states on %s, %s with %d on memory",
						writer, r.Bounds, r.Verdict, r.States, store, memory.Verdict, memory.States)
				}
				if r.Story != nil && (r.Story.Property != memory.Story.Property || r.Story.Faults != memory.Story.Faults ||
					r.Story.Switches != memory.Story.Switches || len(r.Story.Steps) != len(memory.Story.Steps)) {
					t.Errorf("%s %v: another story on %s", writer, r.Bounds, store)
				}
			}
		}
	}
}
