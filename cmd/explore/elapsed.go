package main

import (
	"fmt"
	"io"
	"time"

	"exactlyone"
)

// progress shows how far a search has got, on a terminal, from the second
// second on. It also measures how long the command took.
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

func (p *progress) show(s exactlyone.Progress) {
	if !p.due() {
		return
	}
	if s.Executions > 0 {
		_, _ = fmt.Fprintf(p.to, "\r\x1b[K%d executions drawn", s.Executions)
		return
	}
	rate := float64(s.Steps) / p.last.Sub(p.start).Seconds()
	_, _ = fmt.Fprintf(p.to, "\r\x1b[K%d states, %d waiting; %d faults, %d steps deep; %.1f million steps/s",
		s.States, s.Queue, s.Faults, s.Depth, rate/1e6)
}

// repetitions shows how many of a simulation's are done.
func (p *progress) repetitions(done, total int) {
	if p.due() {
		_, _ = fmt.Fprintf(p.to, "\r\x1b[K%d of %d repetitions", done, total)
	}
}

// due reports whether it is time for another line.
func (p *progress) due() bool {
	now := time.Now()
	if p.to == nil || now.Sub(p.start) < 2*time.Second || now.Sub(p.last) < 200*time.Millisecond {
		return false
	}
	p.last, p.shown = now, true
	return true
}

// clear wipes the line away before the report.
func (p *progress) clear() {
	if p.shown {
		_, _ = fmt.Fprint(p.to, "\r\x1b[K")
	}
}

func (p *progress) seconds() float64 { return time.Since(p.start).Seconds() }

// pauses says when to write a file that takes a while: every 10 seconds, and not
// so often that writing takes more than a twentieth of the time.
type pauses struct {
	last, next time.Time
	wrote      bool // since the last question
}

func newPauses() *pauses { return &pauses{next: time.Now().Add(pause)} }

const pause = 10 * time.Second

func (p *pauses) due() bool {
	now := time.Now()
	if p.wrote {
		p.wrote = false
		p.next = p.last.Add(max(pause, 20*now.Sub(p.last)))
	}
	if now.Before(p.next) {
		return false
	}
	p.last, p.wrote = now, true
	return true
}
