package exactlyone

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"exactlyone/clock"
	"exactlyone/interleave"
)

// repeats is how often a story is run again before it is told. A coin that the
// code tosses in it goes unnoticed with a chance of 2^-repeats.
const repeats = 20

// repeatedly repeats a live execution.
func (t *tables) repeatedly(was *performance) error {
	for range repeats {
		if err := t.repeat(was); err != nil {
			return err
		}
	}
	return nil
}

// repeat performs the path of a live execution once more, and compares what the
// code asks for at every step.
func (t *tables) repeat(was *performance) error {
	p := newPerformance(newLive(t))
	err := t.compare(was, p)
	return errors.Join(err, p.w.live.end())
}

func (t *tables) compare(was, now *performance) error {
	seen := 1
	same := func() error {
		d := was.w.live.differs(now.w.live, seen)
		seen = len(now.w.live.procs)
		if d == nil {
			return nil
		}
		return explained(fmt.Errorf("%s%w", now.after(), d))
	}
	if err := same(); err != nil {
		return err
	}
	for _, a := range was.path {
		acts := now.enabled()
		i := slices.Index(acts, a)
		if i < 0 {
			return fmt.Errorf("%s%w: what came next is not possible now", now.after(), interleave.ErrNondeterministic)
		}
		now.perform(a, i, len(acts))
		if err := same(); err != nil {
			return err
		}
	}
	now.end()
	if now.broken != was.broken {
		was, _ := was.verdict()
		now, _ := now.verdict()
		return fmt.Errorf("%w: an execution broke %q, and run again %q", interleave.ErrNondeterministic, was, now)
	}
	return nil
}

// after says how far an execution has got.
func (p *performance) after() string {
	if len(p.steps) == 0 {
		return "at the start: "
	}
	return fmt.Sprintf("step %d, %s: ", len(p.steps), p.steps[len(p.steps)-1].Label)
}

// explained adds to a divergence what can be said about it.
func explained(err error) error {
	var d *interleave.Divergence
	if !errors.As(err, &d) {
		return err
	}
	was, now := parkedText(d.Was), parkedText(d.Now)
	at, _, _ := strings.Cut(err.Error(), interleave.ErrNondeterministic.Error())
	process, _, _ := strings.Cut(strings.TrimPrefix(d.Process, "a "), " ")
	return fmt.Errorf("%w: %safter %s, a %s asked for %s; given the same again, it asked for %s.\n%s",
		interleave.ErrNondeterministic, at, count(d.Step, "event"), process, was, now, source(was, now, d.Reordered))
}

func parkedText(p interleave.Parked) string {
	switch {
	case p.Op == nil:
		return "the end with " + p.Result.String()
	default:
		return askedText(p.Op)
	}
}

func askedText(op interleave.Op) string {
	switch op := op.(type) {
	case storeOp:
		return op.op.String()
	case forkOp:
		var all []string
		for _, op := range op.ops {
			all = append(all, askedText(op))
		}
		return strings.Join(all, " | ")
	}
	return op.String()
}

// source says where a difference comes from, as far as it can be told.
func source(was, now string, reordered bool) string {
	switch {
	case slices.ContainsFunc(timesIn(now), isNow) || slices.ContainsFunc(timesIn(was), isNow):
		return "The source is the wall clock: there is a time of just now in it. Ask env.Clock() instead."
	case reordered:
		return "The source is the order of a map, or of goroutines: it asks for the same things in another order. Range over sorted keys."
	case numbers.ReplaceAllString(was, "#") == numbers.ReplaceAllString(now, "#"):
		return "The source is a number that is new each time: a global random source such as that of math/rand/v2, which cannot be seeded, or memory that outlives the process. Ask env.NewID() instead, or seed a source."
	}
	return "The source is not known: the order of a map, a global random source such as that of math/rand/v2, the wall clock, memory that outlives the process, and goroutines of one request that race for something between two steps do this."
}

// numbers are runs of digits, and of what hexadecimal ids are made of.
var numbers = regexp.MustCompile(`[0-9a-f]{8}[0-9a-f-]*|[0-9]+`)

var (
	dates = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d`)
	spans = regexp.MustCompile(`[+-](\d+h)?(\d+m)?[\d.]+(s|ms|µs)`)
	units = regexp.MustCompile(`\d{10,19}`)
)

// timesIn is what may be a time in a text: a date, a distance from the epoch of
// virtual time, or a number of seconds, milliseconds, and so on since 1970.
func timesIn(text string) (all []time.Time) {
	for _, s := range dates.FindAllString(text, -1) {
		if at, err := time.Parse(time.DateTime, s[:10]+" "+s[11:]); err == nil {
			all = append(all, at)
		}
	}
	for _, s := range spans.FindAllString(text, -1) {
		if d, err := time.ParseDuration(s); err == nil {
			all = append(all, clock.Epoch.Add(d))
		}
	}
	for _, s := range units.FindAllString(text, -1) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			continue
		}
		for len(s) < 19 {
			n, s = n*10, s+"0"
		}
		all = append(all, time.Unix(0, n))
	}
	return all
}

// isNow says whether a time is within a day of the wall clock: dates are written
// in any zone.
func isNow(at time.Time) bool { return clock.Real{}.Now().Sub(at).Abs() < 24*time.Hour }
