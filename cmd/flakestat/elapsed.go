package main

import (
	"fmt"
	"io"
	"time"
)

// now is the time of the runs that a command stores, unless --time says it.
func now() time.Time { return time.Now().UTC() }

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
