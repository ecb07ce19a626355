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

// roundLen is how many executions are drawn before anybody looks at them, at
// any number of workers: so a report does not depend on that number.
const roundLen = 2048

// Sample draws executions until one breaks a property. They are independent and,
// for each strategy, equally distributed.
func Sample(ctx context.Context, cfg SampleConfig, m Sampled) SampleReport {
	if cfg.Workers <= 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	if cfg.Source == nil {
		cfg.Source = func(i int) choice.Source { return choice.NewRandom(mixed(cfg.Seed, i)) }
	}
	s := &sampler{cfg: cfg, seen: map[Key]int{}}
	for range cfg.Workers {
		s.drawers = append(s.drawers, newDrawer(m.Fork(true).(Sampled), cfg.Learned))
	}
	for _, st := range cfg.Strategies {
		s.report.Drawn = append(s.report.Drawn, Drawn{Strategy: st})
	}
	for from := 0; s.report.Stop == ""; from += roundLen {
		n := roundLen
		if cfg.Executions > 0 {
			n = min(n, cfg.Executions-from)
		}
		s.round(ctx, from, n)
		switch {
		case s.report.Broken != 0:
			s.report.Stop = Violation
		case ctx.Err() != nil:
			s.report.Stop = Cancelled
		case s.report.Executions == cfg.Executions:
			s.report.Stop = Complete
		}
		if cfg.Progress != nil {
			cfg.Progress(s.report.Executions)
		}
	}
	s.report.Outcomes = len(s.seen)
	for _, n := range s.seen {
		if n == 1 {
			s.report.Once++
		}
	}
	return s.report
}

type sampler struct {
	cfg     SampleConfig
	drawers []*drawer
	seen    map[Key]int // ends, and how often each was seen
	report  SampleReport
}

// drawn is one execution.
type drawn struct {
	end    Key
	steps  int
	broken uint32
	path   []Action // if broken, or a sample
	ended  bool     // it was drawn at all
}

// round draws n executions. The first that fails is the last that counts.
func (s *sampler) round(ctx context.Context, from, n int) {
	all := make([]drawn, n)
	together(len(s.drawers), n, func(worker, i int) {
		if ctx.Err() != nil {
			return
		}
		d := s.drawers[worker]
		st := s.cfg.Strategies[(from+i)%len(s.cfg.Strategies)]
		d.draw(st, s.cfg.Source(from+i))
		all[i] = drawn{end: d.m.Key(d.v), steps: len(d.path), broken: d.broken, ended: true}
		if d.broken != 0 || from+i < s.cfg.Samples {
			all[i].path = slices.Clone(d.path)
		}
	})
	for i, e := range all {
		if !e.ended {
			return
		}
		s.report.Executions++
		share := &s.report.Drawn[(from+i)%len(s.report.Drawn)]
		share.Executions++
		s.report.Steps += e.steps
		s.report.Longest = max(s.report.Longest, e.steps)
		s.seen[e.end]++
		if from+i < s.cfg.Samples {
			s.report.Samples = append(s.report.Samples, e.path)
		}
		if e.broken != 0 {
			share.Failed++
			s.report.Broken, s.report.Path = e.broken, e.path
			return
		}
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
