package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"exactlyone/flake"
	"exactlyone/ingest"
)

// ingestFlags are the flags of ingest.
type ingestFlags struct {
	store, rev, runID, time, format string
	labels                          []string
	planned                         int
	sequential, dryRun              bool
	prior                           float64
}

func newIngest() *cobra.Command {
	f := new(ingestFlags)
	cmd := &cobra.Command{
		Use:   "ingest PATH...",
		Short: "Store what test reports count",
		Long: `Ingest reads reports and stores what they count: go test -json, JUnit XML, TAP 13
and 14, CTRF. The format is told by the content. PATH is a file, a directory, a
pattern such as 'out/**/*.xml', or - for standard input; files may be gzipped.

A report counts once, by its content and labels, however often it is given. If another run
wrote the very same report, as TAP without times does whenever all tests pass, tell
the two apart with --run-id; {file} in it stands for the path of the report.
Otherwise passes are lost and rates come out too high.

Say how the runs were gathered if their number was fixed beforehand: --planned 299
means that each test was to run 299 times in all. Without it the number counts as
unplanned, and bounds are the wider ones that hold at any number.

A report that cannot be read is named on standard error and stores nothing; the
others are stored. Exit status: 0 all were read, 2 one was not, 3 interrupted.`,
		Example: `  go test -json -count=20 ./... | flakestat ingest -
  flakestat ingest build/test-results --label os=linux --rev v1.2
  flakestat ingest 'out/**/*.xml' --run-id "$CI_JOB_ID"
  flakestat ingest report.json --planned 299
  flakestat ingest --dry-run --format json report.xml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("a PATH was expected (- for standard input); see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: f.run,
	}
	fl := cmd.Flags()
	storeFlag(cmd, &f.store)
	fl.StringVar(&f.rev, "rev", "", "revision under test (default: HEAD of git)")
	fl.StringVar(&f.runID, "run-id", "", "tells an identical report of another run from the same report; {file} is its path")
	fl.StringArrayVar(&f.labels, "label", nil, "key=value, a part of the identity of the tests; may be given several times")
	fl.StringVar(&f.time, "time", "", "time of the runs (default: from the report, or now)")
	fl.IntVar(&f.planned, "planned", 0, "runs of each test, fixed before the first")
	fl.BoolVar(&f.sequential, "sequential", false, "somebody looked at the results and went on until pleased")
	fl.Float64Var(&f.prior, "prior-rate", flake.DefaultPriorRate, "of a new store: the rate at which anytime bounds are narrow")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the counts of each report and store nothing")
	formatFlag(cmd, &f.format, "text", "json")
	return cmd
}

// gathering checks the flags.
func (f *ingestFlags) gathering(cmd *cobra.Command) (flake.Gathering, error) {
	g := flake.Gathering{RunID: f.runID, Labels: f.labels, How: flake.Imported, Planned: f.planned}
	if _, err := flake.JoinLabels(f.labels); err != nil {
		return g, fmt.Errorf("--label: %w", err)
	}
	if err := between("prior-rate", f.prior); err != nil {
		return g, err
	}
	switch {
	case cmd.Flags().Changed("planned") && (f.planned < 1 || f.planned > maxRuns):
		return g, fmt.Errorf("--planned %d: 1 to %d runs was expected", f.planned, maxRuns)
	case f.planned > 0 && f.sequential:
		return g, errors.New("--planned and --sequential: one of them was expected")
	case f.planned > 0:
		g.How = flake.Planned
	case f.sequential:
		g.How = flake.Sequential
	}
	var err error
	if g.Time, err = moment("time", f.time); err != nil {
		return g, err
	}
	g.TimeKnown = f.time != ""
	if !g.TimeKnown {
		g.Time = now()
	}
	g.Revision = revision(cmd, f.rev)
	return g, nil
}

func (f *ingestFlags) run(cmd *cobra.Command, args []string) error {
	g, err := f.gathering(cmd)
	if err != nil {
		return err
	}
	sources, missing := ingest.Find(args...)
	if len(sources) == 0 && missing != nil {
		return missing
	}
	for line := range strings.Lines(errorText(missing)) {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "flakestat: %s\n", strings.TrimPrefix(strings.TrimSpace(line), "ingest: "))
	}
	if f.dryRun {
		return f.count(cmd, sources, missing != nil)
	}
	store, err := flake.Open(cmd.Context(), f.store, flake.Options{Create: true, PriorRate: f.prior})
	if err != nil {
		return err
	}
	in := &intake{cmd: cmd, store: store, gathering: g, text: f.format == "text", bad: missing != nil}
	err = in.all(sources)
	err = errors.Join(err, store.Close())
	if f.format == "json" {
		err = errors.Join(err, writeJSON(cmd.OutOrStdout(), struct {
			Store   string   `json:"store"`
			Reports []stored `json:"reports"`
		}{f.store, append([]stored{}, in.done...)}))
	}
	if err == nil && in.bad {
		return exit(exitUsage)
	}
	return err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// plainPath is one way to write a path: relative to the working directory if it is
// below it.
func plainPath(path string) string {
	if path == "-" {
		return path
	}
	path = filepath.Clean(path)
	if dir, err := os.Getwd(); err == nil && filepath.IsAbs(path) {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// open opens a report. It gives up when the command is interrupted, though what it
// opens, such as a pipe without a writer, may never answer.
func open(cmd *cobra.Command, source ingest.Source) (io.ReadCloser, error) {
	type opened struct {
		r   io.ReadCloser
		err error
	}
	done := make(chan opened, 1)
	go func() {
		r, err := ingest.Open(source.Path, &interruptible{ctx: cmd.Context(), from: cmd.InOrStdin()})
		done <- opened{r, err}
	}()
	select {
	case o := <-done:
		return o.r, o.err
	case <-cmd.Context().Done():
		return nil, cmd.Context().Err()
	}
}

// stored is what became of one report.
type stored struct {
	File       string               `json:"file"`
	Format     ingest.Format        `json:"format,omitempty"`
	Outcome    string               `json:"outcome"` // stored, known, skipped or error
	Error      string               `json:"error,omitempty"`
	Tests      int                  `json:"tests"`
	Runs       int                  `json:"runs"`
	Failures   int                  `json:"failures"`
	Retries    int                  `json:"retries"`
	Skips      int                  `json:"skips"`
	Unfinished int                  `json:"unfinished"`
	Warnings   []ingest.WarningKind `json:"warnings,omitempty"`
}

// intake stores reports one after the other.
type intake struct {
	cmd       *cobra.Command
	store     *flake.Store
	gathering flake.Gathering
	text      bool
	meter     meter
	done      []stored
	bad       bool
}

func (in *intake) all(sources []ingest.Source) error {
	progress := newProgress(in.cmd.ErrOrStderr())
	defer progress.clear()
	for i, source := range sources {
		in.meter = meter{show: func(bytes int64) {
			progress.show("%d of %s: %s, %.1f MB read", i+1, plural(len(sources), "report"), source.Path, float64(bytes)/1e6)
		}}
		g := in.gathering
		g.RunID = strings.ReplaceAll(g.RunID, "{file}", plainPath(source.Path))
		s, err := in.one(source, g)
		progress.clear()
		if err != nil {
			return err
		}
		in.done = append(in.done, s)
		if err := in.print(s); errors.Is(err, syscall.EPIPE) {
			in.text = false // nobody reads on; what is to be stored is stored
		} else if err != nil {
			return err
		}
	}
	return in.sum()
}

// one stores a report. The error is one that ends the command.
func (in *intake) one(source ingest.Source, g flake.Gathering) (stored, error) {
	s := stored{File: source.Path}
	r, err := open(in.cmd, source)
	if in.cmd.Context().Err() != nil {
		return s, in.cmd.Context().Err()
	}
	if err != nil {
		return in.failed(s, err), nil
	}
	in.meter.from = r
	got, err := in.store.Ingest(in.cmd.Context(), &in.meter, source.Path, g)
	err = errors.Join(err, r.Close())
	var bad *ingest.Error
	switch {
	case in.cmd.Context().Err() != nil:
		return s, in.cmd.Context().Err()
	case errors.As(err, &bad) && bad.Kind == ingest.KindNotAReport && source.Found:
		s.Outcome = "skipped"
		return s, nil
	case errors.As(err, &bad):
		return in.failed(s, bad), nil
	case err != nil:
		return s, err
	}
	s.Format, s.Outcome = got.Summary.Format, "stored"
	if got.Known {
		s.Outcome = "known"
	}
	s.Tests, s.Runs, s.Failures, s.Retries, s.Skips, s.Unfinished = got.Tests, got.Runs, got.Failures, got.Retries, got.Skip, got.Unfinished
	for _, w := range got.Summary.Warnings {
		s.Warnings = append(s.Warnings, w.Kind)
	}
	return s, nil
}

// meter shows how much has been read.
type meter struct {
	from  io.Reader
	bytes int64
	show  func(bytes int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.from.Read(p)
	m.bytes += int64(n)
	m.show(m.bytes)
	return n, err
}

func (in *intake) failed(s stored, err error) stored {
	in.bad = true
	s.Outcome, s.Error = "error", strings.TrimPrefix(err.Error(), "ingest: ")
	_, _ = fmt.Fprintf(in.cmd.ErrOrStderr(), "flakestat: %s\n", s.Error)
	return s
}

func (in *intake) print(s stored) error {
	if !in.text || s.Outcome == "error" {
		return nil
	}
	var line strings.Builder
	line.WriteString(s.File + ": ")
	switch s.Outcome {
	case "known":
		line.WriteString("known already, counted once (--run-id tells another run from it)")
	case "skipped":
		line.WriteString("no report, skipped")
	default:
		fmt.Fprintf(&line, "%s, %s of %s, %d failed", s.Format, plural(s.Runs, "run"), plural(s.Tests, "test"), s.Failures)
		for _, more := range []struct {
			n    int
			what string
		}{{s.Retries, "retries"}, {s.Skips, "skipped"}, {s.Unfinished, "unfinished"}} {
			if more.n > 0 {
				fmt.Fprintf(&line, ", %d %s", more.n, more.what)
			}
		}
	}
	if len(s.Warnings) > 0 && s.Outcome == "stored" {
		line.WriteString("; " + warnings(s.Warnings))
	}
	_, err := fmt.Fprintln(in.cmd.OutOrStdout(), line.String())
	return err
}

func warnings(kinds []ingest.WarningKind) string {
	var words []string
	for _, k := range kinds {
		words = append(words, strings.ReplaceAll(string(k), "_", " "))
	}
	return "warning: " + strings.Join(words, ", ")
}

// sum prints a line about several reports.
func (in *intake) sum() error {
	if !in.text || len(in.done) < 2 {
		return nil
	}
	n := map[string]int{}
	for _, s := range in.done {
		n[s.Outcome]++
	}
	var line strings.Builder
	line.WriteString(plural(n["stored"], "report") + " stored")
	for _, what := range []string{"known", "skipped", "error"} {
		if n[what] > 0 {
			fmt.Fprintf(&line, ", %d %s", n[what], map[string]string{"known": "known already", "skipped": "skipped", "error": "not read"}[what])
		}
	}
	if n["known"] > 0 {
		line.WriteString(" (were those of other runs, use --run-id {file})")
	}
	_, err := fmt.Fprintln(in.cmd.OutOrStdout(), line.String())
	return err
}

// count prints what each report counts and stores nothing.
func (f *ingestFlags) count(cmd *cobra.Command, sources []ingest.Source, bad bool) error {
	list := ingest.CountsList{Schema: 1, Cases: []ingest.Counts{}}
	for _, source := range sources {
		r, err := open(cmd, source)
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		if err != nil {
			bad = true
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "flakestat: %s\n", trimmed(err))
			continue
		}
		c, err := ingest.Count(r, source.Path)
		err = errors.Join(err, r.Close())
		if cmd.Context().Err() != nil {
			return cmd.Context().Err()
		}
		var e *ingest.Error
		if errors.As(err, &e) {
			if source.Found && e.Kind == ingest.KindNotAReport {
				continue
			}
			bad = true
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "flakestat: %s\n", strings.TrimPrefix(e.Error(), "ingest: "))
		} else if err != nil {
			return err
		}
		list.Cases = append(list.Cases, c)
	}
	if err := f.printCounts(cmd.OutOrStdout(), list); err != nil {
		return err
	}
	if bad {
		return exit(exitUsage)
	}
	return nil
}

func (f *ingestFlags) printCounts(w io.Writer, list ingest.CountsList) error {
	if f.format == "json" {
		return writeJSON(w, list)
	}
	for c := range slices.Values(list.Cases) {
		if c.Outcome != "ok" {
			continue // named on standard error
		}
		t := c.Totals
		line := fmt.Sprintf("%s: %s, %s of %s, %d failed, %d retries, %d skipped, %d unfinished, %d cached",
			c.File, c.Format, plural(t.Runs, "run"), plural(t.Tests, "test"), t.Failures, t.Retries, t.Skips, t.Unfinished, t.Cached)
		if len(c.Warnings) > 0 {
			line += "; " + warnings(c.Warnings)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

// interruptible is a reader that gives up when its context ends, though what it reads
// from may never answer.
type interruptible struct {
	ctx    context.Context
	from   io.Reader
	chunks chan []byte
	err    error // set before chunks is closed
	rest   []byte
}

func (r *interruptible) Read(p []byte) (int, error) {
	if r.chunks == nil {
		r.chunks = make(chan []byte)
		go r.pump()
	}
	for len(r.rest) == 0 {
		select {
		case chunk, ok := <-r.chunks:
			if !ok {
				return 0, r.err
			}
			r.rest = chunk
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *interruptible) pump() {
	defer close(r.chunks)
	for {
		chunk := make([]byte, 64<<10)
		n, err := r.from.Read(chunk)
		if n > 0 {
			select {
			case r.chunks <- chunk[:n]:
			case <-r.ctx.Done():
				return
			}
		}
		if err != nil {
			r.err = err
			return
		}
	}
}
