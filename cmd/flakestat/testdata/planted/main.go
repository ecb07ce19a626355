// Command planted answers: does flakestat find what is wrong with these tests? It prints
// what go test -json would of a suite with a clean test, a flaky one, an order-dependent
// pair, one that leaks and, with -hang, one that hangs. FLAKESTAT_SEED decides what is
// left to chance.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

var (
	count = flag.Int("count", 1, "run each test so often in this process")
	only  = flag.String("run", "", "run this test only")
	hang  = flag.Bool("hang", false, "run TestHang last")
	out   = bufio.NewWriter(os.Stdout)

	polluted bool
	leaked   int
)

// random is the output function of splitmix64.
type random uint64

func (r *random) intN(n int) int {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) >> 33 % uint64(n))
}

var tests = []struct {
	name string
	ok   func(*random) bool
}{
	{"TestClean", func(*random) bool { return true }},
	{"TestFlake", func(r *random) bool { return r.intN(20) != 0 }},
	{"TestPolluter", func(*random) bool { polluted = true; return true }},
	{"TestVictim", func(*random) bool { return !polluted }},
	{"TestLeak", func(*random) bool { leaked++; return leaked < 50 }},
}

func main() {
	flag.Parse()
	seed, err := strconv.ParseInt(os.Getenv("FLAKESTAT_SEED"), 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	r := random(seed)
	event("start", "", "")
	event("output", "", fmt.Sprintf("-test.shuffle %d\n", seed))
	for i := len(tests) - 1; i > 0; i-- {
		j := r.intN(i + 1)
		tests[i], tests[j] = tests[j], tests[i]
	}
	end := "pass"
	for range *count {
		for _, t := range tests {
			if *only != "" && t.name != *only {
				continue
			}
			result := "pass"
			event("run", t.name, "")
			if !t.ok(&r) {
				result, end = "fail", "fail"
				event("output", t.name, "planted\n")
			}
			event(result, t.name, "")
		}
	}
	if *hang {
		event("run", "TestHang", "")
		_ = out.Flush()
		never := make(chan os.Signal, 1)
		signal.Notify(never, syscall.SIGUSR1)
		<-never
	}
	event(end, "", "")
	_ = out.Flush()
	if end == "fail" {
		os.Exit(1)
	}
}

func event(action, test, output string) {
	fmt.Fprintf(out, `{"Action":%q,"Package":"planted","Test":%q,"Output":%q}`+"\n", action, test, output)
}
