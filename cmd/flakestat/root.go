package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Exit codes.
const (
	exitOK      = 0
	exitFlaky   = 1
	exitUsage   = 2
	exitUnknown = 3
)

// exit is a command that ran and ended with a code of its own.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// run carries out one command line and returns its exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, syscall.EPIPE):
		return exitOK // the reader has seen enough
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(stderr, "flakestat: interrupted")
		return exitUnknown
	}
	_, _ = fmt.Fprintf(stderr, "flakestat: %s\n", trimmed(err))
	return exitUsage
}

// trimmed is the text of an error without the names of our packages.
func trimmed(err error) string {
	text := err.Error()
	for _, prefix := range []string{"flake: ", "ingest: ", "runner: ", "stats: "} {
		text = strings.ReplaceAll(text, prefix, "")
	}
	return strings.ReplaceAll(text, "\n", "; ")
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "flakestat",
		Short: "Say how flaky tests are, and how sure that is",
		Long: `Flakestat reads the reports that test runners already write, keeps what they
count, and says how often each test fails: with exact bounds, with the number of
runs behind them and with what they assume. It works offline.

Exit status: 0 all is well, 1 a test fails more often than report --target, run or
gate allow, or compare found it worse, 2 wrong usage or input, 3 too few runs to tell, or
interrupted.`,
		Example: `  flakestat bound -k 0 -n 6          a test passed 6 times: how flaky can it be?
  flakestat plan --rate .01          how many runs certify 1 %
  flakestat run --certify .01 -- go test -json -count=1 ./cart
  go test -json ./... | flakestat ingest -
  flakestat report                   the tests of the store, the worst first
  flakestat gate --max-rate 0.01     pass if every test is certified
  flakestat compare v1.0 v1.1        did tests get better or worse
  flakestat bisect --good v1.0 --bad HEAD -- ./run-test`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newIngest(), newReport(), newBound(), newPlan(), newMerge(), newFixed(),
		newRun(), newShow(), newGate(), newCompare(), newBisect())
	return root
}

// isTerminal says whether w is one.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored says whether a report to w may use color.
func colored(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// formatFlag adds --format with the values allowed, the first by default.
func formatFlag(cmd *cobra.Command, format *string, allowed ...string) {
	cmd.Flags().StringVar(format, "format", allowed[0], strings.Join(allowed, ", "))
	complete(cmd, "format", allowed...)
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		for _, a := range allowed {
			if *format == a {
				if check != nil {
					return check(cmd, args)
				}
				return nil
			}
		}
		return fmt.Errorf("--format %q: one of %s was expected", *format, strings.Join(allowed, ", "))
	}
}

// complete offers values for a flag on the shell.
func complete(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// storeFlag adds --store.
func storeFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "store", ".flakestat.db", "file that keeps the runs")
}

// revision is the one given or, from git, that of the working directory.
func revision(cmd *cobra.Command, given string) string {
	if cmd.Flags().Changed("rev") {
		return given
	}
	out, err := gitCommand(cmd.Context(), "rev-parse", "--verify", "--quiet", "HEAD").Output()
	if err != nil {
		return "" // no git, or no commit: the revision is unknown
	}
	return strings.TrimSpace(string(out))
}

// plural is "1 run" or "2 runs".
func plural[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// confidenceFlag adds --confidence.
func confidenceFlag(cmd *cobra.Command, confidence *float64) {
	cmd.Flags().Float64Var(confidence, "confidence", 0.95, "chance that a bound holds, one-sided, between 0 and 1")
}

// level writes a confidence: 95 %.
func level(confidence float64) string { return strconv.FormatFloat(100*confidence, 'g', 10, 64) + " %" }

// between checks a flag for a number strictly between 0 and 1.
func between(flag string, x float64) error {
	if !(x > 0 && x < 1) {
		return fmt.Errorf("--%s %v: a number between 0 and 1 was expected, such as 0.01", flag, x)
	}
	return nil
}

func writeJSON(w io.Writer, value any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}
