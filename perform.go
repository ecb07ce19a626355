package exactlyone

import (
	"fmt"
	"slices"

	"exactlyone/interleave"
)

// performance carries out one execution step by step and writes down its
// story. Its world must know who made the last step.
type performance struct {
	w       *world
	v, next []uint32
	steps   []Step
	path    []interleave.Action
	broken  uint32 // 1 + the property broken, after a step or at the end
	message string // how
}

func newPerformance(w *world) *performance {
	p := &performance{w: w, v: make([]uint32, w.width), next: make([]uint32, w.width)}
	w.Start(p.v)
	return p
}

// enabled lists what can happen next, the plainest first.
func (p *performance) enabled() []interleave.Action { return p.w.plainestFirst(p.v, nil) }

// plainestFirst appends what can happen next to buf: the task that made the last
// step goes on, then other tasks, then faults.
func (w *world) plainestFirst(v []uint32, buf []interleave.Action) []interleave.Action {
	acts := w.Enabled(v, buf)
	on := 0 // so many go on
	for i, a := range acts {
		if a.Fault() {
			break
		}
		if !w.Switch(v, a) {
			copy(acts[on+1:i+1], acts[on:i])
			acts[on] = a
			on++
		}
	}
	return acts
}

// perform carries out an action, answer choice of so many.
func (p *performance) perform(a interleave.Action, choice, of int) {
	step, broken := p.w.tellStep(p.v, a, p.next)
	step.N, step.Choice, step.Of = len(p.steps)+1, choice, of
	p.v, p.next = p.next, p.v
	p.steps, p.path = append(p.steps, step), append(p.path, a)
	if p.broken = broken; broken != 0 {
		p.message = p.w.judgement(p.v, false).Message
	}
}

// end judges the end of the execution, if it has come to one. A live world must
// not go on after it.
func (p *performance) end() {
	if acts := p.enabled(); p.broken != 0 || len(acts) > 0 && !acts[0].Fault() {
		return
	}
	verdict := p.w.judgement(p.v, true)
	p.broken, p.message = uint32(verdict.Broken+1), verdict.Message
}

// finish goes on in the plainest way until the end, and judges it, or until a
// property is broken.
func (p *performance) finish() {
	for p.broken == 0 {
		acts := p.enabled()
		if len(acts) == 0 || acts[0].Fault() {
			p.end()
			return
		}
		p.perform(acts[0], 0, len(acts))
	}
}

// verdict is the property that is broken and how; "" if none is.
func (p *performance) verdict() (property, message string) {
	if p.broken == 0 {
		return "", ""
	}
	return p.w.props[p.broken-1].Name, p.message
}

// trace is the execution so far, in the frame of another: same system, bounds
// and claims.
func (p *performance) trace(frame *Trace) *Trace {
	t := *frame
	t.Version, t.System, t.Bounds, t.Steps = TraceVersion, p.w.sys.Name, p.w.bounds, p.steps
	t.clients, t.nodes, t.stores = p.w.bounds.Clients, p.w.nodes, nil
	for _, s := range p.w.sys.Stores {
		t.stores = append(t.stores, s.Name)
	}
	t.Property, t.Message = p.verdict()
	t.Faults, t.Switches = 0, 0
	for _, s := range p.steps {
		if s.Fault {
			t.Faults++
		}
		if s.Switch {
			t.Switches++
		}
	}
	return &t
}

// Snapshot is where everybody stands in the middle of an execution.
type Snapshot struct {
	Stores []NamedState `json:"stores"` // what is committed
	Stands []NamedState `json:"stands"` // what each client and each request is doing
	Open   []NamedState `json:"open"`   // open transactions, by request
}

// NamedState is the text of one part of a snapshot.
type NamedState struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

func (p *performance) snapshot() Snapshot {
	var s Snapshot
	w, v := p.w, p.v
	for i, st := range w.sys.Stores {
		s.Stores = append(s.Stores, NamedState{st.Name, fmt.Sprint(w.values.Value(v[atStores+i]))})
	}
	for c := range w.clients {
		if p := w.clientStands(v, c); p.Op == nil {
			s.Stands = append(s.Stands, NamedState{w.name(c), "has ended: " + p.Result.String()})
		} else {
			s.Stands = append(s.Stands, NamedState{w.name(c), "waits for: " + w.opText(p.Op)})
		}
		for slot := range w.layout.slots {
			name := "request of " + w.requestName(c, slot)
			at := w.slot(c, slot)
			switch wd := w.word(v, c, slot); wd.phase() {
			case phaseRunning:
				s.Stands = append(s.Stands, NamedState{name, fmt.Sprintf("at %s, next: %s", nodeName(wd.node()), w.opText(w.handlerStands(v, c, slot).Op))})
			case phaseAnswered:
				s.Stands = append(s.Stands, NamedState{name, fmt.Sprint("answer on its way: ", w.values.Value(v[at+slotMessage]))})
			case phaseDuplicate:
				s.Stands = append(s.Stands, NamedState{name, "on its way"})
			}
			for i, st := range w.sys.Stores {
				if id := v[at+slotSession+i]; id != 0 {
					s.Open = append(s.Open, NamedState{name + " in " + st.Name, fmt.Sprint(w.values.Value(id))})
				}
			}
		}
	}
	return s
}

// lenient follows a schedule as far as it can: an action that cannot happen is
// left out, and after the last one the execution goes on in the plainest way.
func (p *performance) lenient(actions []interleave.Action) {
	for _, a := range actions {
		if p.broken != 0 {
			return
		}
		acts := p.enabled()
		if i := slices.Index(acts, a); i >= 0 {
			p.perform(a, i, len(acts))
		}
	}
	p.finish()
}

// goOn lets the task that made the last step go on until it cannot.
func (p *performance) goOn() {
	for p.broken == 0 {
		acts := p.enabled()
		if len(acts) == 0 || acts[0].Fault() || p.w.Switch(p.v, acts[0]) {
			return
		}
		p.perform(acts[0], 0, len(acts))
	}
}

// necessary tries the story without each of its faults and each of its
// switches, and lists those without which it ends well.
func necessary(w *world, path []interleave.Action, story *Trace) []string {
	need := []string{}
	for i, s := range story.Steps {
		try := func(what string, without func(p *performance)) {
			p := newPerformance(w)
			p.follow(path[:i])
			if without(p); p.broken == 0 {
				need = append(need, fmt.Sprintf("step %d, %s: without it the story ends well", s.N, what))
			}
		}
		if s.Switch {
			try("the switch to "+s.actor(), func(p *performance) { p.goOn(); p.lenient(path[i:]) })
		}
		if s.Fault {
			try(s.Label, func(p *performance) { p.lenient(path[i+1:]) })
		}
	}
	return need
}

// follow carries out actions that are known to be possible.
func (p *performance) follow(path []interleave.Action) {
	for _, a := range path {
		acts := p.enabled()
		i := slices.Index(acts, a)
		if i < 0 {
			panic(fmt.Errorf("%w: step %d cannot be carried out again", interleave.ErrNondeterministic, len(p.steps)+1))
		}
		p.perform(a, i, len(acts))
	}
}

// actor is whose step it is.
func (s Step) actor() string { return s.Cells[0].Who }
