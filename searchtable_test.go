package exactlyone

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"exactlyone/choice"
	"exactlyone/interleave"
	"exactlyone/internal/rapidrun"
	"exactlyone/internal/wref"
)

// How many executions it takes to the first that fails, and how long the story
// is that is told in the end, for each way to draw executions.

// tableSeeds is how many searches a row of a table is made of.
const tableSeeds = 30

// found is what one search has found.
type found struct {
	executions int // to the first that failed, with it
	shrinking  int // more of them, to shrink it
	steps      int // of the story
	minimal    bool
}

// fromRapid is a source of choices, as in package rapidsource, which imports this
// one.
type fromRapid struct{ t *rapid.T }

func (s fromRapid) Choose(n int, label string) int {
	return int(rapid.UintRange(0, uint(n-1)).Draw(s.t, label))
}

// byRapid lets rapid look for an execution that fails. The execution returns how
// long it is and whether it fails.
func byRapid(t testing.TB, seed uint64, execution func(src choice.Source) (steps int, broken bool)) (f found) {
	t.Helper()
	r, err := rapidrun.Check(rapidrun.Config{Checks: defaultExecutions, Seed: seed}, func(rt *rapid.T, _ bool) {
		steps, broken := execution(fromRapid{rt})
		f.shrinking++
		if !broken {
			return
		}
		if f.executions == 0 {
			f.executions, f.shrinking = f.shrinking, 0
		}
		f.steps = steps
		rt.Fatal("broken")
	})
	if err != nil || !r.Failed {
		t.Fatalf("seed %d: rapid found nothing, %v", seed, err)
	}
	return f
}

// byStrategies draws executions, and shrinks the first that fails.
func byStrategies(t testing.TB, w *world, seed uint64, strategies []interleave.Strategy) found {
	t.Helper()
	learned, _, _ := interleave.Pilot(seed, w)
	r := interleave.Sample(context.Background(), interleave.SampleConfig{
		Strategies: strategies, Executions: 500, Seed: seed, Workers: 1, Learned: learned,
	}, w)
	if r.Broken == 0 {
		t.Fatalf("seed %d: nothing is broken", seed)
	}
	path, minimal := interleave.Shrink(context.Background(), w, r.Path, r.Broken)
	return found{executions: r.Executions, steps: len(path), minimal: minimal}
}

// drawnBy is what each way to draw executions of a world has found.
func drawnBy(t testing.TB, w *world, search string) []found {
	t.Helper()
	var all []found
	var d driven
	for seed := range uint64(tableSeeds) {
		if search != rapidSearch {
			all = append(all, byStrategies(t, w, seed, searches[search]))
			continue
		}
		all = append(all, byRapid(t, seed, func(src choice.Source) (int, bool) {
			d.draw(w, src)
			return len(d.path), d.broken != 0
		}))
	}
	return all
}

// plainly follows an execution of the straight-line program of w.
func plainly(writer wref.Writer, size [4]int, src choice.Source) (length int, broken bool) {
	s, last := wref.Initial(size[0], size[1], size[2], size[3]), 0
	var steps, faults []wref.State
	var who []int
	for !wref.Complete(s) {
		steps, faults, who = steps[:0], faults[:0], who[:0]
		wref.Successors(writer, s, func(what string, client int, next wref.State) {
			switch {
			case what != "step":
				faults = append(faults, next)
			case client == last: // the plainest
				steps, who = slices.Insert(steps, 0, next), slices.Insert(who, 0, client)
			default:
				steps, who = append(steps, next), append(who, client)
			}
		})
		length++
		if len(faults) > 0 && src.Choose(oneIn, "fault") == oneIn-1 {
			s = faults[src.Choose(len(faults), "which fault")]
			continue
		}
		i := src.Choose(len(steps), "next")
		s, last = steps[i], who[i]
	}
	return length, wref.Violates(s)
}

// tableRow is a row of a table: what the searches have found, from the least to
// the most.
func tableRow(first string, all []found) string {
	of := func(f func(found) int) []int {
		var ns []int
		for _, one := range all {
			ns = append(ns, f(one))
		}
		slices.Sort(ns)
		return ns
	}
	executions := of(func(f found) int { return f.executions })
	steps := of(func(f found) int { return f.steps })
	shrinking := of(func(f found) int { return f.shrinking })
	minimal := 0
	for _, f := range all {
		if f.minimal {
			minimal++
		}
	}
	known, spent := fmt.Sprintf("%d of %d", minimal, len(all)), "n/a"
	if shrinking[0] > 0 {
		known, spent = "n/a", fmt.Sprint(shrinking[len(all)/2])
	}
	return fmt.Sprintf("| %s | %d | %d | %d to %d | %s | %s |\n", first, executions[len(all)/2], executions[len(all)-1], steps[0], steps[len(all)-1], known, spent)
}

const tableHead = " | executions to the bug: median | most | steps of the story | known to be minimal | executions to shrink it: median |\n|---|---|---|---|---|---|\n"

// searchTables are the tables of docs/search.md.
func searchTables(t *testing.T) string {
	var b strings.Builder
	for _, writer := range []string{"naive", "key_split", "key_atomic_nofence"} {
		b.WriteString("| " + writer + tableHead)
		for _, search := range Searches[1:] {
			sys := builtin(t, writer, "")
			bounds, err := Bounds{}.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			tab, err := newTables(&sys, bounds)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(tab, reductions{symmetry: true, clients: true})
			w.last = true
			b.WriteString(tableRow(search, drawnBy(t, w, search)))
			tab.close()
		}
		b.WriteString("\n")
	}
	return b.String()
}

// plainTable is the table of docs/performance.md.
func plainTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| w" + tableHead)
	for _, size := range [][4]int{{2, 1, 1, 1}, {3, 2, 2, 2}} {
		for _, writer := range []string{"naive", "key_split", "key_atomic_nofence"} {
			name := fmt.Sprintf("W(%d,%d,%d,%d), %s, ", size[0], size[1], size[2], size[3], writer)
			var plain []found
			for seed := range uint64(tableSeeds) {
				plain = append(plain, byRapid(t, seed, func(src choice.Source) (int, bool) { return plainly(wWriters[writer], size, src) }))
			}
			b.WriteString(tableRow(name+"a plain model with rapid", plain))
			w := wWorld(t, writer, size, reductions{symmetry: true, clients: true})
			w.last = true
			b.WriteString(tableRow(name+"`--search random`", drawnBy(t, w, "random")))
		}
	}
	return b.String()
}

// TestSearchTables: the tables in docs/ say what searches find.
func TestSearchTables(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: it runs some 900 searches")
	}
	inDocs(t, "docs/search.md", searchTables(t))
	inDocs(t, "docs/performance.md", plainTable(t))
}

// inDocs compares a table with that in a document, or replaces it there.
func inDocs(t *testing.T, path, table string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- searches: begin -->\n", "<!-- searches: end -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the marks %q and %q were expected", path, begin, end)
	}
	now := head + begin + table + end + tail
	switch {
	case *update:
		if err := os.WriteFile(path, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	case now != string(data):
		t.Errorf("%s is out of date: run go test . -run TestSearchTables -update", path)
	}
}
