package interleave

import (
	"context"

	"exactlyone/choice"
)

// Naive follows every execution from its start to its end, without looking
// whether a state was seen before. It stops at the first property broken
// unless all is set. States counts every state of the tree of executions, so
// Executions is the number of complete interleavings.
func Naive(ctx context.Context, cfg Config, m Model, all bool) Report {
	n := &naive{ctx: ctx, cfg: cfg, m: m, all: all}
	first := make([]uint32, m.Width())
	m.Start(first)
	n.report.Stop = Complete
	n.report.States = 1
	if cfg.Visit != nil {
		cfg.Visit(first)
	}
	n.follow(first, 0)
	return n.report
}

type naive struct {
	ctx    context.Context
	cfg    Config
	m      Model
	all    bool
	stack  [][]uint32 // one state per depth, reused
	acts   [][]Action
	path   []Action
	report Report
}

// follow continues from v; false means stop.
func (n *naive) follow(v []uint32, depth int) bool {
	if n.report.Steps%4096 == 0 {
		if n.ctx.Err() != nil {
			n.report.Stop = Cancelled
			return false
		}
		if n.cfg.Progress != nil {
			n.cfg.Progress(Progress{Depth: depth, States: n.report.States, Steps: n.report.Steps})
		}
	}
	if depth == len(n.stack) {
		n.stack = append(n.stack, make([]uint32, n.m.Width()))
		n.acts = append(n.acts, nil)
	}
	n.report.Depth = max(n.report.Depth, depth)
	acts := n.m.Enabled(v, n.acts[depth][:0])
	n.acts[depth] = acts
	if ends(acts) {
		n.report.Ends++
		if n.cfg.End != nil {
			n.cfg.End(v)
		}
		if !n.judge(n.m.End(v)) {
			return false
		}
	}
	for _, a := range acts {
		next := n.stack[depth]
		broken := n.m.Apply(v, a, next)
		n.report.Steps++
		n.report.States++
		if n.cfg.Visit != nil {
			n.cfg.Visit(next)
		}
		n.path = append(n.path, a)
		goOn := n.judge(broken)
		if goOn && (broken == 0 || n.all) {
			goOn = n.follow(next, depth+1)
		}
		n.path = n.path[:len(n.path)-1]
		if !goOn {
			return false
		}
	}
	return true
}

// judge notes a broken property; false means stop.
func (n *naive) judge(broken uint32) bool {
	if broken == 0 {
		return true
	}
	if n.report.Broken == 0 {
		n.report.Broken = broken
		n.report.Path = append([]Action(nil), n.path...)
		for _, a := range n.path {
			if a.Fault() {
				n.report.Faults++
			}
		}
		n.report.Stop = Violation
	}
	return n.all
}

// Walk runs one execution in which src chooses among the actions possible,
// label naming each question. It returns the state it ended in, the actions
// taken and the property broken, and stops where one is. Where only faults are
// possible, answer 0 is to end. Choices with a single answer are not asked for.
func Walk(m Model, src choice.Source, label func(v []uint32, acts []Action) string) (end []uint32, path []Action, broken uint32) {
	v, next := make([]uint32, m.Width()), make([]uint32, m.Width())
	m.Start(v)
	for {
		acts := m.Enabled(v, nil)
		end := 0
		if ends(acts) {
			end = 1
		}
		chosen := 0
		if len(acts)+end > 1 {
			chosen = src.Choose(len(acts)+end, label(v, acts))
		}
		if chosen < end {
			return v, path, m.End(v)
		}
		a := acts[chosen-end]
		path = append(path, a)
		broken = m.Apply(v, a, next)
		v, next = next, v
		if broken != 0 {
			return v, path, broken
		}
	}
}
