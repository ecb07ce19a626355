package props

import (
	"fmt"

	"exactlyone/model"
)

// KeyReuseRefused: a key that was accepted for one request is not accepted for
// another: other method, path, caller or payload.
func KeyReuseRefused() Property {
	p := New("key-reuse-refused", "a key reused for another payload, caller or endpoint is refused",
		func(told lines, t model.Told) lines {
			if t.Request.Key == "" {
				return told
			}
			mark := "refused"
			if t.Success {
				mark = "accepted"
			}
			return told.with(t.Request.Key, t.Request.Fingerprint(), mark)
		},
		func(told lines, _ View) (bool, string) {
			held := false
			all := told.all()
			for i, a := range all {
				for _, b := range all[:i] {
					if a[0] != b[0] || a[1] == b[1] {
						continue
					}
					held = true
					if a[2] == "accepted" && b[2] == "accepted" {
						return true, fmt.Sprintf("key %s was accepted for two different requests", a[0])
					}
				}
			}
			return held, ""
		})
	p.Optional = true // most clients do not reuse keys
	return p
}

// RefusedLeavesNothing: a request whose answer is final and no success has left
// no effect.
func RefusedLeavesNothing() Property {
	return ofFact("refused-leaves-nothing", "a refused request has left nothing behind",
		FactLeft, "a request was refused, but it has left an effect")
}

// OvertakenCommitsNothing: an owner whose claim somebody else has taken over
// changes nothing any more. It needs [exactlyone.System.Claims].
func OvertakenCommitsNothing() Property {
	return ofFact("overtaken-commits-nothing", "an owner whose claim was taken over commits nothing",
		FactOvertaken, "an owner has changed a store after its claim was taken over")
}

// ofFact is a property that a fact breaks. Whether its premise held is for the
// search to say.
func ofFact(name, claim string, fact Fact, broken string) Property {
	p := New(name, claim,
		func(struct{}, model.Told) (s struct{}) { return s },
		func(_ struct{}, v View) (bool, string) {
			if v.Facts&fact != 0 {
				return true, broken
			}
			return false, ""
		})
	p.Fact, p.Optional = fact, true
	return p
}
