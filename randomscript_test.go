package exactlyone

import (
	"fmt"
	"slices"
	"strings"

	"exactlyone/model"
	"exactlyone/props"
)

// script is a whole handler, of fewer lines at a higher level; a timed one more
// often leaves times behind.
func (d dice) script(remembers, timed bool, level int) (lines []instr) {
	if level < 3 && d.oneIn(3) {
		lines = d.protocol()
	} else {
		if d.oneIn(2) {
			lines = d.lines(instr{do: "id"})
		}
		if remembers {
			lines = append(lines, d.memoryPiece()...)
		}
		for pieces := d.IntN(max(2, 4-level)); pieces > 0; pieces-- {
			lines = append(lines, d.piece(remembers)...)
		}
	}
	return append(lines, d.trace(timed)...)
}

// protocol is a writer that claims a row with a lease, files its effect and
// marks the row, with one line left out or changed.
func (d dice) protocol() []instr {
	lines := d.lines(
		instr{do: "id"},
		instr{do: "read", row: "b", val: "val"},
		instr{do: "if", val: "y", n: 1}, instr{do: "answer", val: "reg", n: 200, row: "replay"},
		instr{do: "now"},
		instr{do: "claim", row: "b", val: "x"},
		instr{do: "if", val: "!flag", n: 3},
		instr{do: "take", row: "b", val: "me"},
		instr{do: "if", val: "!flag", n: 1}, instr{do: "answer", val: "x", n: 409},
		instr{do: "fence", row: "b", val: "y"},
		instr{do: "if", val: "!flag", n: 1}, instr{do: "answer", val: "x", n: 409},
		instr{do: "effect", val: "body"},
		instr{do: "answer", val: "y", n: 201},
	)
	for n := d.number(1, 1, 2); n > 0; n-- {
		if i := d.IntN(len(lines)); d.oneIn(2) && lines[i].do != "if" {
			lines[i] = d.line()[0]
		} else {
			lines = slices.Delete(lines, i, i+1)
		}
	}
	return lines
}

// piece is a few lines such as writers consist of, some of them wrong.
func (d dice) piece(remembers bool) []instr {
	if remembers && d.oneIn(2) {
		return d.memoryPiece()
	}
	r := d.row()
	switch d.number(0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8, 9) {
	case 0: // look first
		return d.lines(instr{do: "read", row: r, val: d.of("val", "owner")},
			instr{do: "if", val: d.of("x", "found", "mine", "!flag"), n: 1},
			instr{do: "answer", val: "reg", n: d.status(), row: d.of("", "replay")})
	case 1: // claim
		return d.lines(instr{do: "id"}, instr{do: d.of("absent", "claim", "insert"), row: d.of("a", "b", "b"), val: d.val()},
			instr{do: "if", val: "!flag", n: 1}, instr{do: "answer", val: d.val(), n: d.status()})
	case 2: // take over a lease
		return d.lines(instr{do: "id"}, instr{do: "now"}, instr{do: "take", row: r, val: "me"},
			instr{do: "if", val: "!flag", n: 1}, instr{do: "answer", val: d.val(), n: d.status()})
	case 3: // is it late?
		return d.lines(instr{do: "now"}, instr{do: d.of("read", "expired"), row: r, val: d.of("val", "owner")},
			instr{do: "if", val: d.of("late", "flag"), n: 1}, instr{do: d.of("write", "own", "stamp", "lease", "effect"), row: r, val: d.val()})
	case 4: // the effect, perhaps fenced
		lines := d.one("effect", r, d.of("body", "body", "reg"))
		if d.oneIn(2) {
			lines = append(d.lines(instr{do: "fence", row: r, val: "y"}, instr{do: "if", val: "!flag", n: 1},
				instr{do: "answer", val: "reg", n: d.status()}), lines...)
		}
		return lines
	case 5: // a transaction
		lines := d.one("begin", r, "")
		for n := 1 + d.IntN(2); n > 0; n-- {
			lines = append(lines, d.line()...)
		}
		switch d.IntN(8) {
		case 0:
			lines = append(lines, instr{do: "rollback"})
		case 1: // left open
		default:
			lines = append(lines, instr{do: "commit"})
			if d.oneIn(3) {
				lines = append(lines, instr{do: "if", val: "!flag", n: 1}, instr{do: "answer", val: "reg", n: 503})
			}
		}
		return lines
	case 6:
		return d.lines(instr{do: d.of("id", "note"), row: "n"}, instr{do: "sleep", n: d.number(1, 1, 10, 20)})
	case 7:
		return d.lines(instr{do: "now"}, instr{do: d.of("stamp", "lease"), row: r})
	case 8: // a compare and swap and what it leads to
		return d.lines(instr{do: "cas", row: r, val: d.of("y", "me", "key")},
			instr{do: "if", val: d.of("flag", "!flag"), n: 1}, d.line()[0])
	}
	return d.line()
}

// trace is lines that leave something behind, so that it shows whether, when
// and how often a request came so far.
func (d dice) trace(timed bool) []instr {
	if timed && d.oneIn(2) {
		lines := d.lines(instr{do: "now"}, instr{do: d.of("stamp", "stamp", "lease"), row: "a"})
		if d.oneIn(3) {
			lines = append(d.lines(instr{do: "sleep", n: d.number(1, 10)}), lines...)
		}
		return lines
	}
	switch d.IntN(6) {
	case 0, 1:
		return d.one("effect", "", "body")
	case 2:
		return d.one("own", "a", d.of("me", "key"))
	case 3:
		return d.one("add", "a", "")
	case 4:
		return d.lines(instr{do: "now"}, instr{do: "claim", row: "b", val: "me"})
	}
	return nil
}

// line is a single random line.
func (d dice) line() []instr {
	r := d.row()
	switch d.IntN(9) {
	case 0:
		return d.one("read", r, d.of("val", "owner", "n"))
	case 1:
		return d.one("effect", r, "body")
	case 2:
		return d.one(d.of("add", "delete"), r, "")
	case 3:
		return d.lines(instr{do: "sleep", n: d.number(1, 10)})
	case 4:
		return d.lines(instr{do: d.of("id", "now", "note", "id", "now"), row: "n"})
	case 5:
		return d.lines(instr{do: "answer", val: d.val(), n: d.status()})
	}
	return d.one(d.of("write", "own", "fence", "lease", "stamp", "claim", "absent", "cas"), r, d.val())
}

// memoryPiece uses the node's memory.
func (d dice) memoryPiece() []instr {
	switch d.IntN(5) {
	case 0: // answered before?
		return d.lines(instr{do: "get", row: "k"}, instr{do: "if", val: "found", n: 1},
			instr{do: "answer", val: "reg", n: d.status()}, instr{do: "put", row: "k", val: d.of("me", "key", "y")})
	case 1:
		return d.lines(instr{do: "count"}, instr{do: d.of("write", "own", "absent", "read"), row: d.row(), val: d.of("reg", "owner")})
	case 2:
		lines := append(d.lines(instr{do: "lock"}), d.line()...)
		if d.oneIn(2) {
			lines = append(lines, d.line()...)
		}
		if d.oneIn(8) {
			return lines // never unlocked
		}
		return append(lines, instr{do: "unlock"})
	case 3:
		return d.lines(instr{do: "read", row: d.row(), val: "val"}, instr{do: "put", row: "k", val: "reg"})
	}
	return d.lines(instr{do: "get", row: "k"}, instr{do: d.of("write", "own"), row: d.row(), val: "reg"})
}

func (d dice) status() int { return d.number(200, 200, 201, 409, 503, 422) }

// properties is the pack, random claims, or both.
func (d dice) properties() []props.Property {
	var all []props.Property
	if d.oneIn(2) {
		all = slices.DeleteFunc(props.Pack(), func(p props.Property) bool { return p.Closing })
		if d.oneIn(2) {
			return all
		}
	}
	for n := 1 + d.IntN(2); n > 0; n-- {
		all = append(all, d.property(n))
	}
	return all
}

// seen is the state of several random properties.
type seen struct {
	bodies      string // of successes, sorted, a line each
	told, again int
}

func remember(s seen, t model.Told) seen {
	s.told++
	if !t.Success {
		return s
	}
	all := strings.Fields(s.bodies)
	if body := "[" + t.Answer.Body + "]"; slices.Contains(all, body) {
		s.again++
	} else {
		all = append(all, body)
	}
	slices.Sort(all)
	s.bodies = strings.Join(all, "\n")
	return s
}

// property is a random claim; n makes its name its own.
func (d dice) property(n int) props.Property {
	row, val := "row "+d.of("a", "b")+" of s0", d.of("y", "y", "body", "n2", "x")
	name := func(s string) string { return fmt.Sprint(s, " ", n) }
	rowIs := func(v props.View, id string) bool {
		of := v.Of(row)
		return len(of) > 0 && of[0].ID == id
	}
	switch d.number(0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 8) {
	case 0:
		return props.New(name("row-never"), row+" never holds "+val+" at the end",
			func(struct{}, model.Told) (s struct{}) { return s },
			func(_ struct{}, v props.View) (bool, string) { return v.End, broken(v.End && rowIs(v, val)) })
	case 1:
		return props.New(name("successes-differ"), "no two successes name the same", remember,
			func(s seen, _ props.View) (bool, string) { return s.told > 0, broken(s.again > 0) })
	case 2:
		return props.New(name("successes-equal"), "all successes name the same", remember,
			func(s seen, _ props.View) (bool, string) {
				return s.told > 0, broken(strings.Contains(s.bodies, "\n"))
			})
	case 3:
		return props.New(name("last-told"), "at the end the last success names what "+row+" holds",
			func(last string, t model.Told) string {
				if t.Success {
					return t.Answer.Body
				}
				return last
			},
			func(last string, v props.View) (bool, string) {
				return v.End, broken(v.End && last != "" && !rowIs(v, last))
			})
	case 4:
		return props.New(name("told-early"), "at most one effect before somebody was told something",
			func(bool, model.Told) bool { return true },
			func(told bool, v props.View) (bool, string) {
				return true, broken(!told && len(v.Of("the operation")) > 1)
			})
	case 5:
		return props.New(name("few-refused"), "at most one answer of 409 or 503",
			func(n int, t model.Told) int {
				if t.Answer.Status == 409 || t.Answer.Status == 503 {
					return min(n+1, 2)
				}
				return n
			},
			func(n int, _ props.View) (bool, string) { return true, broken(n > 1) })
	case 6:
		return props.OfHistory(name("history"), "client 1 is told something before client 0",
			func(h model.History, v props.View) (bool, string) {
				return true, broken(v.End && len(h) > 1 && h[0].Client == 0)
			})
	}
	most := 1 + d.IntN(4)
	if d.oneIn(2) {
		return props.New(name("few-effects"), fmt.Sprintf("at the end there are at most %d effects", most),
			func(struct{}, model.Told) (s struct{}) { return s },
			func(_ struct{}, v props.View) (bool, string) {
				return v.End, broken(v.End && len(v.Of("the operation")) > most)
			})
	}
	return props.New(name("few-added"), fmt.Sprintf("at most %d is added to row a of s0", most),
		func(struct{}, model.Told) (s struct{}) { return s },
		func(_ struct{}, v props.View) (bool, string) {
			of := v.Of("row a of s0")
			return true, broken(len(of) > 0 && strings.HasSuffix(of[0].Body, fmt.Sprint(" ", most+1)))
		})
}

func broken(is bool) string {
	if is {
		return "broken"
	}
	return ""
}
