package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"exactlyone"
)

// Exit codes.
const (
	exitOK      = 0
	exitBroken  = 1
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
	}
	text := strings.ReplaceAll(err.Error(), exactlyone.ErrUsage.Error()+": ", "")
	_, _ = fmt.Fprintf(stderr, "explore: %s\n", text)
	return exitUsage
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "explore",
		Short: "Find the smallest story in which a writer does not leave exactly one report",
		Long: `Explore runs a writer under every schedule of its requests and every fault
within bounds, and shows the smallest story in which it leaves more or less than
one report for one operation.

Exit status: 0 no property is broken, 1 one is, 2 wrong usage or input,
3 the search was cut short or something to be tested never happened.`,
		Example: `  explore check key_split                  two requests at once
  explore check key_split --clients 1      one client and a crash
  explore check key_atomic --store sqlite  all behaviours, on a real database
  explore replay key_split.trace.json      the story once more, for real
  explore herd                             many clients that retry at once, simulated`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(newCheck(), newMerge(), newReplay(), newShrink(), newList(), newMatrix(), newHerd())
	return root
}

// isTerminal says whether w is one.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// colored says whether a report to w may use color.
func colored(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// program is how the user called this command.
func program() string {
	if strings.Contains(os.Args[0], "go-build") {
		return "go run ./cmd/explore"
	}
	return "explore"
}

// formats are those of a report; stories can be drawn, too.
var (
	formats      = []string{"text", "json"}
	storyFormats = append(slices.Clone(formats), "mermaid")
)

// parseFormat checks a --format flag.
func parseFormat(format string, known []string) error {
	if !slices.Contains(known, format) {
		return fmt.Errorf("--format %q: %s was expected", format, orList(known))
	}
	return nil
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
