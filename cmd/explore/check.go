package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"exactlyone"
	"exactlyone/rapidsource"
)

// checkFlags are the flags of check.
type checkFlags struct {
	reportFlags
	bounds              exactlyone.Bounds
	origin              exactlyone.Origin
	reduction, search   string
	executions          int
	time                time.Duration
	seed                uint64
	checkpoint, shardOf string
	failFile            bool
}

// reportFlags are the flags of commands that search and report.
type reportFlags struct {
	workers             int
	memory, format, out string
}

func (f *reportFlags) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.IntVar(&f.workers, "workers", 0, "worker threads (default: one a core); the result does not depend on it")
	fl.StringVar(&f.memory, "memory", "4GiB", "memory for the states, e.g. 512MiB")
	fl.StringVar(&f.format, "format", "text", orList(storyFormats)+", a diagram of the story")
	fl.StringVar(&f.out, "out", "", `file for the story; "none" writes no file (default: WRITER.trace.json)`)
	complete(cmd, "format", storyFormats...)
}

// options checks the flags.
func (f *reportFlags) options() (o exactlyone.Options, err error) {
	if err := parseFormat(f.format, storyFormats); err != nil {
		return o, err
	}
	if f.workers < 0 {
		return o, fmt.Errorf("--workers %d: 0 or more was expected", f.workers)
	}
	o.Workers = f.workers
	o.Memory, err = parseBytes(f.memory)
	return o, err
}

// report writes what a search found and returns its exit code as an error.
func (f *reportFlags) report(cmd *cobra.Command, r *exactlyone.Result, origin exactlyone.Origin, seconds float64) error {
	r.Isolation = origin.Isolation
	replay, unsaved := f.save(r, origin)
	var err error
	switch f.format {
	case "json":
		err = writeJSON(cmd.OutOrStdout(), r, seconds)
	case "mermaid":
		err = r.WriteMermaid(cmd.OutOrStdout())
	default:
		err = r.WriteText(cmd.OutOrStdout(), exactlyone.TextOptions{Color: colored(cmd.OutOrStdout()), Replay: replay})
	}
	if err := errors.Join(err, unsaved); err != nil {
		return err
	}
	return codeOf(r)
}

func newCheck() *cobra.Command {
	f := new(checkFlags)
	cmd := &cobra.Command{
		Use:   "check WRITER",
		Short: "Try every behaviour of a writer within bounds",
		Long: `Check tries every schedule of the clients' requests and every fault within the
bounds. It stops at the first broken property and shows the smallest story that
breaks one: fewest faults, then fewest context switches, then fewest steps. The
story is also written to a file that "explore replay" runs again.`,
		Example: `  explore check key_split
  explore check key_split --clients 1
  explore check key_atomic --store sqlite --crashes 2
  explore check key_atomic --isolation read_committed
  explore check key_atomic --key per_attempt --format json
  explore check key_split --format mermaid         a sequence diagram, for GitHub
  explore check key_atomic --reduction none --clients 1
  explore check key_atomic --clients 4 --checkpoint search   stop it with Ctrl-C, go on later
  explore check key_atomic --search random --shard 2/4 --checkpoint shard2   then explore merge
  explore check key_split --search rapid --seed 7 --failfile`,
		Args: oneArg("WRITER"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return writerNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.check(cmd, args[0]) },
	}
	fl := cmd.Flags()
	for _, l := range f.bounds.Limits() {
		fl.IntVar(l.N, l.Flag, l.Default, l.Usage)
	}
	fl.StringVar(&f.origin.Key, "key", "", "key source: none, per_attempt, tool_call, business (default: the writer's)")
	fl.StringVar((*string)(&f.origin.Workload), "workload", "same", "what the clients submit: "+strings.Join(workloadNames(), ", "))
	fl.StringVar(&f.origin.Store, "store", "memory", "what carries out the statements: "+strings.Join(stores, ", "))
	fl.StringVar((*string)(&f.origin.Isolation), "isolation", "", "of transactions, with --store memory: serial, snapshot, read_committed (default: serial)")
	fl.StringVar(&f.search, "search", "exhaustive", "how to search: "+strings.Join(exactlyone.Searches, ", "))
	fl.IntVar(&f.executions, "executions", 10000, "executions to draw, if any are drawn")
	fl.DurationVar(&f.time, "time", 0, "how long to search, e.g. 30s (default: no limit); executions are then drawn until time is up")
	fl.StringVar(&f.reduction, "reduction", "all", "all, none, or a list of visited, symmetry, crashes, clients")
	fl.StringVar(&f.checkpoint, "checkpoint", "", "file to keep the search in; if it exists, the search goes on from there")
	fl.StringVar(&f.shardOf, "shard", "", "i/n: do only the i-th of n parts, for explore merge; needs --checkpoint")
	fl.BoolVar(&f.failFile, "failfile", false, "with --search rapid: try testdata/rapid/WRITER/WRITER-*.fail first, and write WRITER-SEED.fail there")
	fl.Uint64Var(&f.seed, "seed", 0, "what is drawn, and which executions are run again for real to check the search")
	f.add(cmd)
	complete(cmd, "key", "none", "per_attempt", "tool_call", "business")
	complete(cmd, "workload", workloadNames()...)
	complete(cmd, "store", stores...)
	complete(cmd, "isolation", "serial", "snapshot", "read_committed")
	complete(cmd, "search", exactlyone.Searches...)
	complete(cmd, "reduction", "all", "none", "visited", "symmetry", "crashes", "clients")
	return cmd
}

// complete offers values for a flag on the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// oneArg says what was expected in place of what was given.
func oneArg(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: one %s was expected, found %d arguments; see %s --help", cmd.Name(), name, len(args), cmd.CommandPath())
		}
		return nil
	}
}

func (f *checkFlags) check(cmd *cobra.Command, writer string) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	sys, err := newSystem(writer, &f.origin)
	if err != nil {
		return err
	}
	bounds, err := f.boundsGiven(cmd)
	if err != nil {
		return err
	}
	ctx, cancel, executions, err := f.limits(cmd)
	if err != nil {
		return err
	}
	defer cancel()
	progress := newProgress(cmd.ErrOrStderr())
	o.Search, o.Executions, o.Reduction, o.Seed, o.Progress = f.search, executions, f.reduction, f.seed, progress.show
	if f.search == "rapid" {
		o.Driver = rapidsource.Driver(f.failFile)
	} else if f.failFile {
		return errors.New("--failfile: --search rapid was expected, too")
	}
	if o.Checkpoint, err = f.keep(); err != nil {
		return err
	}
	result, err := exactlyone.Run(ctx, sys, bounds, o)
	progress.clear()
	if result == nil {
		return err
	}
	if f.checkpoint != "" && ctx.Err() != nil {
		_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "explore: %s holds the search so far; the same command goes on from there\n", f.checkpoint)
	}
	return cmp.Or(err, f.report(cmd, result, f.origin, progress.seconds()))
}

// keep is where the search is kept, nil for nowhere.
func (f *checkFlags) keep() (*exactlyone.Checkpoint, error) {
	c := &exactlyone.Checkpoint{File: f.checkpoint, Due: newPauses().due, Origin: f.origin}
	switch {
	case f.checkpoint == "" && f.shardOf == "":
		return nil, nil
	case f.checkpoint == "":
		return nil, errors.New("--shard: --checkpoint FILE was expected, too: explore merge reads it")
	case f.shardOf == "":
		return c, nil
	}
	i, n, _ := strings.Cut(f.shardOf, "/")
	var errI, errN error
	c.Shard, errI = strconv.Atoi(i)
	c.Shards, errN = strconv.Atoi(n)
	if errI != nil || errN != nil || c.Shard < 1 || c.Shard > c.Shards {
		return nil, fmt.Errorf("--shard %q: 1/n to n/n was expected", f.shardOf)
	}
	return c, nil
}

// limits is how long to search, and how many executions to draw.
func (f *checkFlags) limits(cmd *cobra.Command) (context.Context, context.CancelFunc, int, error) {
	switch {
	case f.executions < 1:
		return nil, nil, 0, fmt.Errorf("--executions %d: 1 or more was expected", f.executions)
	case f.time < 0:
		return nil, nil, 0, fmt.Errorf("--time %v: more than 0 was expected", f.time)
	case f.time == 0:
		return cmd.Context(), func() {}, f.executions, nil
	case cmd.Flags().Changed("executions"):
		return nil, nil, 0, errors.New("--time and --executions: one of them was expected")
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.time)
	return ctx, cancel, exactlyone.None, nil
}

// codeOf is the exit code of a result. A shard that has done its part is fine:
// the verdict is that of explore merge.
func codeOf(r *exactlyone.Result) error {
	switch {
	case r.Verdict == exactlyone.Violated:
		return exit(exitBroken)
	case r.Verdict == exactlyone.Holds || r.Part:
		return nil
	}
	return exit(exitUnknown)
}

// boundsGiven is the bounds with those left out that the user left out: what
// was asked for by name must find a place to strike.
func (f *checkFlags) boundsGiven(cmd *cobra.Command) (exactlyone.Bounds, error) {
	for _, l := range f.bounds.Limits() {
		if *l.N < l.Least {
			return f.bounds, fmt.Errorf("--%s %d: %d or more was expected", l.Flag, *l.N, l.Least)
		}
		switch {
		case !cmd.Flags().Changed(l.Flag):
			*l.N = 0
		case *l.N == 0:
			*l.N = exactlyone.None
		}
	}
	return f.bounds, nil
}

// save writes the story to a file and returns the command that replays it.
func (f *reportFlags) save(r *exactlyone.Result, origin exactlyone.Origin) (replay string, err error) {
	if r.Story == nil || f.out == "none" {
		return "", nil
	}
	path := f.out
	switch path {
	case "":
		path = r.System + ".trace.json"
	case "-":
		return "", fmt.Errorf(`--out -: a file was expected; --format json prints the story`)
	}
	r.Story.Origin = origin
	if err := r.Story.WriteFile(path); err != nil {
		return "", fmt.Errorf("--out: %w", err)
	}
	return fmt.Sprintf("%s replay %s", program(), quoted(path)), nil
}

// quoted is a path as a shell takes it.
func quoted(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$`!*?[](){}<>|&;~#") || strings.HasPrefix(path, "-") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

// writeJSON writes the same facts as the text.
func writeJSON(w io.Writer, r *exactlyone.Result, seconds float64) error {
	out := struct {
		Verdict       exactlyone.Verdict `json:"verdict"`
		Why           string             `json:"why,omitempty"`
		System        string             `json:"system"`
		Property      string             `json:"property"`
		Message       string             `json:"message,omitempty"`
		Executions    int                `json:"executions"`
		States        int                `json:"states"`
		Steps         int                `json:"steps"`
		Ends          int                `json:"ends"`
		Faults        int                `json:"faults"`
		Depth         int                `json:"depth"`
		Queue         int                `json:"queue"`
		Checked       int                `json:"checked"`
		Bytes         int64              `json:"bytes"`
		Seconds       float64            `json:"seconds"`
		Reduction     string             `json:"reduction"`
		Bounds        exactlyone.Bounds  `json:"bounds"`
		Isolation     string             `json:"isolation"`
		JumpTargets   []string           `json:"jump_targets"`
		Exercised     map[string]int     `json:"exercised"`
		NotApplicable []string           `json:"not_applicable"`
		Properties    []string           `json:"properties"`
		Random        *exactlyone.Random `json:"random,omitempty"`
		Story         *exactlyone.Trace  `json:"counterexample"`
	}{
		Verdict: r.Verdict, Why: r.Why, System: r.System,
		Executions: r.Executions, States: r.States, Steps: r.Steps, Ends: r.Ends,
		Faults: r.Faults, Depth: r.Depth, Queue: r.Queue, Checked: r.Checked, Bytes: r.Bytes,
		Seconds: seconds, Reduction: r.Reduction, Bounds: r.Bounds, Isolation: cmp.Or(string(r.Isolation), "serial"), JumpTargets: r.JumpTargets,
		Exercised: r.Exercised, NotApplicable: r.NotApplicable, Properties: r.Properties, Random: r.Random, Story: r.Story,
	}
	if r.Story != nil {
		out.Property, out.Message = r.Story.Property, r.Story.Message
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// parseBytes reads a size such as 512MiB.
func parseBytes(text string) (int64, error) {
	units := []struct {
		suffix string
		n      int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1}}
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil || n <= 0 || n > (1<<62)/u.n {
			break
		}
		return n * u.n, nil
	}
	return 0, fmt.Errorf("--memory %q: a size such as 512MiB or 4GiB was expected", text)
}
