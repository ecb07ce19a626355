package exactlyone

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"exactlyone/choice"
	"exactlyone/interleave"
)

// ErrRefuted is a system that is not what it was declared to be.
var ErrRefuted = errors.New("the declaration Stateless is wrong")

// runForReal runs sampled executions again, live and to their ends, and
// compares each step with what the search took for granted: that the code is
// deterministic, and that a stateless server keeps nothing between requests.
// After the sampled part one goes on in the plainest way, another at random.
func (r *run) runForReal(res *Result, sampled [][]interleave.Action) error {
	for i, path := range sampled {
		random := choice.NewRandom(r.o.Seed<<16 + uint64(i))
		for _, src := range []choice.Source{&choice.Replay{}, random} {
			if r.ctx.Err() != nil && res.Checked > 0 {
				return nil
			}
			p := newPerformance(newLive(r.tables))
			if err := errors.Join(r.lockstep(p, path, src), p.w.live.end()); err != nil {
				return err
			}
			res.Checked++
		}
	}
	return nil
}

// lockstep performs a path live, beside a world that knows only what the search
// learned, and goes on to the end as src says; nil means not at all.
func (r *run) lockstep(p *performance, path []interleave.Action, src choice.Source) error {
	learned := newPerformance(r.learnedWorld())
	for _, a := range path {
		if err := r.both(p, learned, a); err != nil {
			return err
		}
	}
	for src != nil && learned.broken == 0 {
		acts := learned.enabled()
		if len(acts) == 0 || len(learned.steps) > interleave.MaxHistory {
			break
		}
		i := src.Choose(len(acts), "next")
		if _, plain := src.(*choice.Replay); plain && acts[0].Fault() {
			break
		}
		if err := r.both(p, learned, acts[i]); err != nil {
			return err
		}
	}
	if len(learned.steps) > interleave.MaxHistory {
		return nil
	}
	p.end()
	learned.end()
	return r.same(p, learned)
}

// learnedWorld knows what the search learned, and leaves nothing out.
func (r *run) learnedWorld() *world {
	if r.learned == nil {
		r.learned = newWorld(r.tables, reductions{})
		r.learned.last = true
	}
	return r.learned
}

// both performs one action in two worlds, and compares where everybody stands
// then.
func (r *run) both(live, learned *performance, a interleave.Action) error {
	acts := live.enabled()
	i := slices.Index(acts, a)
	if i >= 0 {
		live.perform(a, i, len(acts))
		learned.perform(a, i, len(acts))
		return r.same(live, learned)
	}
	return r.parted(live, learned)
}

// same compares where everybody stands in two worlds.
func (r *run) same(live, learned *performance) error {
	if live.stands() == learned.stands() {
		return nil
	}
	return r.parted(live, learned)
}

// parted says how a live execution went another way than the search took for
// granted: because the code is not deterministic, or because a server that was
// declared stateless keeps something. To tell these apart it is run again.
func (r *run) parted(live, learned *performance) error {
	if err := r.repeatedly(live); err != nil {
		return err
	}
	step := len(learned.steps)
	was, now := learned.stands(), live.stands()
	if r.sys.Stateless {
		return fmt.Errorf("%w: in step %d of an execution it went another way than the same request did alone.\nFor real:\n%sAlone:\n%s",
			ErrRefuted, step, now, was)
	}
	return fmt.Errorf("%w: in step %d of an execution it went another way than before.\nNow:\n%sBefore:\n%s%s",
		interleave.ErrNondeterministic, step, now, was, source(was, now, false))
}

// stands is a text of what everybody is doing, what is stored and what is
// broken.
func (p *performance) stands() string {
	var b strings.Builder
	all := p.snapshot()
	for _, s := range slices.Concat(all.Stands, all.Stores, all.Open) {
		fmt.Fprintf(&b, "  %s %s\n", s.Name, s.Text)
	}
	if property, message := p.verdict(); property != "" {
		fmt.Fprintf(&b, "  %s is broken: %s\n", property, message)
	}
	return b.String()
}
