package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"exactlyone/bisect"
	"exactlyone/internal/runner"
)

// bisectFlags are the flags of bisect.
type bisectFlags struct {
	good, bad, build, state, format string
	confidence                      float64
	maxRuns                         int
	timeout                         time.Duration
	restart, all                    bool
}

func newBisect() *cobra.Command {
	f := new(bisectFlags)
	cmd := &cobra.Command{
		Use:   "bisect --good A --bad B -- COMMAND [ARG...]",
		Short: "Find the commit that changed how often a test fails",
		Long: `Bisect runs COMMAND on commits after A up to B until one of them is known, with the
chance --confidence, to have changed the rate at which it fails. It may fail now and
then on both sides. Each run is made where it tells most, in a scratch worktree that is
removed at the end. The commits are those of the first-parent line of B.

COMMAND fails if it ends with a status other than 0, by a signal, or after --timeout.
A commit cannot be run if --build fails there or takes --timeout, or if COMMAND cannot
be started, ends with 125, 126 or 127, or prints, as go test does, that the code does not
build or has no test. It is left out: where nothing can tell commits apart, the answer
is that it is one of them. COMMAND runs in the same folder of the worktree as that in
which bisect was started, with the commit in $FLAKESTAT_COMMIT. Whenever the commit
changes the worktree is cleaned and --build runs again, by sh.

What was seen is kept after each run, so the same command goes on after Ctrl-C or a
crash, and no run counts twice. It also goes on to a higher --confidence, or more
--max-runs.

Exit status: 0 found, 2 wrong usage or input, or A or B cannot be run, 3 not found in
--max-runs runs, or interrupted.`,
		Example: `  flakestat bisect --good v1.0 --bad HEAD -- go test -count=1 -run TestTotals ./cart
  flakestat bisect --good v1.0 --bad HEAD --build 'make -s' --timeout 1m -- ./run-test
  flakestat bisect --good v1.0 --bad HEAD --restart -- sh -c 'npm test -- -t totals'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("-- COMMAND was expected; see %s --help", cmd.CommandPath())
			}
			return nil
		},
		RunE: f.bisect,
	}
	fl := cmd.Flags()
	fl.StringVar(&f.good, "good", "", "commit before the change")
	fl.StringVar(&f.bad, "bad", "", "commit after the change")
	fl.StringVar(&f.build, "build", "", "shell command that builds a commit; where it fails, the commit is left out")
	fl.DurationVar(&f.timeout, "timeout", 0, "after which a run is ended and has failed, or a build is, such as 30s (default: never)")
	fl.IntVar(&f.maxRuns, "max-runs", 1000, "runs to make at most, those of earlier sessions included")
	fl.StringVar(&f.state, "state", "", "file that keeps what was seen (default: flakestat-bisect.json in the git directory)")
	fl.BoolVar(&f.restart, "restart", false, "forget what was seen")
	fl.BoolVar(&f.all, "all", false, "show all commits")
	fl.Float64Var(&f.confidence, "confidence", 0.95, "chance that the commit found is the right one, between 0 and 1")
	formatFlag(cmd, &f.format, "text", "json")
	for _, flag := range []string{"good", "bad"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, completeRefs)
	}
	_ = cmd.MarkFlagRequired("good")
	_ = cmd.MarkFlagRequired("bad")
	return cmd
}

func (f *bisectFlags) check() error {
	switch {
	case f.maxRuns < 1 || f.maxRuns > maxBisectRuns:
		return fmt.Errorf("--max-runs %d: 1 to %d was expected", f.maxRuns, maxBisectRuns)
	case f.timeout < 0:
		return fmt.Errorf("--timeout %v: a duration above 0 was expected, such as 30s", f.timeout)
	}
	return between("confidence", f.confidence)
}

// maxBisectRuns keeps the state small.
const maxBisectRuns = 1_000_000

func (f *bisectFlags) bisect(cmd *cobra.Command, args []string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	repo, err := openRepository(cmd.Context())
	if err != nil {
		return err
	}
	commits, err := repo.line(cmd.Context(), f.good, f.bad)
	if err != nil {
		return err
	}
	if f.state == "" {
		f.state = filepath.Join(repo.gitDir, "flakestat-bisect.json")
	}
	unlock, err := lock(f.state + ".lock")
	if err != nil {
		return fmt.Errorf("%s: %w", f.state, err)
	}
	defer unlock()
	s := &session{flags: f, repo: repo, commits: commits, search: bisect.New(len(commits))}
	s.state = bisectState{
		Schema: 1, Good: commits[0].id, Bad: commits[len(commits)-1].id, Command: args, Build: f.build,
		Folder: repo.prefix, Timeout: f.timeout.String(),
	}
	if err := s.resume(cmd.Context()); err != nil {
		return err
	}
	err = s.work(cmd.Context(), newProgress(cmd.ErrOrStderr()))
	if err != nil && cmd.Context().Err() == nil {
		return err
	}
	return s.finish(cmd)
}

// session is one bisection, perhaps a continued one.
type session struct {
	flags   *bisectFlags
	repo    *repository
	commits []commit
	search  *bisect.Search
	state   bisectState
	resumed int // runs of earlier sessions
	at      int // commit that is checked out and built; -1: none
}

// resume takes over what earlier sessions saw, and what they left behind.
func (s *session) resume(ctx context.Context) error {
	old, err := readState(s.flags.state)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case s.flags.restart && err != nil:
		return nil
	case err != nil:
		return fmt.Errorf("%w; --restart begins anew", err)
	}
	s.repo.discard(ctx, old.Worktree)
	if s.flags.restart {
		return nil
	}
	if what := old.differs(s.state); what != "" {
		return fmt.Errorf("%s: it is of another search, with %s; --restart begins anew, --state names another file", s.flags.state, what)
	}
	index := map[string]int{}
	for i, c := range s.commits {
		index[c.id] = i
	}
	for _, x := range old.Seen {
		i, known := index[x.Commit]
		if !known || x.Outcome == outcomeSkip && (i == 0 || i == len(s.commits)-1) {
			return fmt.Errorf("%s: commit %s is none of those between; --restart begins anew", s.flags.state, x.Commit)
		}
		s.add(i, x)
	}
	s.resumed = s.search.Runs()
	return nil
}

// add counts an outcome.
func (s *session) add(commit int, x seen) {
	s.state.Seen = append(s.state.Seen, x)
	if x.Outcome == outcomeSkip {
		s.search.Skip(commit)
		s.commits[commit].why = x.Why
	} else {
		s.search.Observe(commit, x.Outcome == outcomeFail)
	}
}

// done says whether there is nothing more to run.
func (s *session) done() bool {
	return s.search.Found(s.flags.confidence) || s.search.Runs() >= s.flags.maxRuns
}

// work runs until done.
func (s *session) work(ctx context.Context, progress *progress) (err error) {
	if s.done() {
		return nil
	}
	defer progress.clear()
	tree, err := s.repo.scratch()
	if err != nil {
		return err
	}
	s.state.Worktree = tree
	defer func() {
		s.repo.discard(ctx, tree)
		s.state.Worktree = ""
		err = errors.Join(err, writeState(s.flags.state, s.state))
	}()
	if err := writeState(s.flags.state, s.state); err != nil { // before there is anything to leave behind
		return err
	}
	guard := runner.NewGuard()
	defer guard.Close()
	s.at = -1
	for !s.done() {
		c := s.search.Next()
		_, _, chance := s.search.Suspects()
		progress.show("%s so far, best guess %.0f %%; running %s %s", plural(s.search.Runs(), "run"), 100*chance, s.commits[c].short(), clipped(s.commits[c].subject))
		x, err := s.run(ctx, guard, c)
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err // a run that was ended tells nothing
		}
		s.add(c, x)
		if err := writeState(s.flags.state, s.state); err != nil {
			return err
		}
	}
	return nil
}

// keptOutput is how much of the output of a run is kept to explain why it cannot run.
const keptOutput = 16 << 10

// run checks a commit out, builds it and runs the command once.
func (s *session) run(ctx context.Context, guard *runner.Guard, c int) (seen, error) {
	x := seen{Commit: s.commits[c].id}
	output := runner.NewKept(keptOutput)
	command := runner.Command{
		Dir: filepath.Join(s.state.Worktree, s.repo.prefix), Env: []string{"FLAKESTAT_COMMIT=" + x.Commit}, Unset: gitLocal,
		Stdout: output, Stderr: output, Guard: guard,
	}
	if s.at != c {
		s.at = -1
		if err := s.repo.checkout(ctx, s.state.Worktree, x.Commit); err != nil {
			return x, err
		}
		if info, err := os.Stat(command.Dir); err != nil || !info.IsDir() {
			return s.cannot(x, c, fmt.Sprintf("it has no folder %s, in which bisect was started", s.repo.prefix), output)
		}
		if s.flags.build != "" {
			build := command
			build.Args, build.Timeout = []string{"sh", "-c", s.flags.build}, s.flags.timeout
			if r, err := runner.Run(ctx, build); err != nil || !r.OK() {
				return s.cannot(x, c, "it does not build: "+ended(r, err), output)
			}
		}
		s.at = c
	}
	output = runner.NewKept(keptOutput) // what the build says is no run of a test
	command.Stdout, command.Stderr = output, output
	command.Args, command.Timeout = s.state.Command, s.flags.timeout
	r, err := runner.Run(ctx, command)
	why := untested(output, r.OK())
	switch {
	case err != nil, r.How == runner.Exited && r.Code >= 125 && r.Code <= 127:
		return s.cannot(x, c, "it cannot be run: "+ended(r, err), output)
	case r.How == runner.Exited && why != "":
		return s.cannot(x, c, why, output)
	case r.OK():
		if text := output.Text(); strings.Contains(text, "\t(cached)") || strings.Contains(text, `\t(cached)`) {
			return x, errors.New("go test took the result from its cache, which is no run: add -count=1")
		}
		x.Outcome = outcomePass
	default:
		x.Outcome = outcomeFail
	}
	return x, nil
}

// ended says how a run ended.
func ended(r runner.Result, err error) string {
	if err != nil {
		return trimmed(err)
	}
	return r.String()
}

// cannot is the outcome of a commit that cannot be run; an error at the ends, which must.
func (s *session) cannot(x seen, c int, why string, output *runner.Kept) (seen, error) {
	x.Outcome, x.Why = outcomeSkip, why
	if c > 0 && c < len(s.commits)-1 {
		return x, nil
	}
	last := strings.TrimSpace(output.Text())
	if at := strings.LastIndexByte(last, '\n'); at >= 0 {
		last = last[at+1:]
	}
	if last != "" {
		why += ": " + clipped(last)
	}
	return x, fmt.Errorf("commit %s must run, but %s", s.commits[c].short(), why)
}

// finish prints what was found.
func (s *session) finish(cmd *cobra.Command) error {
	r := s.report(cmd.Context().Err() != nil)
	err := writeOnce(cmd.OutOrStdout(), func(w io.Writer) error {
		if s.flags.format == "json" {
			return writeJSON(w, r)
		}
		return r.writeText(w, s.flags.all)
	})
	if err != nil {
		return err
	}
	if r.Verdict != bisectFound {
		return exit(exitUnknown)
	}
	return nil
}
