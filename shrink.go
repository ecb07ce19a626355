package exactlyone

import (
	"context"
	"fmt"

	"exactlyone/interleave"
)

// Shrink makes the story of a trace smaller, however it was found: fewer faults,
// milder faults, fewer context switches, fewer steps, in this order. It still
// breaks the same property. The result says whether it is known to be minimal.
func Shrink(ctx context.Context, sys System, t *Trace) (*Trace, error) {
	var out *Trace
	err := guarded(func() (err error) {
		out, err = shrinkHere(ctx, sys, t)
		return err
	})
	return out, err
}

func shrinkHere(ctx context.Context, sys System, t *Trace) (*Trace, error) {
	prepared, err := sys.prepared()
	if err != nil {
		return nil, err
	}
	tab, err := newTables(prepared, t.Bounds)
	if err != nil {
		return nil, err
	}
	defer tab.close()
	r := &run{ctx: ctx, tables: tab, reduce: reductions{symmetry: true, clients: true}}
	p := newPerformance(r.learnedWorld())
	follow := replayer{performance: p, want: t.Steps}
	if err := follow.follow(len(t.Steps)); err != nil {
		return nil, err
	}
	p.end()
	if p.broken == 0 {
		return nil, fmt.Errorf("%w: the story of %s ends well now: there is nothing to shrink", ErrDiverged, t.System)
	}
	if property := p.w.props[p.broken-1].Name; t.Property != property {
		return nil, fmt.Errorf("%w: the trace breaks %q, and now it breaks %q", ErrDiverged, t.Property, property)
	}
	path, minimal := interleave.Shrink(ctx, r.shrinkWorld(), p.path, p.broken)
	frame := *t
	frame.Minimal, frame.Milder, frame.Shrunk = minimal, minimal, !minimal
	var res Result
	if err := r.tellPath(&res, path, &frame); err != nil {
		return nil, err
	}
	return res.Story, nil
}
