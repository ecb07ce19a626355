// Package props answers: what must be true of a writer, whatever happens?
//
// A [Property] is judged after every step that changes what is stored or what a
// client was told, and again at the end of each execution. It sees the effects
// in the stores and a state of its own, folded from the answers that reached
// clients. That state is part of what tells two states of the search apart, so
// it should be as small as the claim allows.
package props

import (
	"fmt"

	"exactlyone/model"
)

// View is what is stored when a property is judged.
type View struct {
	Effects []model.Effect
	End     bool     // the execution has ended: nothing more will happen
	Stuck   string   // at the end, who waits for ever and where; "" if nobody does
	Facts   Fact     // what the search has seen, of what properties asked for
	Closing *Closing // how the closing phase went, if there was one; see [Converges]
}

// Fact is something that only the search can see.
type Fact uint32

// The facts.
const (
	FactLeft      Fact = 1 << iota // a request that was refused had left an effect
	FactOvertaken                  // an owner whose claim was taken over has changed a store
)

// Closing is what came of an execution once nothing went wrong any more.
type Closing struct {
	Resumed int      // clients that did not know how their operation had ended, and tried again
	Broken  string   // what is wrong at the end, "" if nothing
	Follows []string // kinds of effect of which each operation that succeeded must have one
}

// Of is the effects of one operation, without what follows from them.
func (v View) Of(operation string) []model.Effect { return v.OfKind(operation, "") }

// OfKind is the effects of one operation of one kind.
func (v View) OfKind(operation, kind string) []model.Effect {
	var found []model.Effect
	for _, e := range v.Effects {
		if e.Operation == operation && e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// Property is one named claim. Make it with [New] or [OfHistory].
type Property struct {
	Name  string // a few words, the same in every report
	Claim string // one line

	// Optional says that a run in which the claim's premise never held is no
	// reason to call the verdict vacuous.
	Optional bool

	// History says that the property's state is the whole history, with the
	// clients in it. Clients are then not interchangeable.
	History bool

	// Fact is what the search must watch for, 0 if nothing. The property's
	// premise holds where the fact could have been.
	Fact Fact

	// Closing says that each execution goes on after its end with a closing
	// phase, in which nothing goes wrong.
	Closing bool

	start   any
	observe func(state any, told model.Told) any
	judge   func(state any, v View) (held bool, broken string)
}

// New is a property with a state of type S, whose zero value it starts with.
// S must be printed completely by %#v: no pointers, no maps.
//
// Observe returns the state after a client was told something. Judge returns
// what is broken, "" if nothing, and whether the claim's premise holds: a
// property whose premise never held was not tested.
func New[S comparable](name, claim string, observe func(S, model.Told) S, judge func(S, View) (held bool, broken string)) Property {
	var zero S
	return Property{
		Name: name, Claim: claim, start: zero,
		observe: func(s any, t model.Told) any { return observe(s.(S), t) },
		judge:   func(s any, v View) (bool, string) { return judge(s.(S), v) },
	}
}

// OfHistory is a property of everything that clients were told, in order. The
// search then tells apart all histories, which costs many more states.
func OfHistory(name, claim string, judge func(model.History, View) (held bool, broken string)) Property {
	return Property{
		Name: name, Claim: claim, History: true, start: model.History(nil),
		observe: func(s any, t model.Told) any {
			h := s.(model.History)
			return append(h[:len(h):len(h)], t)
		},
		judge: func(s any, v View) (bool, string) { return judge(s.(model.History), v) },
	}
}

// State is the states of several properties.
type State struct {
	props  []Property
	states []any
	text   string
}

// Start is the state in which nobody was told anything.
func Start(ps []Property) *State {
	s := &State{props: ps}
	for _, p := range ps {
		s.states = append(s.states, p.start)
	}
	return s.seal()
}

func (s *State) seal() *State {
	for i, x := range s.states {
		s.text += fmt.Sprintf("%s=%#v;", s.props[i].Name, x)
	}
	return s
}

// String tells states apart: equal strings mean equal states.
func (s *State) String() string { return s.text }

// Observe is the state after a client was told something.
func (s *State) Observe(t model.Told) *State {
	next := &State{props: s.props, states: make([]any, len(s.states))}
	for i, p := range s.props {
		next.states[i] = p.observe(s.states[i], t)
	}
	return next.seal()
}

// Verdict is the judgement of one state.
type Verdict struct {
	Broken  int    // index of the first property that is broken, -1 if none is
	Message string // what is wrong
	Held    uint64 // bit i: the premise of property i holds
}

// Judge asks every property: after a closing phase those that want one, else
// the others.
func (s *State) Judge(v View) Verdict {
	verdict := Verdict{Broken: -1}
	for i, p := range s.props {
		if p.Closing != (v.Closing != nil) {
			continue
		}
		held, broken := p.judge(s.states[i], v)
		if held {
			verdict.Held |= 1 << (i % 64)
		}
		if broken != "" && verdict.Broken < 0 {
			verdict.Broken, verdict.Message = i, broken
		}
	}
	return verdict
}
