package rapidrun

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawn checks a property of one number, and returns all that were drawn.
func drawn(t *testing.T, seed uint64, fails func(n int) bool) (all []int, r Result, err error) {
	t.Helper()
	r, err = Check(Config{Name: "a b", Checks: 50, Seed: seed}, func(rt *rapid.T, drawn bool) {
		n := rapid.IntRange(0, 1000).Draw(rt, "n")
		if all = append(all, n); fails(n) {
			rt.Fatal("fails")
		}
		if !drawn {
			t.Error("it was tried again from a file")
		}
	})
	return all, r, err
}

// TestCheck: as many executions as asked for, the same for the same seed; what
// fails is shrunk; and rapid's flags are as before.
func TestCheck(t *testing.T) {
	before := map[string]string{}
	flag.VisitAll(func(f *flag.Flag) { before[f.Name] = f.Value.String() })
	first, r, err := drawn(t, 7, func(int) bool { return false })
	if len(first) != 50 || r.Failed || err != nil {
		t.Errorf("%d executions, %+v, %v", len(first), r, err)
	}
	again, _, _ := drawn(t, 7, func(int) bool { return false })
	other, _, _ := drawn(t, 8, func(int) bool { return false })
	if fmt.Sprint(again) != fmt.Sprint(first) || fmt.Sprint(other) == fmt.Sprint(first) {
		t.Errorf("seed 7 draws %v, again %v; seed 8 %v", first, again, other)
	}
	all, r, err := drawn(t, 7, func(n int) bool { return n >= 100 })
	if !r.Failed || err != nil || all[len(all)-1] != 100 {
		t.Errorf("%+v, %v, shrunk to %d, want 100", r, err, all[len(all)-1])
	}
	flag.VisitAll(func(f *flag.Flag) {
		if f.Value.String() != before[f.Name] {
			t.Errorf("-%s is %s, was %s", f.Name, f.Value, before[f.Name])
		}
	})
}

// TestCheckOfSomethingElse: a property that panics or does not fail again is no
// finding, and one that ends its goroutine ends the check.
func TestCheckOfSomethingElse(t *testing.T) {
	if _, _, err := drawn(t, 7, func(int) bool { panic("oops") }); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("a panic: error %v", err)
	}
	n := 0
	if _, _, err := drawn(t, 7, func(int) bool { n++; return n == 3 }); err == nil || !strings.Contains(err.Error(), "flaky") {
		t.Errorf("it failed once: error %v", err)
	}
	n = 0
	all, r, err := drawn(t, 7, func(int) bool {
		if n++; n == 3 {
			runtime.Goexit()
		}
		return false
	})
	if len(all) != 3 || r.Failed || err != nil {
		t.Errorf("it ended: %v, %+v, %v", all, r, err)
	}
}
