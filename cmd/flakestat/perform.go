package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"exactlyone/flake"
	"exactlyone/ingest"
	"exactlyone/internal/runner"
)

// keptBytes is how much of the output of a failing run is kept.
const keptBytes = 64 << 10

// performer makes single runs.
type performer struct {
	args           []string
	dir            string // for the folders of the runs
	guard          *runner.Guard
	seed           int64
	timeout, grace time.Duration
	reports        []string
}

// performed is a run that has ended.
type performed struct {
	number int
	at     time.Time
	seed   int64
	dir    string // its $FLAKESTAT_RUN_DIR
	result runner.Result
	output *printed
	files  []string // reports
	err    error    // the run could not be made
}

// perform runs the command once.
func (f *performer) perform(ctx context.Context, number int, at time.Time) (p performed) {
	p = performed{number: number, at: at, seed: runSeed(f.seed, number), dir: filepath.Join(f.dir, strconv.Itoa(number))}
	p.output = newPrinted(p.dir + ".json")
	defer func() { p.err = errors.Join(p.err, p.output.close()) }()
	if p.err = os.Mkdir(p.dir, 0o777); p.err != nil {
		return p
	}
	set := []string{
		"FLAKESTAT_RUN_DIR", p.dir, // before FLAKESTAT_RUN, of which it begins with the name
		"FLAKESTAT_RUN", strconv.Itoa(number),
		"FLAKESTAT_SEED", strconv.FormatInt(p.seed, 10),
	}
	c := runner.Command{Timeout: f.timeout, Grace: f.grace, Guard: f.guard}
	var names []string
	for i := 0; i < len(set); i += 2 {
		c.Env = append(c.Env, set[i]+"="+set[i+1])
		names = append(names, "${"+set[i]+"}", set[i+1], "$"+set[i], set[i+1])
	}
	expand := strings.NewReplacer(names...)
	for _, a := range f.args {
		c.Args = append(c.Args, expand.Replace(a))
	}
	c.Stdout, c.Stderr = p.output.stdout(), p.output.stderr()
	if p.result, p.err = runner.Run(ctx, c); p.err != nil {
		return p
	}
	p.files, p.err = f.written(p.dir)
	return p
}

// written are the reports in the folder of a run.
func (f *performer) written(dir string) ([]string, error) {
	var files []string
	for _, pattern := range f.reports {
		// A name without a wildcard is a pattern, too, which may match nothing.
		sources, err := ingest.Find(filepath.Join(dir, pattern))
		for _, s := range sources {
			files = append(files, s.Path)
		}
		if err != nil && len(sources) > 0 {
			return files, err
		}
	}
	return files, nil
}

// runSeed is the seed of a run, from 1 to 2^31-1, so that any test runner takes it: the
// output function of G. L. Steele et al., "Fast splittable pseudorandom number
// generators", OOPSLA 2014, of the campaign's seed and the number of the run.
func runSeed(seed int64, number int) int64 {
	x := uint64(seed) + uint64(number)*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return max(1, int64((x^x>>31)>>33))
}

// process is a run as it is stored, or a *flake.Broken.
func (p *performed) process(timeout time.Duration, expected, before bool) (flake.Process, error) {
	x := flake.Process{
		Number: p.number, Time: p.at, Seed: p.seed, Ended: p.result.String(), Failed: !p.result.OK(),
		TimedOut: p.result.How == runner.TimedOut, Output: p.output.text(),
	}
	if x.TimedOut {
		x.Ended = fmt.Sprintf("timed out after %s", timeout)
	}
	for _, path := range p.files {
		name := filepath.Base(path)
		if x.Failed && !readable(path) {
			continue // it was being written when the process died
		}
		x.Reports = append(x.Reports, flake.Written{Name: name, Open: func() (io.ReadCloser, error) { return ingest.Open(path, nil) }})
	}
	if events := p.output.events(); !expected && events != nil {
		x.Reports = append(x.Reports, flake.Written{Name: "output", Open: events})
	}
	if len(x.Reports) > 0 {
		return x, nil
	}
	if reason := p.noTest(x); reason != "" {
		return x, &flake.Broken{Reason: reason}
	}
	switch {
	case (before || expected) && x.Failed: // before it wrote one
		x.Missing = true
	case expected:
		return x, &flake.Broken{Reason: fmt.Sprintf("no report was written to $FLAKESTAT_RUN_DIR as --report names it (%s)", x.Ended)}
	case before:
		return x, &flake.Broken{Reason: "it printed no go test -json, as the runs before did"}
	}
	return x, nil
}

// noTest says why a run without report says nothing about tests; empty if it does.
func (p *performed) noTest(x flake.Process) string {
	switch {
	case p.output.cached != "":
		return "go took results from its cache, so nothing ran: add -count=1 (" + p.output.cached + ")"
	case !x.Failed || x.TimedOut:
		return ""
	case p.output.build != "":
		return "it does not build: " + p.output.build
	}
	switch p.result.Code {
	case 125:
		return "exit status 125, which says that this cannot be tested"
	case 126:
		return "exit status 126: a command could not be executed"
	case 127:
		return "exit status 127: a command was not found"
	}
	return ""
}

func readable(path string) bool {
	r, err := ingest.Open(path, nil)
	if err != nil {
		return false
	}
	defer func() { _ = r.Close() }()
	_, err = ingest.Read(r, path, func(ingest.Record) error { return nil })
	return err == nil
}

// remove removes what a run left in its folder.
func (p *performed) remove() {
	_ = os.RemoveAll(p.dir)
	_ = os.Remove(p.dir + ".json")
}

// brokenRun is a run that says nothing about tests.
type brokenRun struct {
	number         int
	reason, output string
}

func (b *brokenRun) Error() string { return fmt.Sprintf("run %d: %s", b.number, b.reason) }

// explain says what is wrong, with the end of what the command printed.
func (b *brokenRun) explain(stderr io.Writer, c *flake.Campaign) {
	var text bytes.Buffer
	fmt.Fprintf(&text, "flakestat: %s\n", b)
	const most = 20
	lines := strings.Split(strings.TrimRight(b.output, "\n"), "\n")
	for _, line := range lines[max(0, len(lines)-most):] {
		if line != "" {
			fmt.Fprintf(&text, "  %s\n", line)
		}
	}
	if n, _ := c.Runs(); n > 0 {
		fmt.Fprintf(&text, "flakestat: stopped; %s before it: stored\n", plural(n, "run"))
	}
	_, _ = stderr.Write(text.Bytes())
}
