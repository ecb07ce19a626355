package props

import (
	"fmt"

	"exactlyone/model"
)

// Converges: once nothing goes wrong any more, whoever tries again gets a final
// answer that agrees with the store. Each execution goes on after its end with a
// closing phase: clients that do not know how their operation ended try again,
// up to 20 times each; everybody takes steps in turn, without faults; time
// moves when all wait; background actors go on. No lock may be held for ever,
// no two requests keep each other from finishing, and what follows from an
// effect must be there.
func Converges() Property {
	p := New("converges", "once faults stop, trying again ends with a final answer that agrees with the store",
		func(told lines, t model.Told) lines {
			if t.Success {
				told = told.with(t.Operation)
			}
			return told
		},
		func(told lines, v View) (bool, string) {
			if v.Closing.Broken != "" {
				return true, v.Closing.Broken
			}
			for _, line := range told.all() {
				for _, kind := range v.Closing.Follows {
					if n := len(v.OfKind(line[0], kind)); n != 1 {
						return true, fmt.Sprintf("%s succeeded, and in the end there are %d %s of it", line[0], n, plural(kind))
					}
				}
			}
			return v.Closing.Resumed > 0 || told != "" && len(v.Closing.Follows) > 0, ""
		})
	p.Closing, p.Optional = true, true // often everybody knows
	return p
}
