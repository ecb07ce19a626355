package exactlyone

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"exactlyone/choice"
	"exactlyone/interleave"
	"exactlyone/internal/wholefile"
)

// TraceVersion is the version of the trace format that is written and read.
const TraceVersion = 1

// Trace is one execution, written down so that it can be replayed: which
// system under which bounds, every choice by number and by label, and what
// came of it.
type Trace struct {
	Version   int       `json:"version"`
	System    string    `json:"system"`
	Key       string    `json:"key,omitempty"`       // key source of a built-in writer's clients
	Store     string    `json:"store,omitempty"`     // what carries out the statements
	Isolation Isolation `json:"isolation,omitempty"` // of a store that has levels; "" means serial
	Bounds    Bounds    `json:"bounds"`
	Property  string    `json:"property"` // the property broken, "" if none is
	Message   string    `json:"message"`  // how
	Minimal   bool      `json:"minimal"`  // no story has fewer faults, switches, steps, in that order
	Faults    int       `json:"faults"`
	Switches  int       `json:"switches"`
	Steps     []Step    `json:"steps"`
	Need      []string  `json:"necessary"` // what cannot be left out

	clients, nodes int
	stores         []string
}

// ErrDiverged is a replay that could not go the way of the trace.
var ErrDiverged = errors.New("the replay diverges from the trace")

// WriteFile writes the trace as JSON. A file appears whole or not at all.
func (t *Trace) WriteFile(path string) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return wholefile.Write(path, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}

// ReadTrace reads a trace from JSON; name is for error messages. Errors wrap
// [ErrUsage].
func ReadTrace(r io.Reader, name string) (*Trace, error) {
	bad := func(format string, args ...any) (*Trace, error) {
		return nil, fmt.Errorf("%w: %s: %s", ErrUsage, name, fmt.Sprintf(format, args...))
	}
	data, err := io.ReadAll(r)
	if err != nil {
		return bad("%v", err)
	}
	var t Trace
	if err := json.Unmarshal(data, &t); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			at := min(int(syntax.Offset), len(data))
			return bad("line %d: a trace in JSON was expected: %v", 1+bytes.Count(data[:at], []byte("\n")), err)
		}
		return bad("a trace in JSON was expected: %v", err)
	}
	if t.Version != TraceVersion {
		return bad("trace version %d was expected, found %d", TraceVersion, t.Version)
	}
	if t.Bounds, err = t.Bounds.exact(); err != nil {
		return bad("%v", err)
	}
	for i, s := range t.Steps {
		if s.N != i+1 || s.Choice < 0 || s.Choice >= s.Of || s.Label == "" {
			return bad("step %d: n, label, and choice below of were expected", i+1)
		}
	}
	return &t, nil
}

// exact reads bounds in which every field was written out, 0 meaning none.
func (b Bounds) exact() (Bounds, error) {
	for _, n := range []*int{&b.Crashes, &b.LostAnswers, &b.LostRequests, &b.Duplicates, &b.Jumps, &b.CommitFaults} {
		if *n == 0 {
			*n = None
		}
	}
	return b.withDefaults()
}

// Choices is the trace's answers alone.
func (t *Trace) Choices() choice.Sequence {
	var s choice.Sequence
	for _, step := range t.Steps {
		s = append(s, choice.Choice{Answer: step.Choice, Of: step.Of})
	}
	return s
}

// Replay runs the code of the system for real along a trace, up to and
// including step until (0: to the end), and returns what happened. Unlike a
// search it runs each process from start to end in one go, so that a debugger
// can follow it. If the code now asks for something else than it did when the
// trace was written, the error wraps [ErrDiverged] and names the first such
// step. The stop is told the state after the last step; it may be nil.
func Replay(sys System, t *Trace, until int, stop func(Snapshot)) (*Trace, error) {
	var out *Trace
	err := guarded(func() (err error) {
		out, err = replayHere(sys, t, until, stop)
		return err
	})
	return out, err
}

func replayHere(sys System, t *Trace, until int, stop func(Snapshot)) (*Trace, error) {
	if err := sys.validate(); err != nil {
		return nil, err
	}
	if until < 0 || until > len(t.Steps) {
		return nil, fmt.Errorf("%w: step %d: 1 to %d was expected", ErrUsage, until, len(t.Steps))
	}
	if until == 0 {
		until = len(t.Steps)
	}
	tab, err := newTables(&sys, t.Bounds)
	if err != nil {
		return nil, err
	}
	defer tab.close()
	replay := &choice.Replay{Sequence: t.Choices()}
	p := newPerformance(newLive(tab))
	for len(p.steps) < until && p.broken == 0 {
		acts := p.enabled()
		n := len(p.steps)
		want := t.Steps[n]
		if len(acts) == 0 {
			return nil, fmt.Errorf("%w at step %d: the trace goes on with %q, but the execution has ended", ErrDiverged, n+1, want.Label)
		}
		i := replay.Choose(len(acts), want.Label)
		if have := p.w.label(p.v, acts[i]); have != want.Label || want.Of != len(acts) {
			return nil, p.diverged(n, want, acts)
		}
		p.perform(acts[i], i, len(acts))
	}
	out := p.trace(t)
	if until == len(t.Steps) && out.Property != t.Property {
		return nil, fmt.Errorf("%w at its end: the trace breaks %q, the replay %q", ErrDiverged, t.Property, out.Property)
	}
	if out.Minimal = t.Minimal && len(p.steps) == len(t.Steps); !out.Minimal {
		out.Need = nil
	}
	if stop != nil {
		stop(p.snapshot())
	}
	return out, p.w.live.end()
}

// diverged says how a replay left its trace.
func (p *performance) diverged(n int, want Step, acts []interleave.Action) error {
	var now []string
	for _, a := range acts {
		if len(now) < 8 {
			now = append(now, fmt.Sprintf("%q", p.w.label(p.v, a)))
		}
	}
	return fmt.Errorf("%w at step %d: the trace chose %q (%d of %d); what can happen now is %v (%d)",
		ErrDiverged, n+1, want.Label, want.Choice, want.Of, now, len(acts))
}
