package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// now is the time of the runs that a command stores, unless --time says it.
func now() time.Time { return time.Now().UTC() }

// moment reads a time: RFC 3339, a date (midnight UTC), or a duration before now such
// as 48h or 14d. Empty text is the zero time.
func moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n < 1e6 {
			return now().AddDate(0, 0, -n), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now().Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("--%s %q: a time such as 2026-01-31T12:00:00Z, 2026-01-31, 48h or 14d was expected", flag, text)
}

// progress shows how far a command has got, on a terminal, from the second second on.
type progress struct {
	to          io.Writer // nil if it is not a terminal
	start, last time.Time
	shown       bool
}

func newProgress(stderr io.Writer) *progress {
	p := &progress{start: time.Now()}
	if isTerminal(stderr) {
		p.to = stderr
	}
	return p
}

// show prints a line in place of the last one, if it is time for another.
func (p *progress) show(format string, args ...any) {
	if p.to == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.start) < 2*time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.shown = now, true
	_, _ = fmt.Fprintf(p.to, "\r\x1b[K"+format, args...)
}

// clear wipes the line away.
func (p *progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = false
	}
}
