package exactlyone

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"exactlyone/choice"
	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

var (
	programsFlag = flag.Int("programs", 2000, "how many random programs TestDifferential compares")
	seedFlag     = flag.Int("seed", 1, "the first program's seed")
	levelFlag    = flag.String("isolation", "", "the level at which all programs run, instead of each at its own")
	capFlag      = flag.Int("cap", 500, "the largest number of executions that TestDifferential follows one by one")
)

// facts is what a search found out about a program: everything that is compared.
type facts struct {
	ends       map[string]*ending // by all that is in it
	first      story              // a violation with the fewest faults, switches and steps; faults is -1 if nothing breaks
	executions int
	states     int

	// For each property, the faults in the execution with fewest that breaks
	// it and none before it in the list; -1 if none does.
	least []int

	known    map[string]*ending // ends by the numbers of all that is in them
	verdicts map[string]int
}

// story is the measure of a violation: fewer faults count most, then fewer
// context switches, then fewer steps.
type story struct{ faults, switches, steps int }

func (s story) less(o story) bool {
	return cmp.Or(cmp.Compare(s.faults, o.faults), cmp.Compare(s.switches, o.switches), cmp.Compare(s.steps, o.steps)) < 0
}

func newFacts(properties int) *facts {
	f := &facts{
		ends: map[string]*ending{}, first: story{faults: -1},
		known: map[string]*ending{}, verdicts: map[string]int{},
	}
	for range properties {
		f.least = append(f.least, -1)
	}
	return f
}

// judge looks at a state, knowing what it took to come there. It asks the
// properties itself, in every state, whether anything changed or not.
func (f *facts) judge(w *world, v []uint32, s story, end bool) {
	stuck := ""
	if end {
		stuck = w.waitsForEver(v)
	}
	key := fmt.Sprint(v[atProps], w.shared(v), v[atFacts], end, stuck)
	i, ok := f.verdicts[key]
	if !ok {
		state := w.values.Value(v[atProps]).(*props.State)
		i = state.Judge(props.View{Effects: effectsOf(w, v), End: end, Stuck: stuck, Facts: props.Fact(v[atFacts])}).Broken
		f.verdicts[key] = i
	}
	if i < 0 {
		return
	}
	if f.least[i] < 0 || s.faults < f.least[i] {
		f.least[i] = s.faults
	}
	if f.first.faults < 0 || s.less(f.first) {
		f.first = s
	}
}

// effectsOf reads the effects from the stores, each with its operation.
func effectsOf(w *world, v []uint32) []model.Effect {
	var c Contents
	for i, id := range w.shared(v) {
		c.names = append(c.names, w.sys.Stores[i].Name)
		c.states = append(c.states, w.values.Value(id).(State))
	}
	all := w.sys.Effects(c)
	for i, e := range all {
		for n := 0; n < w.clients && all[i].Operation == ""; n++ {
			if op := w.sys.Client(n).Operation; op.Body == e.Body {
				all[i].Operation = cmp.Or(op.Name, "the operation")
			}
		}
	}
	return all
}

// follower is a world that never stops at a broken property but notes all that
// comes by.
type follower struct {
	*world
	f     *facts
	exact bool
	s     story // of the execution followed now; only Walk keeps to one execution

	limit, ended, visited int // 0 means no limit to what is ended and visited
}

func (w *follower) Enabled(v []uint32, buf []interleave.Action) []interleave.Action {
	if w.limit > 0 && max(w.ended, w.visited) >= w.limit {
		return buf[:0]
	}
	return w.world.Enabled(v, buf)
}

func (w *follower) Key(v []uint32) interleave.Key {
	if w.exact {
		return interleave.HashKey(interleave.Key{}, v)
	}
	return w.world.Key(v)
}

func (w *follower) Apply(v []uint32, a interleave.Action, next []uint32) uint32 {
	if a.Fault() {
		w.s.faults++
	}
	if w.last && w.Switch(v, a) {
		w.s.switches++
	}
	w.s.steps++
	w.world.Apply(v, a, next)
	w.f.judge(w.world, next, w.measure(next), false)
	return 0
}

func (w *follower) End(v []uint32) uint32 {
	w.ended++
	s := w.measure(v)
	w.f.judge(w.world, v, s, true)
	w.f.end(w.world, v, s)
	return 0
}

// measure is what it took to come to v: exactly, where one execution is
// followed, else only the faults, which the budgets tell.
func (w *follower) measure(v []uint32) story {
	if w.live != nil {
		return w.s
	}
	var s story
	full := budgetWords(w.bounds)
	for b := range budgets {
		s.faults += int(full[b/4]>>(8*(b%4))&0xff) - left(v, b)
	}
	return s
}

// errTooLarge is a program with more executions than can be followed.
var errTooLarge = errors.New("too many executions")

// naively follows every execution of a program from its start to its end,
// running the code anew each time: nothing is remembered from one to the next
// but what came out.
func naively(p *program, limit int) (*facts, error) {
	t, err := newTables(p.system(), p.bounds)
	if err != nil {
		return nil, err
	}
	f := newFacts(len(t.props))
	for e := new(choice.Exhaustive); e.Next(); {
		if f.executions++; f.executions > limit {
			return f, errTooLarge
		}
		w := &follower{world: newLive(t), f: f}
		interleave.Walk(w, e, func([]uint32, []interleave.Action) string { return "next" })
		if err := w.live.end(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// allReductions is none, each alone, and all at once.
var allReductions = []reductions{
	{},
	{symmetry: true},
	{crashes: true},
	{clients: true},
	{symmetry: true, crashes: true, clients: true},
}

// exact is a world that takes no two states for one another: their keys are all
// that is in them.
type exact struct{ *world }

func (w exact) Key(v []uint32) interleave.Key   { return interleave.HashKey(interleave.Key{}, v) }
func (w exact) Fork(last bool) interleave.Model { return exact{w.world.Fork(last).(*world)} }

// searched is what the search says about a program.
func searched(t *tables, reduce reductions, exactly bool) (*facts, error) {
	ctx, cfg := context.Background(), interleave.Config{Workers: 1}
	w := newWorld(t, reduce)
	f := newFacts(len(t.props))
	var m interleave.Model = w
	if exactly {
		m = exact{w}
	}
	all := interleave.Explore(ctx, cfg, &follower{world: w, f: f, exact: exactly})
	f.states, f.executions = all.States, all.Executions()
	if all.Stop != interleave.Complete {
		return nil, fmt.Errorf("the search stopped: %s", all.Stop)
	}
	first := f.first.faults
	f.first = story{faults: -1}
	found := interleave.Explore(ctx, cfg, m)
	if broken := found.Stop == interleave.Violation; broken != (first >= 0) || broken && found.Faults != first {
		return nil, fmt.Errorf("the search says %s with %d faults, its own states are broken with %d", found.Stop, found.Faults, first)
	}
	if first < 0 {
		return f, nil
	}
	if err := replayed(t, found); err != nil {
		return nil, fmt.Errorf("the violation that was found: %w", err)
	}
	least := interleave.Minimal(ctx, cfg, m.Fork(true), first)
	if least.Stop != interleave.Violation {
		return nil, fmt.Errorf("Minimal found nothing with %d faults", first)
	}
	if err := replayed(t, least); err != nil {
		return nil, fmt.Errorf("the minimal violation: %w", err)
	}
	f.first = measured(t, least.Path)
	return f, nil
}

// replayed runs the story of a report for real.
func replayed(t *tables, r interleave.Report) error {
	w := newLive(t)
	defer w.live.end()
	v, next := make([]uint32, w.width), make([]uint32, w.width)
	w.Start(v)
	var broken uint32
	for i, a := range r.Path {
		if !slices.Contains(w.Enabled(v, nil), a) || broken != 0 {
			return fmt.Errorf("action %d of %d cannot happen", i+1, len(r.Path))
		}
		broken = w.Apply(v, a, next)
		v, next = next, v
	}
	if broken == 0 {
		broken = w.End(v)
	}
	if broken != r.Broken {
		return fmt.Errorf("property %d is broken, not %d", broken, r.Broken)
	}
	return nil
}

// measured counts the faults, switches and steps of a path.
func measured(t *tables, path []interleave.Action) story {
	w := &follower{world: newLive(t), f: newFacts(len(t.props))}
	defer w.live.end()
	v, next := make([]uint32, w.width), make([]uint32, w.width)
	w.Start(v)
	for _, a := range path {
		w.Apply(v, a, next)
		v, next = next, v
	}
	return w.s
}

// TestDifferential compares the search, without any reduction, with each alone
// and with all of them, with every execution of thousands of random programs:
// the ends must be the same, the verdicts, the faults that it takes, and the
// measure of the minimal violation; and every violation found must replay.
func TestDifferential(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	programs := *programsFlag
	if testing.Short() {
		programs = min(programs, 100) // the race detector makes coroutines slow
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	tallies := make([]tally, runtime.GOMAXPROCS(0))
	for i := range tallies {
		wg.Go(func() {
			for n := int(next.Add(1)) - 1; n < programs && !t.Failed(); n = int(next.Add(1)) - 1 {
				compareSeed(t, uint64(*seedFlag+n), &tallies[i])
			}
		})
	}
	wg.Wait()
	total := tally{}
	for _, one := range tallies {
		total.add(one)
	}
	t.Log(total)
	if programs >= 1000 && !t.Failed() {
		total.check(t)
	}
}

// TestProgramsOnce compares programs that a search with other reductions once
// failed on.
func TestProgramsOnce(t *testing.T) {
	taking := &program{ // a jump that was left out before a sleep made the smallest story longer
		stores: 1, epoch: clock.Epoch, large: true, confined: 1, same: true, opaque: true,
		key: model.KeyPerAttempt, backoff: time.Second,
		bounds: Bounds{Clients: 2, Attempts: 1, Nodes: 1, Jumps: 2}, durations: []time.Duration{10 * time.Second},
		script: []instr{
			{do: "id"},
			{do: "id"},
			{do: "now"},
			{do: "take", row: "a", val: "me"},
			{do: "if", val: "!flag", n: 1},
			{do: "answer", val: "me", n: 200},
			{do: "sleep", n: 10},
			{do: "effect", val: "body"},
		},
	}
	taking.makeClients()
	var count tally
	if _, err := compareProgram(taking, &count); err != nil {
		t.Errorf("%v\n%s", err, taking)
	}
	if count.unreduced+count.programs != 1 {
		t.Error("the program was too large to be compared")
	}
}
