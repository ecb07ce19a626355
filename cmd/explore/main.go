// Command explore answers: does this writer leave exactly one report, whatever
// crashes, gets lost, repeats or expires?
//
//	explore check key_split     the smallest story in which it does not
//	explore replay FILE         that story once more, for real
//	explore list                the writers there are
//	explore herd                many clients that retry at once, simulated
//
// It exits with 0 if no property is broken, 1 if one is, 2 for wrong usage or
// input, and 3 if the search was cut short or something never happened that
// was to be tested.
package main

import (
	"context"
	"os"
	"os/signal"

	"exactlyone/internal/interrupt"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), interrupt.Signals()...)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
