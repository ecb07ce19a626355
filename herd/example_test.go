package herd_test

import (
	"context"
	"fmt"
	"log"

	"exactlyone/herd"
	"exactlyone/retry"
)

// Three clients, and messages that take exactly 10 ms: one succeeds in each
// round of 40 ms.
func ExampleRace() {
	result, err := herd.Race{
		Clients:    []int{3},
		Strategies: []retry.Strategy{retry.None},
		DelaySD:    -1,
	}.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range result.Cells {
		fmt.Println(c.Strategy, c.Calls.Mean, "write calls in", c.Time.Mean, "ms")
	}
	// Output: none 6 write calls in 120 ms
}

// Four attempts of a service at another one that makes three.
func ExampleStack() {
	result, err := herd.Stack{Attempts: []int{4, 3}, Requests: 1}.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Calls)
	// Output: [1 4 12]
}
