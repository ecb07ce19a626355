package exactlyone

import (
	"context"
	"fmt"
	"slices"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// MatrixColumns are the mishaps of the published table: what happens to one
// operation.
var MatrixColumns = []string{
	"lost answer, then retry",
	"crash mid-request",
	"concurrent duplicates",
	"agent resubmits with a new id",
	"agent rewords the title",
}

// MatrixRow is a writer under a key source: how many reports one operation
// leaves in each column of [MatrixColumns].
type MatrixRow struct {
	Writer string          `json:"writer"`
	Key    model.KeySource `json:"key"`
	// Published is with the mishap at the point at which the table was
	// published: the crash after the first commit of the request, duplicates in
	// step with one another.
	Published [5]int `json:"published"`
	// Worst is the most that any schedule within the bounds leaves.
	Worst [5]int `json:"worst"`
}

// Lucky says whether the published point was luck: another schedule leaves more.
func (r MatrixRow) Lucky(column int) bool { return r.Worst[column] > r.Published[column] }

// matrixRows are the writers and key sources of the published table.
var matrixRows = []MatrixRow{
	{Writer: "naive", Key: model.KeyNone},
	{Writer: "key_atomic", Key: model.KeyPerAttempt},
	{Writer: "key_split", Key: model.KeyToolCall},
	{Writer: "key_atomic", Key: model.KeyToolCall},
	{Writer: "key_atomic", Key: model.KeyBusiness},
}

// mishap is one column: what goes wrong at most, what the agent above the
// client does, and the published point.
type mishap struct {
	bounds Bounds
	agent  model.Agent
	// point chooses the next action, of those that are possible; the plainest is
	// the first.
	point func(p *performance, acts []interleave.Action) interleave.Action
}

var calm = Bounds{Clients: 1, LostAnswers: None, Crashes: None}

func mishaps() [5]mishap {
	lost, crashed, both, agent := calm, calm, calm, calm
	lost.LostAnswers, crashed.Crashes, both.Clients = 1, 1, 2
	agent.LostAnswers, agent.Attempts = 1, 1
	return [5]mishap{
		{lost, "", loseAnswer},
		{crashed, "", crashAfterCommit},
		{both, "", inStep},
		{agent, model.NewCall, loseAnswer},
		{agent, model.Reword, loseAnswer},
	}
}

// loseAnswer loses the first answer.
func loseAnswer(_ *performance, acts []interleave.Action) interleave.Action {
	for _, a := range acts {
		if kind, _, _, _ := unpack(a); kind == actFault+budgetLost {
			return a
		}
	}
	return acts[0]
}

// crashAfterCommit crashes the node after the first commit of the request.
func crashAfterCommit(p *performance, acts []interleave.Action) interleave.Action {
	if p.w.word(p.v, 0, 0).commits() == 1 {
		for _, a := range acts {
			if kind, _, _, _ := unpack(a); kind == actFault+budgetCrash {
				return a
			}
		}
	}
	return acts[0]
}

// inStep lets clients take turns.
func inStep(p *performance, acts []interleave.Action) interleave.Action {
	for _, a := range acts {
		if !a.Fault() && p.w.Switch(p.v, a) {
			return a
		}
	}
	return acts[0]
}

// Matrix makes the published table of writers, key sources and mishaps, on
// stores that open opens; nil means in memory.
func Matrix(ctx context.Context, open func(Store) (Backend, error)) ([]MatrixRow, error) {
	rows := slices.Clone(matrixRows)
	for i := range rows {
		for c, m := range mishaps() {
			sys, _, err := NewBuiltin(rows[i].Writer, string(rows[i].Key))
			if err != nil {
				return nil, err
			}
			sys.Backend = open
			client := sys.Client
			sys.Client = func(n int) model.Client {
				c := client(n)
				c.Agent = m.agent
				return c
			}
			if rows[i].Published[c], err = m.published(sys); err != nil {
				return nil, err
			}
			if rows[i].Worst[c], err = m.worst(ctx, sys); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// published performs the execution of the published point, in which clients try
// until they have an answer, and counts what it leaves.
func (m mishap) published(sys System) (int, error) {
	b := m.bounds
	if m.agent == "" {
		b.Attempts = maxAttempts
	}
	b, err := b.withDefaults()
	if err != nil {
		return 0, err
	}
	sys.Properties = []props.Property{atMost(1 << 30)}
	t, err := newTables(&sys, b)
	if err != nil {
		return 0, err
	}
	defer t.close()
	w := newWorld(t, reductions{})
	w.last = true
	p := newPerformance(w)
	for {
		acts := p.enabled()
		if len(acts) == 0 {
			return len(w.effectsIn(w.shared(p.v))), nil
		}
		a := m.point(p, acts)
		if a.Fault() && a == acts[0] {
			return len(w.effectsIn(w.shared(p.v))), nil // only faults could go on
		}
		p.perform(a, 0, len(acts))
	}
}

// worst is the most that any schedule leaves.
func (m mishap) worst(ctx context.Context, sys System) (int, error) {
	for n := 1; ; n++ {
		sys.Properties = []props.Property{atMost(n)}
		r, err := Run(ctx, sys, m.bounds, Options{})
		switch {
		case err != nil:
			return 0, err
		case r.Verdict == Inconclusive:
			return 0, fmt.Errorf("the search for the worst schedule of %s: %s", sys.Name, r.Why)
		case r.Verdict != Violated:
			return n, nil
		}
	}
}

// atMost allows so many effects in all.
func atMost(n int) props.Property {
	return props.New("at-most", fmt.Sprintf("there are at most %d effects", n),
		func(struct{}, model.Told) (s struct{}) { return s },
		func(_ struct{}, v props.View) (bool, string) {
			if len(v.Effects) > n {
				return true, fmt.Sprintf("%d effects", len(v.Effects))
			}
			return true, ""
		})
}
