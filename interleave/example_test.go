package interleave_test

import (
	"fmt"

	"exactlyone/interleave"
)

type ask string

func (a ask) String() string { return string(a) }

// Two tasks run one step at a time, in the order that somebody chooses.
func ExampleTasks() {
	ts := new(interleave.Tasks)
	for _, name := range []string{"a", "b"} {
		ts.Go(func() fmt.Stringer {
			got := ts.Ask(ask(name + " looks"))
			fmt.Println(name, "is told", got)
			return ask("done")
		})
	}
	ts.Resume(1, "nothing yet")
	ts.Resume(0, "what b wrote")
	// Output:
	// b is told nothing yet
	// a is told what b wrote
}
