package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"exactlyone/flake"
	"exactlyone/internal/runner"
)

// runFlags are the flags of run.
type runFlags struct {
	store, rev, name, format string
	labels, reports          []string
	runs, allow, parallel    int
	certify                  float64
	untilFail, keepGoing     bool
	timeout, grace           time.Duration
	seed                     int64
	confidence, prior        float64
}

func newRun() *cobra.Command {
	f := new(runFlags)
	cmd := &cobra.Command{
		Use:   "run (-n N | --certify RATE | --until-fail) [flags] -- COMMAND [ARG...]",
		Short: "Run a test command again until you know",
		Long: `Run starts COMMAND again and again, each time as a fresh process, and says how often
each test fails. What the process leaves running is killed with its process group, after
its end, after --timeout, and on Ctrl-C.

If COMMAND prints go test -json, each test counts by itself; so do the tests of report
files, if --report names them: a pattern within the folder $FLAKESTAT_RUN_DIR, which is
fresh for each run. Otherwise the command is one test that passes with exit status 0.
A run in which a test failed at all counts once, however often -count repeats the test.

-n N          N runs, fixed beforehand.
--certify R   as few runs as certify that each test fails in at most R of its runs, with
              --allow C failures: it stops at failure C+1 of a test or when all runs are
              made. On a second try on the same revision the plan does not hold again;
              then all its runs count, under bounds that hold at every number of runs.
--until-fail  until something fails, or Ctrl-C, or N runs are made.

Each run is stored as it ends: see flakestat report, and flakestat show for the output of
failing runs. The revision is that of git; if tracked files were changed, a hash of the
change is added. COMMAND gets FLAKESTAT_RUN_DIR, FLAKESTAT_RUN, the number of the run, and
FLAKESTAT_SEED, made from --seed and that number; in its arguments these names stand for
their values after a $.

A command that cannot be started or does not build, results from go's cache, and the exit
statuses 125 to 127 say nothing about tests: they end the runs, with exit status 2.

Exit status: 0 certified, or nothing failed; 1 a test fails more often than R for certain
or, without --certify, something failed; 2 wrong usage, or a run that is no test; 3 not
certified, or interrupted.`,
		Example: `  flakestat run -n 100 -- go test -json -count=1 ./...
  flakestat run --certify 0.01 -- go test -json -count=1 '-shuffle=$FLAKESTAT_SEED' ./cart
  flakestat run --certify 0.01 --allow 2 --parallel 4 --timeout 2m -- ./smoke.sh
  flakestat run --until-fail --report '*.xml' -- pytest '--junitxml=$FLAKESTAT_RUN_DIR/r.xml'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("a COMMAND was expected after --; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: f.run,
	}
	f.add(cmd)
	return cmd
}

// add adds the flags.
func (f *runFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.SetInterspersed(false) // the command has flags of its own
	storeFlag(cmd, &f.store)
	fl.IntVarP(&f.runs, "runs", "n", 0, "how many runs; with --until-fail how many at most")
	fl.Float64Var(&f.certify, "certify", 0, "failure rate to certify for each test, between 0 and 1")
	fl.IntVar(&f.allow, "allow", 0, "with --certify: failures allowed to each test")
	fl.BoolVar(&f.keepGoing, "keep-going", false, "with --certify: go on for the other tests when one has failed too often")
	fl.BoolVar(&f.untilFail, "until-fail", false, "stop at the first failure")
	fl.IntVar(&f.parallel, "parallel", 1, "runs at a time; they share the working directory")
	fl.DurationVar(&f.timeout, "timeout", 0, "kill a run after this time: a failure of the tests that were running (default: never)")
	fl.DurationVar(&f.grace, "grace", runner.DefaultGrace, "time between SIGTERM and SIGKILL")
	fl.StringArrayVar(&f.reports, "report", nil, "report files in $FLAKESTAT_RUN_DIR, such as '**/*.xml'; may be given several times")
	fl.StringVar(&f.name, "name", "", "name of the test, if the command is one (default: the command)")
	fl.StringVar(&f.rev, "rev", "", "revision under test (default: from git)")
	fl.StringArrayVar(&f.labels, "label", nil, "key=value, a part of the identity of the tests; may be given several times")
	fl.Int64Var(&f.seed, "seed", 0, "makes the FLAKESTAT_SEED of each run (default: random)")
	fl.Float64Var(&f.prior, "prior-rate", flake.DefaultPriorRate, "of a new store: the rate at which anytime bounds are narrow (default with --certify: its rate)")
	confidenceFlag(cmd, &f.confidence)
	formatFlag(cmd, &f.format, "text", "json")
}

// plan checks the flags and fixes what is to be done.
func (f *runFlags) plan(cmd *cobra.Command) (p flake.Plan, err error) {
	set := cmd.Flags().Changed
	if err := f.check(set); err != nil {
		return p, err
	}
	p = flake.Plan{Mode: flake.Count, Runs: f.runs, Confidence: f.confidence}
	switch {
	case set("certify") && (set("runs") || f.untilFail):
		return p, errors.New("--certify says itself how many runs it takes: neither -n nor --until-fail was expected")
	case set("certify"):
		if p, err = flake.CertifyPlan(f.certify, f.confidence, f.allow); err == nil && p.Runs > maxRuns {
			err = fmt.Errorf("--certify %v: that takes %d runs, more than %d", f.certify, p.Runs, maxRuns)
		}
		p.KeepGoing = f.keepGoing
		return p, err
	case set("allow"), f.keepGoing:
		return p, errors.New("--allow and --keep-going belong to --certify")
	case f.untilFail:
		p.Mode = flake.UntilFail
	case !set("runs"):
		return p, errors.New("-n, --certify or --until-fail was expected: how long to run")
	}
	return p, nil
}

// check checks the values of flags.
func (f *runFlags) check(set func(string) bool) error {
	if err := between("confidence", f.confidence); err != nil {
		return err
	}
	if err := between("prior-rate", f.prior); err != nil {
		return err
	}
	if _, err := flake.JoinLabels(f.labels); err != nil {
		return fmt.Errorf("--label: %w", err)
	}
	switch {
	case set("certify") && !(f.certify > 0 && f.certify < 1):
		return between("certify", f.certify)
	case set("runs") && (f.runs < 1 || f.runs > maxRuns):
		return fmt.Errorf("-n %d: 1 to %d runs was expected", f.runs, maxRuns)
	case f.allow < 0 || f.allow > 10_000:
		return fmt.Errorf("--allow %d: 0 to 10000 was expected", f.allow)
	case f.parallel < 1 || f.parallel > 1000:
		return fmt.Errorf("--parallel %d: 1 to 1000 was expected", f.parallel)
	case f.timeout < 0 || f.grace <= 0:
		return errors.New("--timeout and --grace: a time such as 90s or 5m was expected")
	}
	for _, pattern := range f.reports {
		if !filepath.IsLocal(pattern) {
			return fmt.Errorf("--report %q: a pattern within $FLAKESTAT_RUN_DIR was expected, such as '*.xml': a file elsewhere may be that of another run", pattern)
		}
		if _, err := filepath.Match(pattern, ""); err != nil {
			return fmt.Errorf("--report %q: %w", pattern, err)
		}
	}
	return nil
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	plan, err := f.plan(cmd)
	if err != nil {
		return err
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return &runner.StartError{Program: args[0], Err: err}
	}
	if !cmd.Flags().Changed("seed") {
		f.seed = randomSeed()
	}
	if plan.Mode == flake.Certify && !cmd.Flags().Changed("prior-rate") {
		f.prior = plan.Rate
	}
	store, err := flake.Open(cmd.Context(), f.store, flake.Options{Create: true, PriorRate: f.prior})
	if err != nil {
		return err
	}
	summary, err := f.campaign(cmd, store, plan, args)
	err = errors.Join(err, store.Close())
	if summary == nil {
		return err
	}
	if code := f.print(cmd, summary); err == nil {
		return code
	}
	return err // after what was found so far
}

// print prints the summary and returns the exit status.
func (f *runFlags) print(cmd *cobra.Command, summary *flake.Summary) (err error) {
	var b bytes.Buffer // one write, so that no half a summary appears
	if f.format == "json" {
		err = summary.WriteJSON(&b)
	} else {
		err = summary.WriteText(&b, flake.TextOptions{Color: colored(cmd.OutOrStdout())})
	}
	if _, e := cmd.OutOrStdout().Write(b.Bytes()); err != nil || e != nil {
		return errors.Join(err, e)
	}
	switch summary.Verdict {
	case flake.Holds:
		return nil
	case flake.Violated:
		return exit(exitFlaky)
	}
	return exit(exitUnknown)
}

// campaign makes the runs.
func (f *runFlags) campaign(cmd *cobra.Command, store *flake.Store, plan flake.Plan, args []string) (s *flake.Summary, err error) {
	recorder, err := store.Record(cmd.Context(), flake.Series{
		Command: oneLine(args), Name: f.name, Revision: workRevision(cmd, f.rev), Labels: f.labels,
		Plan: plan, Seed: f.seed, Time: now(),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, recorder.End(context.WithoutCancel(cmd.Context()))) }()
	dir, err := runFolder()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	guard := runner.NewGuard()
	defer guard.Close()
	r := &runs{
		recorder: recorder, campaign: flake.NewCampaign(recorder.Plan, recorder.Earlier), progress: newProgress(cmd.ErrOrStderr()),
		performer: performer{args: args, dir: dir, guard: guard, seed: f.seed, timeout: f.timeout, grace: f.grace, reports: f.reports},
	}
	err = r.all(cmd.Context(), f.parallel)
	r.progress.clear()
	var broken *brokenRun
	if errors.As(err, &broken) {
		broken.explain(cmd.ErrOrStderr(), r.campaign)
		return nil, exit(exitUsage)
	}
	if n, _ := r.campaign.Runs(); err != nil && n == 0 {
		return nil, err
	}
	return r.campaign.Summary(flake.Conditions{
		Command: recorder.Command, Revision: recorder.Revision, Seed: f.seed,
		Interrupted: err != nil || cmd.Context().Err() != nil, CutShort: r.cutShort, LeftBehind: r.leftBehind,
	}), err
}

// oneLine is a command as one line, of bounded length.
func oneLine(args []string) string {
	text := strings.Join(strings.Fields(strings.Join(args, " ")), " ")
	const most = 200
	if r := []rune(text); len(r) > most {
		text = string(r[:most-1]) + "…"
	}
	return text
}

// randomSeed is a seed that is short enough to type.
func randomSeed() int64 {
	n, _ := rand.Int(rand.Reader, big.NewInt(1<<31)) // never fails
	return n.Int64()
}

// runs is a campaign that is being carried out.
type runs struct {
	performer
	recorder             *flake.Recorder
	campaign             *flake.Campaign
	progress             *progress
	cutShort, leftBehind int
	last                 time.Time // when the latest run was started
	hadReports           bool      // a run wrote some
}

// all starts runs until the plan is carried out or ctx ends, and stores each as it ends.
// Runs under way are waited for: leaving out those that take long would choose by outcome.
func (r *runs) all(ctx context.Context, parallel int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan performed)
	underWay, number := 0, 0
	var failed error
	for {
		for failed == nil && ctx.Err() == nil && underWay < parallel && r.campaign.MayStart(underWay) > 0 {
			number++
			underWay++
			go func(number int, at time.Time) { results <- r.perform(ctx, number, at) }(number, r.startTime())
		}
		if underWay == 0 {
			return failed
		}
		r.show()
		p := <-results
		underWay--
		if failed != nil {
			continue
		}
		if failed = r.took(ctx, p); failed != nil {
			cancel()
		}
	}
}

// startTime is the time now, later than that of the run before: the times of runs tell
// their order.
func (r *runs) startTime() time.Time {
	at := now().Truncate(time.Microsecond)
	if !at.After(r.last) {
		at = r.last.Add(time.Microsecond)
	}
	r.last = at
	return at
}

// took stores a run. The error ends the campaign.
func (r *runs) took(ctx context.Context, p performed) error {
	if p.err != nil {
		return p.err
	}
	if p.result.How == runner.Interrupted {
		r.cutShort++
		return nil
	}
	if p.result.LeftBehind {
		r.leftBehind++
	}
	process, err := p.process(r.timeout, len(r.reports) > 0, r.hadReports)
	if err == nil {
		var outcomes []flake.Outcome
		outcomes, err = r.recorder.Add(context.WithoutCancel(ctx), process)
		if err == nil {
			r.hadReports = r.hadReports || len(process.Reports) > 0
			r.campaign.Add(outcomes)
		}
	}
	p.remove()
	var broken *flake.Broken
	if errors.As(err, &broken) {
		return &brokenRun{p.number, broken.Reason, p.output.text()}
	}
	return err
}

// show shows how far the campaign has got.
func (r *runs) show() {
	n, failed := r.campaign.Runs()
	line := fmt.Sprintf("%s, %d failed", plural(n, "run"), failed)
	if s, b, any := r.campaign.Worst(); any {
		line += fmt.Sprintf("; %s: at most %s", s, b.UpperShown)
	}
	if more := r.campaign.Needed(); more > 0 {
		line += fmt.Sprintf("; %d more needed", more)
	}
	r.progress.show("%s", line)
}
