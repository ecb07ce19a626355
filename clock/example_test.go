package clock_test

import (
	"fmt"
	"time"

	"exactlyone/clock"
)

func ExampleVirtual() {
	v := new(clock.Virtual)
	fmt.Println(clock.Since(v.Now()))
	v.Advance(31 * time.Second) // just past a lease of 30 s
	fmt.Println(clock.Since(v.Now()))
	// Output:
	// +0s
	// +31s
}
