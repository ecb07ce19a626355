// Command flakestat answers: this test passed n times; how flaky can it still be?
//
//	flakestat bound -k 0 -n 6        what 0 failures in 6 runs say
//	flakestat plan --rate .01        how many runs certify 1 %
//	flakestat run --certify .01 -- COMMAND
//	                                 make them
//	flakestat show TEST              what it printed when it failed
//	flakestat ingest report.xml      store what a report counts
//	flakestat report                 which tests are flaky, and how sure that is
//	flakestat merge A.db B.db        unite the stores of several runners
//	flakestat fixed TEST --rev R     count a test anew from a revision on
//	flakestat gate --max-rate R      pass if every test is certified
//	flakestat compare A B            did tests get better or worse
//	flakestat bisect -- COMMAND      find the commit that changed the rate
//
// It exits with 0 if all is well, 1 if a test fails more often than report
// --target, run or gate allow, or got worse, 2 for wrong usage or input, and 3 if
// there are too few runs to tell or the command was interrupted.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"exactlyone/internal/interrupt"
)

func main() { os.Exit(program()) }

// program is main up to the exit code.
func program() int {
	signal.Ignore(syscall.SIGPIPE) // a reader that has seen enough is an error of the write
	ctx, stop := signal.NotifyContext(context.Background(), interrupt.Signals()...)
	defer stop()
	context.AfterFunc(ctx, stop) // the second signal ends it at once
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}
