package exactlyone

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"pgregory.net/rapid"

	"exactlyone/interleave"
	"exactlyone/internal/rapidrun"
	"exactlyone/internal/wref"
)

// BenchmarkW searches the benchmark system w exhaustively with one worker and
// every reduction. Beside time it prints millions of steps and states a second,
// bytes a state, and how long a straight-line program with a map takes for the
// same system in the same run, as a ratio.
func BenchmarkW(b *testing.B) {
	for _, size := range [][4]int{{2, 1, 1, 1}, {3, 1, 1, 1}, {3, 2, 2, 2}, {4, 2, 2, 2}} {
		b.Run(fmt.Sprintf("%d,%d,%d,%d", size[0], size[1], size[2], size[3]), func(b *testing.B) {
			all := reductions{symmetry: true, crashes: true, clients: true}
			var r interleave.Report
			for b.Loop() {
				w := wWorld(b, "key_atomic", size, all)
				r = interleave.Explore(context.Background(), interleave.Config{Workers: 1}, w)
			}
			each := b.Elapsed() / time.Duration(b.N)
			b.ReportMetric(float64(r.Steps)/each.Seconds()/1e6, "Msteps/s")
			b.ReportMetric(float64(r.States)/each.Seconds()/1e6, "Mstates/s")
			b.ReportMetric(float64(r.Bytes)/float64(r.States), "bytes/state")
			b.ReportMetric(float64(r.States), "states")
			start := time.Now()
			straightLine(size)
			b.ReportMetric(each.Seconds()/time.Since(start).Seconds(), "time/straight-line")
		})
	}
}

// straightLine searches the reference program, clients interchangeable.
func straightLine(size [4]int) int {
	first := wref.Initial(size[0], size[1], size[2], size[3])
	seen := map[wref.State]bool{first: true}
	for queue := []wref.State{first}; len(queue) > 0; queue = queue[1:] {
		wref.Successors(wref.KeyAtomic, queue[0], func(_ string, _ int, s wref.State) {
			if s = wref.Sorted(s); !seen[s] {
				seen[s] = true
				queue = append(queue, s)
			}
		})
	}
	return len(seen)
}

// BenchmarkWorkers compares one worker with two, as the ratio of the fastest
// run with each: other programs on the machine only ever make a run slower.
func BenchmarkWorkers(b *testing.B) {
	all := reductions{symmetry: true, crashes: true, clients: true}
	explore := func(workers int) time.Duration {
		w := wWorld(b, "key_atomic", [4]int{4, 2, 2, 2}, all)
		start := time.Now()
		interleave.Explore(context.Background(), interleave.Config{Workers: workers}, w)
		return time.Since(start)
	}
	one, two := time.Hour, time.Hour
	for b.Loop() {
		one = min(one, explore(1))
		two = min(two, explore(2))
	}
	b.ReportMetric(one.Seconds()/two.Seconds(), "speedup-2-workers")
}

// BenchmarkKeyAtomic is the whole of "explore check key_atomic".
func BenchmarkKeyAtomic(b *testing.B) {
	var r *Result
	for b.Loop() {
		r = mustRun(b, builtin(b, "key_atomic", ""), Bounds{}, Options{Workers: 1})
	}
	b.ReportMetric(float64(r.States), "states")
	b.ReportMetric(float64(r.Steps)/(b.Elapsed()/time.Duration(b.N)).Seconds()/1e6, "Msteps/s")
}

// BenchmarkLive is whole executions run for real, as in a replay: fresh
// coroutines, no memory of other executions.
func BenchmarkLive(b *testing.B) {
	sys := builtin(b, "key_atomic", "")
	bounds, _ := Bounds{}.withDefaults()
	tab, err := newTables(&sys, bounds)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p := newPerformance(newLive(tab))
		p.finish()
		if err := p.w.live.end(); err != nil || p.broken != 0 {
			b.Fatal(err, p.broken)
		}
	}
	runtime.KeepAlive(tab)
}

// BenchmarkBesideRapid is how many executions of w's key_atomic a second are
// drawn by rapid from a plain model of it, and by the search random from the code
// itself, in the same run; see TestSearchTables for what they find.
func BenchmarkBesideRapid(b *testing.B) {
	const executions = 50_000
	for _, size := range [][4]int{{2, 1, 1, 1}, {3, 2, 2, 2}} {
		b.Run(fmt.Sprintf("%d,%d,%d,%d", size[0], size[1], size[2], size[3]), func(b *testing.B) {
			var plain, ours time.Duration
			for b.Loop() {
				start := time.Now()
				r, err := rapidrun.Check(rapidrun.Config{Checks: executions}, func(t *rapid.T, _ bool) {
					if _, broken := plainly(wref.KeyAtomic, size, fromRapid{t}); broken {
						t.Fatal("broken")
					}
				})
				if err != nil || r.Failed {
					b.Fatal(r, err)
				}
				plain += time.Since(start)
				start = time.Now()
				w := wWorld(b, "key_atomic", size, reductions{symmetry: true, clients: true})
				learned, _, _ := interleave.Pilot(0, w)
				interleave.Sample(context.Background(), interleave.SampleConfig{
					Strategies: searches["random"], Executions: executions, Workers: 1, Learned: learned,
				}, w)
				ours += time.Since(start)
			}
			each := float64(b.N) * executions
			b.ReportMetric(each/plain.Seconds(), "rapid-executions/s")
			b.ReportMetric(each/ours.Seconds(), "our-executions/s")
			b.ReportMetric(plain.Seconds()/ours.Seconds(), "times-rapid")
		})
	}
}
