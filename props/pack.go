package props

import (
	"fmt"
	"strconv"

	"exactlyone/model"
)

// Pack is the properties that every system is checked for by default.
func Pack() []Property {
	return []Property{
		AtMostOne(), ExactlyOneOnceTold(), AcknowledgedExists(), SameAnswer(), ReplayIdentical(),
		KeyReuseRefused(), RefusedLeavesNothing(), OvertakenCommitsNothing(), NoDeadlock(), Converges(),
	}
}

// AtMostOne: no operation ever has two effects, and no effect belongs to no
// operation. It is judged after every step.
func AtMostOne() Property {
	return New("at-most-one", "an operation never leaves more than one effect, nor an effect nobody asked for",
		func(struct{}, model.Told) (s struct{}) { return s },
		func(_ struct{}, v View) (bool, string) {
			count := map[[2]string]int{}
			for _, e := range v.Effects {
				if e.Operation == "" {
					return true, fmt.Sprintf("nobody asked for %s", effect(e))
				}
				kind := [2]string{e.Operation, e.Kind}
				if count[kind]++; count[kind] == 2 {
					return true, fmt.Sprintf("%s left %d %s", e.Operation, len(v.OfKind(e.Operation, e.Kind)), plural(e.Kind))
				}
			}
			return len(v.Effects) > 0, ""
		})
}

// ExactlyOneOnceTold: from the moment a client is told success, there is
// exactly one effect.
func ExactlyOneOnceTold() Property {
	return New("exactly-one-once-told", "once a client was told success there is exactly one effect",
		func(told lines, t model.Told) lines {
			if t.Success {
				told = told.with(t.Operation)
			}
			return told
		},
		func(told lines, v View) (bool, string) {
			for _, line := range told.all() {
				op := line[0]
				if n := len(v.Of(op)); n != 1 {
					return true, fmt.Sprintf("a client was told that %s succeeded, and there are %d effects", op, n)
				}
			}
			return told != "", ""
		})
}

// AcknowledgedExists: an id that a success names is the id of a stored effect,
// which holds what was sent.
func AcknowledgedExists() Property {
	return New("acknowledged-exists", "an id that was acknowledged exists and holds what was sent",
		func(told lines, t model.Told) lines {
			if t.Success && t.ID != "" {
				told = told.with(t.ID, t.Request.Body)
			}
			return told
		},
		func(told lines, v View) (bool, string) {
			for _, line := range told.all() {
				if why := missing(v.Effects, line[0], line[1]); why != "" {
					return true, fmt.Sprintf("a client was told id %s for %s, but %s", line[0], line[1], why)
				}
			}
			return told != "", ""
		})
}

func missing(effects []model.Effect, id, body string) string {
	for _, e := range effects {
		switch {
		case e.Kind != "":
		case e.ID == id && model.SameBody(e.Body, body):
			return ""
		case e.ID == id:
			return "it holds " + e.Body
		}
	}
	return "there is no such effect"
}

// SameAnswer: whoever is told success for one operation is told the same.
func SameAnswer() Property {
	return New("same-answer", "every success for one operation has the same body",
		func(told lines, t model.Told) lines {
			if t.Success {
				told = told.with(t.Operation, t.Answer.Body)
			}
			return told
		},
		func(told lines, _ View) (bool, string) {
			first := map[string]string{}
			for _, line := range told.all() {
				op, body := line[0], line[1]
				if before, ok := first[op]; ok && before != body {
					return true, fmt.Sprintf("%s was answered %s and %s", op, before, body)
				}
				first[op] = body
			}
			return told != "", ""
		})
}

// NoDeadlock: no execution ends with a request that waits for ever: for a mutex, a
// channel, a connection of a pool or a row that nobody will give back.
func NoDeadlock() Property {
	return New("no-deadlock", "no request waits for ever",
		func(struct{}, model.Told) (s struct{}) { return s },
		func(_ struct{}, v View) (bool, string) { return v.End, v.Stuck })
}

// ReplayIdentical: an answer that is marked as a replay equals every other
// success under the same key, status and body, byte for byte.
func ReplayIdentical() Property {
	p := New("replay-identical", "an answer marked as a replay is the first answer, byte for byte",
		func(told lines, t model.Told) lines {
			if t.Success && t.Request.Key != "" {
				mark := strconv.FormatBool(t.Answer.Replayed())
				told = told.with(t.Request.Key, strconv.Itoa(t.Answer.Status), t.Answer.Body, mark)
			}
			return told
		},
		func(told lines, _ View) (bool, string) {
			held := false
			for _, a := range told.all() {
				if a[3] != "true" {
					continue
				}
				held = true
				for _, b := range told.all() {
					if a[0] == b[0] && (a[1] != b[1] || a[2] != b[2]) {
						return true, fmt.Sprintf("key %s was replayed as %s %s, but also answered %s %s", a[0], a[1], a[2], b[1], b[2])
					}
				}
			}
			return held, ""
		})
	p.Optional = true // not every writer marks replays
	return p
}

func plural(kind string) string {
	if kind == "" {
		return "effects"
	}
	return kind + "s"
}

func effect(e model.Effect) string {
	text := "effect "
	if e.Kind != "" {
		text = e.Kind + " "
	}
	if e.ID == "" {
		return text + e.Body
	}
	return text + e.ID + " " + e.Body
}
