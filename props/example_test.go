package props_test

import (
	"fmt"

	"exactlyone/model"
	"exactlyone/props"
)

// A property that knows only how often somebody was told success.
func ExampleNew() {
	once := props.New("told-once", "nobody is told success twice",
		func(n int, t model.Told) int {
			if t.Success {
				n++
			}
			return n
		},
		func(n int, _ props.View) (held bool, broken string) {
			if n > 1 {
				return true, fmt.Sprintf("told %d times", n)
			}
			return n > 0, ""
		})
	s := props.Start([]props.Property{once}).Observe(model.Told{Success: true}).Observe(model.Told{Success: true})
	fmt.Println(s.Judge(props.View{}).Message)
	// Output: told 2 times
}
