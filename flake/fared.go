package flake

import (
	"cmp"
	"fmt"

	"exactlyone/ingest"
)

// fared notes, while a run is stored, how its tests fared.
type fared struct {
	timedOut bool
	running  []ingest.Record // when time was up; they are stored last
	of       map[ingest.Test]*Outcome
	order    []ingest.Test // of their first record
}

func newFared(p Process) *fared {
	return &fared{timedOut: p.TimedOut, of: map[ingest.Test]*Outcome{}}
}

// keeps says whether a record is to be stored now.
func (f *fared) keeps(r ingest.Record) bool {
	if f == nil {
		return true
	}
	if f.timedOut && r.Outcome == ingest.Unfinished && !r.Waiting {
		f.running = append(f.running, r)
		return false
	}
	if r.Attempt > 0 || r.Outcome == ingest.Skip || r.Waiting {
		return true // it says nothing
	}
	o := f.of[r.Test]
	if o == nil {
		o = new(Outcome)
		f.of[r.Test] = o
		f.order = append(f.order, r.Test)
	}
	o.Failed = o.Failed || r.Outcome == ingest.Fail
	o.Unfinished = o.Unfinished || r.Outcome == ingest.Unfinished
	return true
}

// outcomes are those of the tests, then of suites and of the command where no test explains
// that they failed.
func (r *Recorder) outcomes(a *adder, p Process) ([]Outcome, error) {
	sum, f := &a.out.Summary, a.fared
	for _, s := range sum.Sessions {
		if s.Cached {
			return nil, &Broken{fmt.Sprintf("go took the results of %s from its cache, so nothing ran: add -count=1", s.Suite)}
		}
	}
	var list []Outcome
	bad := map[string]bool{} // suites
	for _, test := range f.order {
		o := *f.of[test]
		o.Identity = Identity{test.Suite, test.Class, test.Name, r.labels}
		o.Unfinished = o.Unfinished && !o.Failed
		bad[test.Suite] = bad[test.Suite] || o.Failed || o.Unfinished
		list = append(list, o)
	}
	failed := false
	for _, is := range bad {
		failed = failed || is
	}
	for _, x := range sum.SuiteFailures {
		if x.Reason == ingest.ReasonBuild || x.Reason == ingest.ReasonSetup {
			return nil, &Broken{cmp.Or(x.Suite, "the package") + " does not build"}
		}
		if !bad[x.Suite] {
			bad[x.Suite], failed = true, true
			list = append(list, r.whole(x.Suite))
		}
	}
	if p.Failed && !failed {
		reason := ingest.ReasonExit
		if p.TimedOut {
			reason = ingest.ReasonTimeout
		}
		sum.SuiteFailures = append(sum.SuiteFailures, ingest.SuiteFailure{Suite: r.Name, Reason: reason})
		list = append(list, r.whole(r.Name))
	}
	if len(list) == 0 {
		return nil, &Broken{"no test ran"}
	}
	return list, nil
}

func (r *Recorder) whole(suite string) Outcome {
	return Outcome{Subject: Subject{Identity{Suite: suite, Name: suite, Labels: r.labels}, true}, Failed: true}
}
