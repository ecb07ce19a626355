// Package choice answers: how can one run of a program be tried at random,
// enumerated, written down and repeated, without the program knowing which?
//
// Everything that is not determined asks a [Source]. [Random] draws the
// answers, [Exhaustive] goes through all of them, [Replay] repeats a recorded
// [Sequence]. Answer 0 always means the plainest: the current task goes on,
// nothing breaks.
package choice

import (
	"fmt"
	"strconv"
	"strings"
)

// Source answers questions. It is the only door for nondeterminism.
type Source interface {
	// Choose returns a number from 0 to n-1, n being at least 1. The label
	// says what is asked, for people and for error messages.
	Choose(n int, label string) int
}

// Choice is one recorded answer.
type Choice struct {
	Answer int // 0 to Of-1
	Of     int // how many answers there were
}

// Sequence is the answers of one run, in order. Its text form is a list such
// as "0/2 1/3 0/1": answer/of, separated by single spaces.
type Sequence []Choice

// String is the text form; [Parse] reads it back.
func (s Sequence) String() string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%d/%d", c.Answer, c.Of)
	}
	return b.String()
}

// Parse reads the text form of a sequence.
func Parse(text string) (Sequence, error) {
	var s Sequence
	for i, word := range strings.Fields(text) {
		answer, of, ok := strings.Cut(word, "/")
		a, errA := number(answer)
		n, errN := number(of)
		if !ok || errA != nil || errN != nil || a >= n {
			return nil, fmt.Errorf("choice %d: %q: answer/of with answer below of was expected, e.g. 0/2", i+1, word)
		}
		s = append(s, Choice{Answer: a, Of: n})
	}
	return s, nil
}

// number reads a decimal number without sign or leading zeros, so that every
// sequence has one text form.
func number(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err == nil && (n < 0 || strconv.Itoa(n) != s) {
		err = strconv.ErrSyntax
	}
	return n, err
}

// Recorder passes questions on and writes the answers down.
type Recorder struct {
	Source   Source
	Sequence Sequence
}

// Choose asks the source.
func (r *Recorder) Choose(n int, label string) int {
	a := r.Source.Choose(n, label)
	r.Sequence = append(r.Sequence, Choice{Answer: a, Of: n})
	return a
}
