package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"exactlyone/interleave"
)

// Verdict is how a check ended.
type Verdict string

// The verdicts.
const (
	Holds        Verdict = "holds"        // every behaviour within the bounds was tried, no property is broken
	Violated     Verdict = "violated"     // a property is broken
	Inconclusive Verdict = "inconclusive" // memory or the caller's patience ran out
	Vacuous      Verdict = "vacuous"      // nothing is broken, but something that was to be tested never happened
)

// Options say how to search. The zero value searches with every reduction, one
// worker a core, and up to 4 GiB for the states.
type Options struct {
	// Search is "exhaustive" (also ""), or how executions are drawn: "random"
	// (urw, pct and pos in turn), "urw", "pct", "pos", "walk", or "rapid", which
	// needs a Driver. An exhaustive search that runs out of memory falls over to
	// random.
	Search string
	// Driver draws and shrinks the executions of the search "rapid", one after
	// another; rapidsource.Driver makes one.
	Driver Driver
	// Executions is how many executions are drawn; 0 means 10,000, None means
	// until the context ends.
	Executions int

	// Reduction is "all" (also ""), "none" (every execution is followed to its
	// end), "visited" (only states seen before are not continued), or a list of
	// symmetry, crashes, clients, separated by commas.
	Reduction string
	Workers   int            // 0 means GOMAXPROCS
	Memory    int64          // bytes for the states; 0 means 4 GiB
	Seed      uint64         // of what is drawn, and of the executions that are run again for real
	Progress  func(Progress) // called now and then while searching; may be nil

	// Checkpoint is where the search is kept so that it can go on after it was
	// stopped, nil for nowhere.
	Checkpoint *Checkpoint

	// Test is a test in which the check runs: what code in a bubble draws from
	// crypto/rand is then the same in each run, unless the test is parallel. It
	// may be nil; Check needs none.
	Test testing.TB
}

// Progress is how far a search has got.
type Progress = interleave.Progress

// DefaultMemory is what the states may take if Options do not say.
const DefaultMemory = 4 << 30

// Result is what a check found.
type Result struct {
	Verdict   Verdict
	Why       string // inconclusive, vacuous: the reason
	System    string
	Bounds    Bounds
	Reduction string
	Isolation Isolation // of the stores, for reports, set by the caller who chose it; "" is not shown

	States     int   // distinct states
	Steps      int   // steps performed
	Executions int   // paths followed, each to its end or to a state seen before
	Ends       int   // distinct states in which an execution ends
	Depth      int   // inconclusive: longest path within the number of faults searched last
	Faults     int   // violated: in the story; inconclusive: searched when it stopped
	Queue      int   // inconclusive: states not continued
	Bytes      int64 // memory for the states
	Checked    int   // executions run again for real, to check what the search takes for granted

	Exercised     map[string]int // what happened, how often
	NotApplicable []string       // budgets with no place to strike
	Left          []string       // where goroutines wait for ever whose handler has returned
	JumpTargets   []string       // where the clock could jump
	Properties    []string       // what was judged: "name: claim"

	Part bool // it is a shard that has ended, and nothing is broken: the verdict is that of Merge

	Random *Random // executions that were drawn; nil if none were

	Story *Trace // violated: the smallest story
}

// Run tries every behaviour of a system within bounds. The error wraps
// [ErrUsage] for a system, bounds or options that cannot be used, and
// [interleave.ErrNondeterministic] or [ErrRefuted] for code that is not what
// the search takes it for. There is no result beside an error, but a violation
// whose fail file could not be written.
func Run(ctx context.Context, sys System, b Bounds, o Options) (*Result, error) {
	var result *Result
	err := guarded(func() (err error) {
		result, err = runHere(ctx, sys, b, o)
		return err
	})
	return result, err
}

func runHere(ctx context.Context, sys System, b Bounds, o Options) (*Result, error) {
	sys.seed(o.Test)
	named := b.named()
	b, err := b.withDefaults()
	if err != nil {
		return nil, err
	}
	r, err := newRun(ctx, sys, b, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	r.named = named
	if o.Checkpoint != nil {
		if err := r.openCheckpoint(); err != nil {
			return nil, err
		}
		defer r.keep.stop()
	}
	res, err := r.search()
	switch {
	case r.keep != nil && r.keep.err != nil:
		return nil, r.keep.err
	case err != nil && (res == nil || res.Story == nil):
		return nil, err
	}
	res.Left = r.sys.left.stacks
	return res, err
}

// newRun is a check about to begin. It must be closed.
func newRun(ctx context.Context, sys System, b Bounds, o Options) (*run, error) {
	prepared, err := sys.prepared()
	if err != nil {
		return nil, err
	}
	r := &run{ctx: ctx, o: o}
	if r.reduce, r.visited, err = parseReduction(o.Reduction); err != nil {
		return nil, err
	}
	if r.strategies, err = o.strategies(); err != nil {
		return nil, err
	}
	r.tables, err = newTables(prepared, b)
	if err != nil {
		return nil, err
	}
	if err := r.distinctOperations(); err != nil {
		r.close()
		return nil, err
	}
	r.cfg = interleave.Config{Workers: o.Workers, Memory: o.Memory, Progress: o.Progress, Samples: samples}
	if r.cfg.Memory == 0 {
		r.cfg.Memory = DefaultMemory
	}
	return r, nil
}

// search draws executions, or tries all.
func (r *run) search() (*Result, error) {
	switch {
	case r.o.Search == rapidSearch:
		return r.driven()
	case r.strategies != nil:
		return r.random()
	}
	return r.check()
}

// samples is how many executions of a search are run again for real.
const samples = 100

// parseReduction reads the option of that name.
func parseReduction(text string) (r reductions, visited bool, err error) {
	flags := map[string]*bool{
		"symmetry": &r.symmetry, "crashes": &r.crashes, "clients": &r.clients, "visited": &visited,
	}
	switch text {
	case "", "all":
		return reductions{true, true, true}, true, nil
	case "none":
		return reductions{}, false, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		flag, ok := flags[name]
		if !ok {
			return r, false, fmt.Errorf("%w: reduction %q: all, none, or some of visited, symmetry, crashes, clients was expected", ErrUsage, name)
		}
		*flag = true
	}
	return r, true, nil
}

// run is one check under way.
type run struct {
	*tables
	ctx context.Context
	cfg interleave.Config
	o   Options

	reduce     reductions
	visited    bool                  // states seen before are not continued
	strategies []interleave.Strategy // nil to try all

	named   []string      // budgets that the caller asked for
	learned *world        // see learnedWorld
	before  exercised     // what is no longer in the worlds
	keep    *checkpointer // nil if nothing is kept in a file
	merged  *merger       // nil if no shards are merged
}

func (r *run) check() (*Result, error) {
	w := newWorld(r.tables, r.reduce)
	var report interleave.Report
	cfg := r.cfg
	if r.keep != nil {
		r.keep.searching(&cfg)
	}
	switch {
	case r.merged != nil:
		var err error
		if report, err = r.merged.searched(); err != nil {
			return nil, err
		}
	case r.visited:
		report = interleave.Explore(r.ctx, cfg, w)
	default:
		report = interleave.Naive(r.ctx, r.cfg, w, false)
	}
	res := r.result(report)
	if report.Stop == interleave.Violation {
		res.Verdict = Violated
		return res, r.tell(res, report)
	}
	if err := r.runForReal(res, report.Samples); err != nil {
		return nil, err
	}
	switch {
	case report.Stop == interleave.Memory && r.keep.whole():
		res.Verdict = Inconclusive
		res.Why = fmt.Sprintf("the states took more than %s", byteText(r.cfg.Memory))
		return res, r.fallOver(res)
	case report.Stop == interleave.Memory:
		res.Verdict, res.Why = Inconclusive, fmt.Sprintf("the states took more than %s", byteText(r.cfg.Memory))
	case report.Stop == interleave.Cancelled:
		res.Verdict, res.Why = Inconclusive, r.cutShort()
	case !r.keep.whole():
		res.Verdict, res.Why, res.Part = Inconclusive, "nothing is broken in this part", true
	default:
		res.Verdict = Holds
		if res.Why = r.vacuous(res); res.Why != "" {
			res.Verdict = Vacuous
		}
	}
	r.part(res)
	return res, nil
}

// cutShort is why the context ended.
func (r *run) cutShort() string {
	if errors.Is(r.ctx.Err(), context.DeadlineExceeded) {
		return "time is up"
	}
	return "interrupted"
}

// result is the report in the user's terms.
func (r *run) result(report interleave.Report) *Result {
	res := &Result{
		System: r.sys.Name, Bounds: r.bounds, Reduction: r.o.Reduction,
		States: report.States, Steps: report.Steps, Executions: report.Executions(), Ends: report.Ends,
		Depth: report.Depth, Faults: report.Faults, Queue: report.Queue, Bytes: report.Bytes,
	}
	if res.Reduction == "" {
		res.Reduction = "all"
	}
	res.Exercised, res.NotApplicable = r.tally(report.Stop == interleave.Complete)
	for _, p := range r.props {
		res.Properties = append(res.Properties, p.Name+": "+p.Claim)
	}
	if r.bounds.Jumps > 0 {
		res.JumpTargets = r.jumpTexts()
	}
	return res
}

// total is all that was counted.
func (r *run) total() (sum exercised) {
	sum.add(r.before)
	for _, w := range r.worlds {
		sum.add(w.counted)
		sum.add(w.exercised)
	}
	return sum
}

// settle moves what the worlds have counted to what was counted before, and
// returns it.
func (r *run) settle() (counted exercised) {
	for _, w := range r.worlds {
		counted.add(w.counted)
		counted.add(w.exercised)
		w.counted, w.exercised = exercised{}, exercised{}
	}
	r.before.add(counted)
	return counted
}

// tally is what was exercised so far, and after a complete search the faults that
// found no place to strike.
func (r *run) tally(complete bool) (what map[string]int, notApplicable []string) {
	sum := r.total()
	for i, f := range faults {
		if f := f.about(&r.bounds); complete && *f.budget > 0 && sum.struck[i] == 0 {
			notApplicable = append(notApplicable, f.json)
		}
	}
	return sum.list(), notApplicable
}

// jumpTexts says where the clock could jump.
func (r *run) jumpTexts() []string {
	const beside = "1ms before, to, and 1ms past "
	all := []string{beside + "every time in a statement", beside + "the end of every wait"}
	for _, d := range r.sys.Durations {
		all = append(all, beside+"the end of "+d.String())
	}
	if len(r.sys.Durations) == 0 {
		for _, d := range ladder {
			all = append(all, "by "+d.String())
		}
	}
	return all
}

// vacuous says what should have happened and did not, "" if nothing.
func (r *run) vacuous(res *Result) string {
	for _, name := range res.NotApplicable {
		if slices.Contains(r.named, name) {
			return name + " found no place to strike"
		}
	}
	held := r.total().held
	for i, p := range r.props {
		if !p.Optional && held&(1<<(i%64)) == 0 {
			return fmt.Sprintf("%s was never put to the test: %s", p.Name, p.Claim)
		}
	}
	return ""
}

// tell makes the smallest story of a violation, by running it for real.
func (r *run) tell(res *Result, report interleave.Report) error {
	path, minimal := r.least(report)
	return r.tellPath(res, path, &Trace{Minimal: minimal})
}

// tellPath makes the story of an execution, by running it for real.
func (r *run) tellPath(res *Result, path []interleave.Action, frame *Trace) error {
	live := newLive(r.tables)
	p := newPerformance(live)
	if err := errors.Join(r.lockstep(p, path, nil), live.live.end()); err != nil {
		return err
	}
	if err := r.repeatedly(p); err != nil {
		return err
	}
	res.Story = p.trace(frame)
	res.Faults = res.Story.Faults
	res.Story.Need = necessary(r.learnedWorld(), path, res.Story)
	return nil
}

// least is the execution with the fewest switches and then steps among those
// with the fewest faults. If the search for it was cut short, it is the
// execution found first.
func (r *run) least(report interleave.Report) (path []interleave.Action, minimal bool) {
	w := r.shrinkWorld()
	// A search with states in order of faults knows how many it takes.
	from := report.Faults
	if r.o.Reduction == "none" {
		from = 0
	}
	for faults := from; faults <= report.Faults; faults++ {
		least := interleave.Minimal(r.ctx, r.cfg, w, faults)
		switch least.Stop {
		case interleave.Violation:
			return least.Path, true
		case interleave.Complete:
		default:
			return report.Path, false
		}
	}
	return report.Path, false
}

func byteText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d bytes", n)
}
