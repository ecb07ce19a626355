package rapidsource_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"exactlyone"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/rapidsource"
)

// fakeT is a test that may fail without failing this one.
type fakeT struct {
	name   string
	failed bool
	text   strings.Builder
}

func (f *fakeT) Helper()                           {}
func (f *fakeT) Name() string                      { return f.name }
func (f *fakeT) Logf(format string, args ...any)   { fmt.Fprintf(&f.text, format+"\n", args...) }
func (f *fakeT) Log(args ...any)                   { fmt.Fprintln(&f.text, args...) }
func (f *fakeT) Skipf(string, ...any)              { runtime.Goexit() }
func (f *fakeT) Skip(...any)                       { runtime.Goexit() }
func (f *fakeT) SkipNow()                          { runtime.Goexit() }
func (f *fakeT) Errorf(format string, args ...any) { f.Logf(format, args...); f.Fail() }
func (f *fakeT) Error(args ...any)                 { f.Log(args...); f.Fail() }
func (f *fakeT) Fatalf(format string, args ...any) { f.Errorf(format, args...); runtime.Goexit() }
func (f *fakeT) Fatal(args ...any)                 { f.Error(args...); runtime.Goexit() }
func (f *fakeT) FailNow()                          { f.Fail(); runtime.Goexit() }
func (f *fakeT) Fail()                             { f.failed = true }
func (f *fakeT) Failed() bool                      { return f.failed }

// check lets rapid check a property with a seed, and returns what it said.
func check(t *testing.T, seed uint64, property func(*rapid.T)) (failed bool, said string) {
	t.Helper()
	for name, value := range map[string]string{"rapid.seed": strconv.FormatUint(seed, 10), "rapid.checks": "500"} {
		before := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = flag.Set(name, before) }()
	}
	f := &fakeT{name: "TestFake"}
	done := make(chan bool)
	go func() {
		defer close(done)
		rapid.Check(f, property)
	}()
	<-done
	return f.failed, f.text.String()
}

func builtin(t rapid.TB, writer string) exactlyone.System {
	sys, _, err := exactlyone.NewBuiltin(writer, "")
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// planned is a writer whose clients each submit an operation of a plan: its title.
func planned(t rapid.TB, writer string, plan []string) exactlyone.System {
	sys := builtin(t, writer)
	client := sys.Client
	sys.Client = func(i int) model.Client {
		c := client(i)
		c.Operation.Name, c.Operation.Title = plan[i], plan[i]
		c.Operation.Body = fmt.Sprintf(`{"title":%q}`, plan[i])
		c.Operation.ToolUseID = plan[i]
		return c
	}
	return sys
}

// property draws who submits what, what that is, and how it goes.
func property(writer string, plans *[][]string) func(*rapid.T) {
	return func(t *rapid.T) {
		titles := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,9}`), 1, 3, rapid.ID).Draw(t, "titles")
		plan := rapid.SliceOfN(rapid.SampledFrom(titles), 1, 3).Draw(t, "plan")
		*plans = append(*plans, plan)
		rapidsource.Check(t, planned(t, writer, plan), exactlyone.Bounds{Clients: len(plan)})
	}
}

// TestCheck: rapid draws titles, who submits which, and the schedule with its
// faults; all of it shrinks, and is tried first the next time.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	var plans [][]string
	failed, said := check(t, 1, property("key_split", &plans))
	last := plans[len(plans)-1]
	if !failed || !strings.Contains(said, "key_split breaks ") || !strings.Contains(said, "Story (") {
		t.Errorf("failed %v, and said\n%s", failed, said)
	}
	if len(last) > 2 || strings.Trim(strings.Join(last, ""), "a") != "" {
		t.Errorf("the plan shrank to %q, of\n%s", last, said)
	}
	files, err := filepath.Glob("testdata/rapid/TestFake/*.fail")
	if err != nil || len(files) != 1 {
		t.Errorf("fail files %v, %v", files, err)
	}
	again, saidAgain := check(t, 2, property("key_split", &plans))
	if story := said[strings.Index(said, "Story ("):]; !again || !strings.Contains(saidAgain, "failed after 0 tests") || !strings.Contains(saidAgain, story) {
		t.Errorf("the fail file was not tried first:\n%s\nat first:\n%s", saidAgain, said)
	}
	tests := "passed 500 tests"
	if testing.Short() {
		tests = "passed 100 tests" // rapid makes a fifth then
	}
	if failed, said := check(t, 1, property("key_atomic", &plans)); failed || !strings.Contains(said, tests) {
		t.Errorf("key_atomic: failed %v, and said\n%s", failed, said)
	}
}

// TestPropertiesDoNotMix: a story of one property never shrinks into one of
// another, though that is smaller.
func TestPropertiesDoNotMix(t *testing.T) {
	firsts := map[string]int{}
	for seed := range uint64(8) {
		first := ""
		atMost := func(n int) props.Property {
			name := fmt.Sprintf("at-most-%d", n)
			return props.New(name, "", func(int, model.Told) int { return 0 }, func(_ int, v props.View) (bool, string) {
				if broken := len(v.Effects) > n && (n > 1 || v.End); broken {
					if first == "" {
						first = name
					}
					return true, "more"
				}
				return v.End, ""
			})
		}
		t.Chdir(t.TempDir()) // no fail files
		failed, said := check(t, 1+seed, func(t *rapid.T) {
			sys := builtin(t, "naive")
			sys.Properties = []props.Property{atMost(1), atMost(2)}
			rapidsource.Check(t, sys, exactlyone.Bounds{})
		})
		if firsts[first]++; !failed || !strings.Contains(said, "naive breaks "+first) || strings.Contains(said, "flaky") {
			t.Errorf("seed %d: %s was broken first; failed %v, and said\n%s", seed, first, failed, said)
		}
	}
	if firsts["at-most-1"] == 0 || firsts["at-most-2"] == 0 {
		t.Errorf("broken first: %v; both were expected", firsts)
	}
}

// coin is a writer that tosses one.
type coin struct{ store model.Store }

func (c coin) Handle(ctx context.Context, req model.Request) model.Answer {
	if rand.IntN(2) == 0 {
		_, _ = c.store.Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
	}
	return model.Created(1)
}

// moody is a system that is not deterministic.
func moody(t rapid.TB) exactlyone.System {
	sys := builtin(t, "naive")
	sys.Start = func(env *exactlyone.Env) model.Server { return coin{env.Store("db")} }
	return sys
}

// TestNondeterminism is named, and no finding, whatever rapid makes of it.
func TestNondeterminism(t *testing.T) {
	for seed := range uint64(5) {
		t.Chdir(t.TempDir()) // no fail files
		failed, said := check(t, 1+seed, func(t *rapid.T) {
			rapidsource.Check(t, moody(t), exactlyone.Bounds{})
		})
		if !failed || !strings.Contains(said, "not deterministic") || strings.Contains(said, "naive breaks") {
			t.Errorf("seed %d: failed %v, and said\n%s", seed, failed, said)
		}
	}
}
