package exactlyone

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"exactlyone/choice"
	"exactlyone/internal/wholefile"
)

// TraceVersion is the version of the trace format that is written and read.
const TraceVersion = 1

// Trace is one execution, written down so that it can be replayed: which
// system under which bounds, every choice by number and by label, and what
// came of it.
type Trace struct {
	Version int    `json:"version"`
	System  string `json:"system"`
	Origin
	Bounds   Bounds   `json:"bounds"`
	Property string   `json:"property"`         // the property broken, "" if none is
	Message  string   `json:"message"`          // how
	Minimal  bool     `json:"minimal"`          // no story has fewer faults, switches, steps, in that order
	Milder   bool     `json:"milder,omitempty"` // minimal: with as many faults, those of less severity come before fewer switches
	Shrunk   bool     `json:"shrunk,omitempty"` // made smaller, but a smaller one may exist
	Faults   int      `json:"faults"`
	Switches int      `json:"switches"`
	Steps    []Step   `json:"steps"`
	Edits    *Edits   `json:"edits,omitempty"` // replays: how the code has changed since
	Need     []string `json:"necessary"`       // what cannot be left out

	clients, nodes int
	stores         []string
}

// Origin is how a command makes a built-in system again. Its names are those of
// the flags of explore check; "" is the default.
type Origin struct {
	Key       string    `json:"key,omitempty"`       // key source of the clients
	Workload  Workload  `json:"workload,omitempty"`  // what the clients submit
	Store     string    `json:"store,omitempty"`     // what carries out the statements
	Isolation Isolation `json:"isolation,omitempty"` // of a store that has levels; "" means serial
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

// maxTrace is how long a trace may be, in bytes.
const maxTrace = 64 << 20

// ReadTrace reads a trace from JSON; name is for error messages. Errors wrap
// [ErrUsage].
func ReadTrace(r io.Reader, name string) (*Trace, error) {
	bad := func(format string, args ...any) (*Trace, error) {
		return nil, fmt.Errorf("%w: %s: %s", ErrUsage, name, fmt.Sprintf(format, args...))
	}
	data, err := io.ReadAll(io.LimitReader(r, maxTrace+1))
	if err != nil {
		return bad("%v", err)
	}
	if len(data) > maxTrace {
		return bad("a trace of at most %d MiB was expected", maxTrace>>20)
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
	t.clients, t.nodes = t.Bounds.Clients, t.Bounds.Nodes
	for i, s := range t.Steps {
		if s.N != i+1 || s.Choice < 0 || s.Choice >= s.Of || s.Label == "" {
			return bad("step %d: n, label, and choice below of were expected", i+1)
		}
	}
	return &t, nil
}

// Choices is the trace's answers alone.
func (t *Trace) Choices() choice.Sequence {
	var s choice.Sequence
	for _, step := range t.Steps {
		s = append(s, choice.Choice{Answer: step.Choice, Of: step.Of})
	}
	return s
}
