package exactlyone

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"exactlyone/choice"
	"exactlyone/interleave"
	"exactlyone/stats"
)

// Driver draws the executions of a search with the help of another library, and
// shrinks what fails; see package rapidsource. It returns the name of the file
// that this library wrote for a failing execution, "" if it wrote none. If it
// returns an error although an execution failed, [Run] returns both.
type Driver func(context.Context, Drive) (file string, err error)

// Drive is what a [Driver] is to do.
type Drive struct {
	Name       string // of the system
	Executions int    // to draw
	Seed       uint64 // equal seeds draw the same

	// Execute follows one execution as the source says, and returns the number of
	// the property that is broken, from 1; 0 if none is. Executions count until the
	// first that fails, but for those that are not drawn: tried again from a file.
	// The last call that fails in the same way as the first is the shrunk one.
	// Where the search must end, Execute ends its goroutine (runtime.Goexit).
	Execute func(src choice.Source, drawn bool) (broken int)
}

// rapidSearch is the search whose executions rapid draws.
const rapidSearch = "rapid"

// driver is a search that a [Driver] drives.
type driver struct {
	run  *run
	w    *world
	d    driven
	out  *Random
	ends map[interleave.Key]int // how often each was seen
	some [][]interleave.Action  // the first paths

	broken  uint32              // by the first execution that failed
	path    []interleave.Action // of the last that failed like that
	res     *Result
	err     error // what is wrong with the code
	stopped bool
}

// driven draws executions with [Options.Driver].
func (r *run) driven() (*Result, error) {
	res := r.result(interleave.Report{})
	w := newWorld(r.tables, reductions{clients: r.reduce.clients})
	w.last = true
	d := &driver{run: r, w: w, res: res, out: &Random{Seed: r.o.Seed}, ends: map[interleave.Key]int{}}
	res.Random = d.out
	n := r.o.Executions
	switch n {
	case 0:
		n = defaultExecutions
	case None:
		n = math.MaxInt32
	}
	file, err := r.o.Driver(r.ctx, Drive{Name: r.sys.Name, Executions: n, Seed: r.o.Seed, Execute: d.execute})
	if d.err != nil || err != nil && d.broken == 0 {
		return nil, errors.Join(d.err, err)
	}
	d.count(r.o.Executions != None && !d.stopped)
	d.out.File = file
	if d.broken != 0 {
		res.Verdict = Violated
		if untold := r.tellPath(res, d.path, &Trace{Shrunk: true}); untold != nil {
			return nil, errors.Join(untold, err)
		}
		return res, err
	}
	res.Exercised, res.NotApplicable = r.tally(false)
	if err := r.runForReal(res, d.some); err != nil {
		return nil, err
	}
	res.Verdict, res.Why = Inconclusive, r.drawnText(res)
	return res, nil
}

// execute is [Drive.Execute].
func (d *driver) execute(src choice.Source, drawn bool) int {
	if d.stopped = d.stopped || d.run.ctx.Err() != nil; d.stopped {
		runtime.Goexit()
	}
	d.draw(src)
	switch {
	case d.broken != 0: // it is being shrunk
	case drawn:
		d.add()
		if n := d.out.Executions; d.run.o.Progress != nil && n%interleave.RoundLen == 0 {
			d.run.o.Progress(Progress{Executions: n})
		}
	case d.d.broken != 0:
		d.out.Again = true
	}
	if d.d.broken == 0 {
		return 0
	}
	if d.broken == 0 {
		d.broken = d.d.broken
		d.res.Exercised, d.res.NotApplicable = d.run.tally(false)
	}
	if d.d.broken == d.broken {
		d.path = append(d.path[:0], d.d.path...)
	}
	return int(d.d.broken)
}

// draw draws one execution. Code that is not what it was taken for ends the
// search: it must not pass for a finding.
func (d *driver) draw(src choice.Source) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		if err, ok := r.(error); ok && slices.ContainsFunc(codeFaults, func(f error) bool { return errors.Is(err, f) }) {
			d.err, d.stopped = explained(err), true
			runtime.Goexit()
		}
		panic(r)
	}()
	d.d.draw(d.w, src)
}

// add counts the execution just drawn.
func (d *driver) add() {
	d.out.Executions++
	d.out.Steps += len(d.d.path)
	d.out.Longest = max(d.out.Longest, len(d.d.path))
	d.ends[d.w.Stable(d.d.v)]++
	if len(d.some) < samples {
		d.some = append(d.some, slices.Clone(d.d.path))
	}
}

// count completes what was counted. There is a bound if the number of
// executions was fixed beforehand.
func (d *driver) count(fixed bool) {
	d.out.Outcomes = len(d.ends)
	for _, n := range d.ends {
		if n == 1 {
			d.out.Once++
		}
	}
	d.out.Unseen = float64(d.out.Once) / float64(max(1, d.out.Executions))
	share := Drawn{Strategy: rapidSearch, Executions: d.out.Executions}
	switch {
	case d.broken != 0 && !d.out.Again:
		share.Failed = 1
	case d.broken == 0 && fixed:
		share.Bound = stats.Upper(0, d.out.Executions, boundAlpha)
	}
	d.out.Strategies = []Drawn{share}
}

// canDrive says whether the options suit a search that a driver drives.
func (o Options) canDrive() error {
	switch {
	case o.Driver == nil:
		return fmt.Errorf("%w: search %s: Options.Driver was expected, such as rapidsource.Driver", ErrUsage, rapidSearch)
	case o.Checkpoint != nil:
		return fmt.Errorf("%w: search %s: it cannot be kept in a file or split into shards: rapid cannot go on from where it stopped", ErrUsage, rapidSearch)
	}
	return nil
}
