package exactlyone

import (
	"fmt"
	"strings"

	"exactlyone/interleave"
	"exactlyone/stats"
)

// Random is what drawing executions has shown.
type Random struct {
	Seed       uint64  `json:"seed"`
	Executions int     `json:"executions"` // drawn, up to the first that failed
	Steps      int     `json:"steps"`
	Longest    int     `json:"longest"` // steps of the longest one
	Strategies []Drawn `json:"strategies"`
	Outcomes   int     `json:"outcomes"` // distinct ends
	Once       int     `json:"once"`     // ends that were seen exactly once
	// Unseen estimates the chance that one more execution, drawn in the same way,
	// ends in a way that was not seen: the share of ends seen exactly once (Good,
	// "The Population Frequencies of Species and the Estimation of Population
	// Parameters", Biometrika 1953). It assumes that executions are independent
	// and equally distributed, and says nothing of executions that are never
	// drawn.
	Unseen float64 `json:"unseen"`
	// Pilot says that the violation was found while the strategies' parameters
	// were learned.
	Pilot bool `json:"pilot,omitempty"`

	// File is the fail file that a [Driver] wrote, "" for none. Again says that the
	// violation was found by trying again what such a file holds.
	File  string `json:"fail_file,omitempty"`
	Again bool   `json:"again,omitempty"`
}

// Drawn is how many executions a strategy has drawn, and how many of them
// failed.
type Drawn struct {
	Strategy   string `json:"strategy"`
	Executions int    `json:"executions"`
	Failed     int    `json:"failed"`

	// Bound is the chance, at most, that one more execution drawn in this way
	// fails: Clopper-Pearson, one-sided, with confidence 95 %. 0 means that there
	// is none: the number of executions was not fixed beforehand, or one failed.
	Bound float64 `json:"bound,omitempty"`
}

// boundAlpha is 1 minus the confidence of a bound.
const boundAlpha = 0.05

// defaultExecutions is how many executions are drawn if nobody says.
const defaultExecutions = 10_000

// searches are the ways to draw executions.
var searches = map[string][]interleave.Strategy{
	"random": {interleave.URW, interleave.PCT, interleave.POS},
	"urw":    {interleave.URW},
	"pct":    {interleave.PCT},
	"pos":    {interleave.POS},
	"walk":   {interleave.RandomWalk},
}

// Searches lists what Options.Search may be.
var Searches = []string{"exhaustive", "random", "urw", "pct", "pos", "walk", rapidSearch}

// strategies are those of a search, nil for one that has none of ours.
func (o Options) strategies() ([]interleave.Strategy, error) {
	switch o.Search {
	case "", "exhaustive":
		return nil, nil
	case rapidSearch:
		return nil, o.canDrive()
	}
	strategies, ok := searches[o.Search]
	if !ok {
		return nil, fmt.Errorf("%w: search %q: one of %s was expected", ErrUsage, o.Search, strings.Join(Searches, ", "))
	}
	return strategies, nil
}

// random draws executions instead of trying all.
func (r *run) random() (*Result, error) {
	res := r.result(interleave.Report{})
	var from starter
	switch {
	case r.keep != nil:
		from = r.keep
	case r.merged != nil:
		from = r.merged
	}
	if err := r.sample(res, r.strategies, from); err != nil {
		return nil, err
	}
	if res.Verdict == "" {
		res.Verdict, res.Why = Inconclusive, r.drawnText(res)
		res.Part = !r.keep.whole() && r.ctx.Err() == nil
		r.part(res)
	}
	return res, nil
}

// fixed says whether the number of executions was fixed before the first was drawn.
func (r *run) fixed() bool {
	return r.o.Executions != None && (r.merged == nil || r.merged.unended() == "")
}

// fallOver draws executions after an exhaustive search ran out of memory.
func (r *run) fallOver(res *Result) error {
	err := r.sample(res, searches["random"], nil)
	if err == nil && res.Verdict == Inconclusive {
		res.Why += "; then " + r.drawnText(res)
	}
	return err
}

func (r *run) drawnText(res *Result) string {
	text := fmt.Sprintf("%s drawn at random broke nothing", count(res.Random.Executions, "execution"))
	if r.ctx.Err() != nil {
		text = r.cutShort() + ": " + text
	}
	return text
}

// starter makes a search go on from where another has stopped.
type starter interface {
	sampling(cfg *interleave.SampleConfig)
	failed(broken uint32, path []interleave.Action) // in the pilot
}

// sample draws executions until one fails, and adds what came of it to a result.
// From says where the search begins, and what becomes of it; it may be nil.
func (r *run) sample(res *Result, strategies []interleave.Strategy, from starter) error {
	w := newWorld(r.tables, reductions{clients: r.reduce.clients})
	w.last = true
	out := &Random{Seed: r.o.Seed}
	res.Random = out
	learned, broken, path := interleave.Pilot(r.o.Seed, w)
	if broken != 0 {
		out.Pilot = true
		if from != nil {
			from.failed(broken, path)
		}
		return r.tellDrawn(res, broken, path)
	}
	r.settle()
	cfg := interleave.SampleConfig{
		Strategies: strategies, Executions: r.o.Executions, Seed: r.o.Seed, Workers: r.o.Workers, Learned: learned, Samples: samples,
	}
	switch cfg.Executions {
	case 0:
		cfg.Executions = defaultExecutions
	case None:
		cfg.Executions = 0
	}
	if r.o.Progress != nil {
		cfg.Progress = func(n int) { r.o.Progress(Progress{Executions: n}) }
	}
	if from != nil {
		from.sampling(&cfg)
	}
	report := interleave.Sample(r.ctx, cfg, w)
	out.Executions, out.Steps, out.Longest = report.Executions, report.Steps, report.Longest
	out.Outcomes, out.Once = report.Outcomes, report.Once
	out.Unseen = float64(report.Once) / float64(max(1, report.Executions))
	for _, d := range report.Drawn {
		share := Drawn{Strategy: d.Strategy.Name(), Executions: d.Executions, Failed: d.Failed}
		if report.Stop == interleave.Complete && d.Executions > 0 && r.fixed() {
			share.Bound = stats.Upper(0, d.Executions, boundAlpha)
		}
		out.Strategies = append(out.Strategies, share)
	}
	res.Exercised, res.NotApplicable = r.tally(false)
	if report.Broken != 0 {
		return r.tellDrawn(res, report.Broken, report.Path)
	}
	return r.runForReal(res, report.Samples)
}

// tellDrawn shrinks an execution that failed and makes its story.
func (r *run) tellDrawn(res *Result, broken uint32, path []interleave.Action) error {
	res.Verdict = Violated
	res.Exercised, res.NotApplicable = r.tally(false)
	shrunk, minimal := interleave.Shrink(r.ctx, r.shrinkWorld(), path, broken)
	return r.tellPath(res, shrunk, &Trace{Minimal: minimal, Milder: minimal, Shrunk: !minimal})
}

// shrinkWorld takes for one what a search for the least story may.
func (r *run) shrinkWorld() *world {
	w := newWorld(r.tables, reductions{symmetry: r.reduce.symmetry, clients: r.reduce.clients})
	w.last = true
	return w
}
