package interleave

import (
	"context"
	"runtime"
	"slices"

	"exactlyone/choice"
)

// Sampled is a [Model] that says enough of its actions to draw executions.
type Sampled interface {
	Model
	// Stable tells the same states apart as Key does, and is the same in every
	// process.
	Stable(v []uint32) Key
	// Task is whose step an action is, -1 for nobody's.
	Task(a Action) int
	// Fault is which kind of fault an action is.
	Fault(a Action) int
	// Budgets is how many faults of each kind an execution may have.
	Budgets() []int
	// Racing says whether it may matter which of two steps of different tasks
	// comes first.
	Racing(v []uint32, a, b Action) bool
}

// MaxTasks is how many tasks a [Sampled] model may have.
const MaxTasks = 128

// SampleConfig says which executions to draw.
type SampleConfig struct {
	Strategies []Strategy // taken in turn
	Executions int        // to draw; 0 means until the context ends
	Seed       uint64
	Workers    int // 0 means GOMAXPROCS
	Learned    Learned
	Source     func(execution int) choice.Source // nil means choice.NewRandom
	Progress   func(executions int)              // called now and then; may be nil
	Samples    int                               // how many of the first paths to report

	// Shard of Shards: only executions whose number leaves the remainder Shard
	// when divided by Shards are drawn. 0 Shards are one.
	Shard, Shards int
	// From is where an earlier search stopped, nil for none; it is used up.
	From *Sampling
	// Round is called with how far the search has got after each round of
	// [RoundLen] executions, and before an unfinished round is counted; nil is not.
	Round func(*Sampling)
}

// Sampling is how far a search that draws executions has got.
type Sampling struct {
	Next   int // the execution to be drawn next, shards aside
	Report SampleReport
	Seen   map[Key]Twice // by [Sampled.Stable]
	Failed int           // the execution that failed, if any did
}

// Twice is the numbers of the first and the second execution with an end, -1 for
// none.
type Twice struct{ First, Second int }

// Add notes one more execution with that end.
func (t Twice) Add(execution int) Twice {
	switch {
	case t.First < 0 || execution < t.First:
		return Twice{execution, t.First}
	case t.Second < 0 || execution < t.Second:
		t.Second = execution
	}
	return t
}

// Drawn is one strategy's share of a [SampleReport].
type Drawn struct {
	Strategy   Strategy
	Executions int // drawn with it
	Failed     int // of them, 0 or 1: drawing stops at the first that fails
}

// SampleReport is what drawing executions has shown.
type SampleReport struct {
	Stop       Stop // Complete: as many as were asked for
	Executions int  // up to and with the one that failed
	Drawn      []Drawn
	Steps      int
	Longest    int      // steps of the longest execution
	Outcomes   int      // distinct ends
	Once       int      // ends that were seen exactly once
	Broken     uint32   // the property broken, 0 if none
	Path       []Action // of the execution that failed
	Samples    [][]Action
}

// Learned is what a pilot has shown of executions: the parameters of the
// strategies. It is frozen before the executions that count.
type Learned struct {
	Steps int           // of the longest execution, without faults
	Tasks [MaxTasks]int // mean steps of each task, in 1/16 steps
}

// pilotLen is how many executions a pilot draws.
const pilotLen = 64

// Pilot draws some executions at random and learns from them. Broken and Path
// are those of the first that failed, if any did.
func Pilot(seed uint64, m Sampled) (l Learned, broken uint32, path []Action) {
	d := newDrawer(m, Learned{Steps: 32})
	sums := [MaxTasks]int{}
	for i := range pilotLen {
		d.draw(RandomWalk, choice.NewRandom(mixed(seed, -1-i)))
		for t, n := range d.done {
			sums[t] += n
		}
		l.Steps = max(l.Steps, len(d.path))
		if d.broken != 0 && broken == 0 {
			broken, path = d.broken, slices.Clone(d.path)
		}
	}
	for t, n := range sums {
		l.Tasks[t] = n * 16 / pilotLen
	}
	return l, broken, path
}

// mixed is the seed of one execution.
func mixed(seed uint64, execution int) uint64 {
	return fold(seed^k0, uint64(execution)^k1)
}

// RoundLen is how many executions are drawn before anybody looks at them, at
// any number of workers: so a report does not depend on that number.
const RoundLen = 2048

// Sample draws executions until one breaks a property. They are independent and,
// for each strategy, equally distributed.
func Sample(ctx context.Context, cfg SampleConfig, m Sampled) SampleReport {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Source == nil {
		cfg.Source = func(i int) choice.Source { return choice.NewRandom(mixed(cfg.Seed, i)) }
	}
	cfg.Shards = max(1, cfg.Shards)
	s := &sampler{cfg: cfg, Sampling: cfg.From}
	if s.Sampling == nil {
		s.Sampling = &Sampling{Seen: map[Key]Twice{}}
		for _, st := range cfg.Strategies {
			s.Report.Drawn = append(s.Report.Drawn, Drawn{Strategy: st})
		}
	}
	s.Report.Stop = ""
	for range cfg.Workers {
		s.drawers = append(s.drawers, newDrawer(m.Fork(true).(Sampled), cfg.Learned))
	}
	for {
		switch {
		case s.Report.Broken != 0:
			s.Report.Stop = Violation
		case cfg.Executions > 0 && s.Next >= cfg.Executions:
			s.Report.Stop = Complete
		case s.cancelled:
			s.Report.Stop = Cancelled
		}
		if s.Report.Stop != "" {
			return s.end()
		}
		s.round(ctx)
		if cfg.Progress != nil {
			cfg.Progress(s.Report.Executions)
		}
	}
}

// end completes the report.
func (s *sampler) end() SampleReport {
	s.Report.Outcomes, s.Report.Once = len(s.Seen), 0
	for _, t := range s.Seen {
		if t.Second < 0 {
			s.Report.Once++
		}
	}
	return s.Report
}

type sampler struct {
	cfg     SampleConfig
	drawers []*drawer
	*Sampling
	cancelled bool // in the middle of a round
}

// drawn is one execution.
type drawn struct {
	end    Key
	steps  int
	broken uint32
	path   []Action // if broken, or a sample
	ended  bool     // it was drawn at all
}

// round draws the next executions. The first that fails is the last that counts.
func (s *sampler) round(ctx context.Context) {
	from, n := s.Next, RoundLen
	if s.cfg.Executions > 0 {
		n = min(n, s.cfg.Executions-from)
	}
	first := from + ((s.cfg.Shard-from)%s.cfg.Shards+s.cfg.Shards)%s.cfg.Shards
	all := make([]drawn, max(0, from+n-first+s.cfg.Shards-1)/s.cfg.Shards)
	together(len(s.drawers), len(all), func(worker, i int) {
		if ctx.Err() != nil {
			return
		}
		d, at := s.drawers[worker], first+i*s.cfg.Shards
		d.draw(s.cfg.Strategies[at%len(s.cfg.Strategies)], s.cfg.Source(at))
		all[i] = drawn{end: d.m.Stable(d.v), steps: len(d.path), broken: d.broken, ended: true}
		if d.broken != 0 || at < s.cfg.Samples {
			all[i].path = slices.Clone(d.path)
		}
	})
	whole := !slices.ContainsFunc(all, func(e drawn) bool { return !e.ended })
	if s.cancelled = !whole; s.cancelled && s.cfg.Round != nil {
		s.cfg.Round(s.Sampling)
	}
	for i, e := range all {
		if !e.ended {
			return
		}
		if s.count(first+i*s.cfg.Shards, e); e.broken != 0 {
			break
		}
	}
	if whole {
		s.Next += n
		if s.cfg.Round != nil {
			s.cfg.Round(s.Sampling)
		}
	}
}

// count adds one execution to the report.
func (s *sampler) count(at int, e drawn) {
	s.Report.Executions++
	share := &s.Report.Drawn[at%len(s.Report.Drawn)]
	share.Executions++
	s.Report.Steps += e.steps
	s.Report.Longest = max(s.Report.Longest, e.steps)
	seen, ok := s.Seen[e.end]
	if !ok {
		seen = Twice{-1, -1}
	}
	s.Seen[e.end] = seen.Add(at)
	if at < s.cfg.Samples {
		s.Report.Samples = append(s.Report.Samples, e.path)
	}
	if e.broken != 0 {
		share.Failed++
		s.Failed, s.Report.Broken, s.Report.Path = at, e.broken, e.path
	}
}

// drawer draws one execution after another.
type drawer struct {
	m       Sampled
	learned Learned
	budgets []int

	src     choice.Source
	v, next []uint32
	acts    []Action
	steps   []Action // of acts, those that are no faults
	some    []Action
	path    []Action
	done    [MaxTasks]int // steps of each task
	broken  uint32
	plan    []planned
	pct     pct
	pos     pos
}

// planned is a fault that strikes as soon as it can from a step on.
type planned struct{ kind, from int }

func newDrawer(m Sampled, l Learned) *drawer {
	return &drawer{
		m: m, learned: l, budgets: m.Budgets(),
		v: make([]uint32, m.Width()), next: make([]uint32, m.Width()),
	}
}

// draw follows one execution to its end, or until a property is broken.
func (d *drawer) draw(st Strategy, src choice.Source) {
	d.src, d.path, d.broken, d.done = src, d.path[:0], 0, [MaxTasks]int{}
	d.planFaults()
	st.begin(d)
	d.m.Start(d.v)
	for d.broken == 0 {
		d.acts = d.m.Enabled(d.v, d.acts[:0])
		d.steps = d.acts
		if i := slices.IndexFunc(d.acts, Action.Fault); i >= 0 {
			d.steps = d.acts[:i]
		}
		a, ok := d.fault()
		switch {
		case ok:
		case len(d.steps) == 0:
			d.broken = d.m.End(d.v)
			return
		default:
			a = st.choose(d)
		}
		if t := d.m.Task(a); t >= 0 && !a.Fault() {
			d.done[t]++
		}
		d.path = append(d.path, a)
		d.broken = d.m.Apply(d.v, a, d.next)
		d.v, d.next = d.next, d.v
		if len(d.path) > MaxHistory {
			return // it goes on and on; exhaustive search says where
		}
	}
}

// planFaults draws how many faults there will be, which, and from when on.
func (d *drawer) planFaults() {
	d.plan = d.plan[:0]
	var units []int
	for kind, n := range d.budgets {
		for range n {
			units = append(units, kind)
		}
	}
	if len(units) == 0 {
		return
	}
	for n := d.src.Choose(len(units)+1, "faults"); n > 0; n-- {
		i := d.src.Choose(len(units), "fault")
		d.plan = append(d.plan, planned{units[i], d.src.Choose(max(1, d.learned.Steps), "fault at")})
		units = slices.Delete(units, i, i+1)
	}
}

// fault is a planned fault that can strike now.
func (d *drawer) fault() (Action, bool) {
	for i, p := range d.plan {
		if p.from > len(d.path) {
			continue
		}
		d.some = d.some[:0]
		for _, a := range d.acts[len(d.steps):] {
			if d.m.Fault(a) == p.kind {
				d.some = append(d.some, a)
			}
		}
		if len(d.some) > 0 {
			d.plan = slices.Delete(d.plan, i, i+1)
			return d.some[d.src.Choose(len(d.some), "where")], true
		}
	}
	return 0, false
}

// ofTask draws one of the steps that a task can take now.
func (d *drawer) ofTask(task int) Action {
	d.some = d.some[:0]
	for _, a := range d.steps {
		if d.taskOf(a) == task {
			d.some = append(d.some, a)
		}
	}
	if len(d.some) == 1 {
		return d.some[0]
	}
	return d.some[d.src.Choose(len(d.some), "variant")]
}

// taskOf numbers the tasks from 0; what is nobody's is the last one's.
func (d *drawer) taskOf(a Action) int {
	if t := d.m.Task(a); t >= 0 {
		return t
	}
	return MaxTasks - 1
}

// ready lists the tasks that can take a step now, each once, in order.
func (d *drawer) ready(buf []int) []int {
	for _, a := range d.steps {
		if t := d.taskOf(a); !slices.Contains(buf, t) {
			buf = append(buf, t)
		}
	}
	return buf
}
