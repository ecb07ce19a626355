package flake

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Quarantine lists tests that a gate leaves out for a while. The zero value lists none.
type Quarantine struct{ entries []quarantined }

// quarantined is one line of a quarantine.
type quarantined struct {
	at    string // file:line
	until time.Time
	owner string
	test  string
}

// maxQuarantineLine bounds a line of a quarantine, in bytes.
const maxQuarantineLine = 64 << 10

// ParseQuarantine reads a quarantine: a line for each test, with the last day on which it
// is left out, who mends it, and its name as a report shows it or by itself, which may hold
// spaces. Empty lines and those that begin with # are comments.
//
//	2026-06-30  @payments  shop.cart > TestPay
//
// The error names every bad line, as name:line.
func ParseQuarantine(r io.Reader, name string) (*Quarantine, error) {
	q := &Quarantine{}
	var bad []error
	lineOf := map[string]int{}
	in := bufio.NewScanner(r)
	in.Buffer(nil, maxQuarantineLine)
	line := 0
	for in.Scan() {
		line++
		text := strings.TrimSpace(strings.TrimPrefix(in.Text(), "\ufeff"))
		if text == "" || text[0] == '#' {
			continue
		}
		e, err := parseQuarantined(text)
		if first, twice := lineOf[e.test]; err == nil && twice {
			err = fmt.Errorf("test %q stands in line %d already", e.test, first)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("flake: %s:%d: %w", name, line, err))
			continue
		}
		lineOf[e.test] = line
		e.at = fmt.Sprintf("%s:%d", name, line)
		q.entries = append(q.entries, e)
	}
	switch err := in.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		bad = append(bad, fmt.Errorf("flake: %s:%d: a line of %d bytes at most was expected", name, line+1, maxQuarantineLine))
	case err != nil:
		bad = append(bad, fmt.Errorf("flake: reading %s: %w", name, err))
	}
	return q, errors.Join(bad...)
}

func parseQuarantined(line string) (e quarantined, err error) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return e, fmt.Errorf("a date, an owner and a test were expected, such as %q", "2026-06-30 @payments TestPay")
	}
	if e.until, err = time.Parse(time.DateOnly, fields[0]); err != nil {
		return e, fmt.Errorf("%q: a date such as 2026-06-30 was expected", fields[0])
	}
	e.owner = fields[1]
	rest := strings.TrimSpace(line[len(fields[0]):])
	e.test = strings.TrimSpace(rest[len(e.owner):])
	return e, nil
}

// resolve finds the tests of each entry, by their index in tests. Entries of no test are
// returned as unknown. Two entries for one test, by a longer and a shorter name, are an
// error, and so is a name that several tests have.
func (q *Quarantine) resolve(tests []Identity) (of map[int]quarantined, unknown []quarantined, err error) {
	of = map[int]quarantined{}
	var bad []error
	for _, e := range q.entries {
		at, err := match(tests, e.test)
		if err != nil {
			bad = append(bad, fmt.Errorf("flake: %s: %w", e.at, err))
			continue
		}
		if len(at) == 0 {
			unknown = append(unknown, e)
		}
		for _, i := range at {
			if other, twice := of[i]; twice {
				bad = append(bad, fmt.Errorf("flake: %s: test %q stands in %s already, as %q", e.at, e.test, other.at, other.test))
				break
			}
			of[i] = e
		}
	}
	return of, unknown, errors.Join(bad...)
}

// match finds a test in all its labels, by the name that a report shows, with or without
// labels, or by its own name if no other test has it. It returns indices.
func match(tests []Identity, name string) ([]int, error) {
	var shown, bare []int
	for i, t := range tests {
		unlabeled := t
		unlabeled.Labels = ""
		if name == t.String() || name == unlabeled.String() {
			shown = append(shown, i)
		} else if name == t.Name {
			bare = append(bare, i)
		}
	}
	at := shown
	if len(at) == 0 {
		at = bare
	}
	slices.SortFunc(at, func(i, j int) int { return compareTests(tests[i], tests[j]) })
	for _, i := range at {
		first := tests[at[0]]
		if t := tests[i]; t.Suite != first.Suite || t.Class != first.Class || t.Name != first.Name {
			return nil, fmt.Errorf("test %q: there are several, such as %q and %q; name one of them so", name, first, t)
		}
	}
	return at, nil
}
