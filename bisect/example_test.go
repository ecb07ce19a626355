package bisect_test

import (
	"fmt"

	"exactlyone/bisect"
)

// Commit 3 of 0 to 4 makes a test fail in every other run.
func Example() {
	s := bisect.New(5)
	for !s.Found(0.95) {
		c := s.Next()
		_, runs := s.Counts(c)
		s.Observe(c, c >= 3 && runs%2 == 1)
	}
	first, last, chance := s.Suspects()
	fmt.Printf("%d to %d after %d runs: %.3f\n", first, last, s.Runs(), chance)
	// Output: 3 to 3 after 33 runs: 0.979
}
