package exactlyone

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"exactlyone/interleave"
	"exactlyone/internal/wref"
	"exactlyone/model"
)

var wWriters = map[string]wref.Writer{
	"naive": wref.Naive, "key_split": wref.KeySplit,
	"key_atomic": wref.KeyAtomic, "key_atomic_nofence": wref.KeyAtomicNoFence,
}

// wWorld is W(size) for a writer, ready to be searched.
func wWorld(t testing.TB, writer string, size [4]int, reduce reductions) *world {
	t.Helper()
	sys := wSystem(writer)
	b, err := wBounds(size[0], size[1], size[2], size[3]).withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	tab, err := newTables(&sys, b)
	if err != nil {
		t.Fatal(err)
	}
	return newWorld(tab, reduce)
}

// observe is a state as the reference program defines it.
func observe(w *world, v []uint32) wref.State {
	st := w.values.Value(v[atStores]).(wState)
	s := wref.State{
		Reports: uint8(st.reports), Fence: uint8(st.fence), Resp: uint8(st.response),
		Crash: uint8(left(v, budgetCrash)), Lost: uint8(left(v, budgetLost)), Expire: uint8(left(v, budgetJump)),
		N: uint8(w.clients),
	}
	switch st.status {
	case "in_progress":
		s.Status = wref.InProgress
		if moved(v).Sub(time.Unix(0, 0)) > st.lease {
			s.Expired = 1
		}
	case "done":
		s.Status = wref.Done
	}
	for c := range w.clients {
		s.C[c] = observeClient(w, v, c)
	}
	return s
}

func observeClient(w *world, v []uint32, c int) wref.Client {
	got := wref.Client{Attempt: 1}
	for id, event := w.tree.Last(v[w.clientAt(c)]); id != 0; id, event = w.tree.Last(id) {
		if r, ok := w.values.Value(interleave.EventValue(event)).(received); ok && (r.err != nil || r.answer.Status == 409) {
			got.Attempt++
		}
	}
	if p := w.clientStands(v, c); p.Op == nil {
		got.PC, got.Attempt = wref.Finished, min(got.Attempt, wref.MaxAttempt)
		if o := p.Result.(outcome); o.Kind == model.Success {
			got.ID = wID(o.Answer)
		}
		return got
	}
	if w.word(v, c, 0).phase() == phaseAnswered {
		got.PC = wref.AtRespond
		a := w.values.Value(v[w.slot(c, 0)+slotMessage]).(model.Answer)
		if got.Kind = wref.Conflict; a.Status != 409 {
			got.Kind, got.ID = wref.OK, wID(a)
		}
		return got
	}
	op := w.handlerStands(v, c, 0).Op.(storeOp).op.(wOp)
	switch op.step {
	case "insert", "look", "claim":
		got.PC = 1
		if w.sys.Name == "w/key_split" && op.step == "insert" {
			got.PC = 2
		}
	case "process":
		got.PC, got.Mine = 2, uint8(op.mine)
	case "register":
		got.PC, got.ID = 3, uint8(op.mine)
	default:
		got.PC, got.Mine = 3, uint8(op.mine)
	}
	return got
}

func wID(a model.Answer) uint8 {
	id, _ := strconv.Atoi(a.Body)
	return uint8(id)
}

// referenceStates is every state of the reference program, and the complete
// ones; sorted makes clients interchangeable.
func referenceStates(writer wref.Writer, size [4]int) (all, complete map[wref.State]bool) {
	first := wref.Initial(size[0], size[1], size[2], size[3])
	all, complete = map[wref.State]bool{first: true}, map[wref.State]bool{}
	for queue := []wref.State{first}; len(queue) > 0; queue = queue[1:] {
		if wref.Complete(queue[0]) {
			complete[queue[0]] = true
		}
		wref.Successors(writer, queue[0], func(_ string, _ int, s wref.State) {
			if !all[s] {
				all[s] = true
				queue = append(queue, s)
			}
		})
	}
	return all, complete
}

func sorted(states map[wref.State]bool) map[wref.State]bool {
	classes := map[wref.State]bool{}
	for s := range states {
		classes[wref.Sorted(s)] = true
	}
	return classes
}

// same compares two sets of states.
func same(t *testing.T, what string, got, want map[wref.State]bool) {
	t.Helper()
	for s := range got {
		if !want[s] {
			t.Errorf("%s: state %v is not reachable in the reference", what, s)
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d states, want %d", what, len(got), len(want))
	}
}

// TestWStates compares the states that the search visits, seen as the workload
// defines a state, with the reference program's: the same set, and for
// key_atomic the published counts.
func TestWStates(t *testing.T) {
	for _, tt := range []struct {
		writer                        string
		size                          [4]int
		states, interchangeable, ends int // 0: not published
	}{
		{"key_atomic", [4]int{2, 1, 1, 1}, 2421, 1259, 148},
		{"key_atomic", [4]int{2, 2, 2, 1}, 4923, 2576, 316},
		{"key_atomic", [4]int{3, 1, 1, 1}, 38443, 7441, 669},
		{"key_atomic", [4]int{3, 2, 2, 2}, 268890, 50580, 3045},
		{"naive", [4]int{3, 1, 1, 1}, 0, 0, 0},
		{"key_split", [4]int{2, 2, 2, 1}, 0, 0, 0},
		{"key_atomic_nofence", [4]int{2, 2, 2, 1}, 0, 0, 0},
	} {
		t.Run(fmt.Sprint(tt.writer, tt.size), func(t *testing.T) {
			if testing.Short() && tt.states > 10000 {
				t.Skip("large; skipped with -short")
			}
			want, wantEnds := referenceStates(wWriters[tt.writer], tt.size)
			if tt.states > 0 && (len(want) != tt.states || len(sorted(want)) != tt.interchangeable || len(wantEnds) != tt.ends) {
				t.Fatalf("the reference has %d states, %d interchangeable, %d ends; want %d, %d, %d",
					len(want), len(sorted(want)), len(wantEnds), tt.states, tt.interchangeable, tt.ends)
			}
			w := wWorld(t, tt.writer, tt.size, reductions{})
			w.props = nil // a broken property would end the search
			got, ends := map[wref.State]bool{}, map[wref.State]bool{}
			r := interleave.Explore(context.Background(), interleave.Config{
				Visit: func(v []uint32) { got[observe(w, v)] = true },
				End:   func(v []uint32) { ends[observe(w, v)] = true },
			}, w)
			if r.Stop != interleave.Complete {
				t.Fatalf("stopped: %s", r.Stop)
			}
			same(t, "states", got, want)
			same(t, "ends", ends, wantEnds)
			t.Logf("%d states, %d digests", len(got), r.States)
		})
	}
}

// TestWReductions: every reduction, alone and with all others, reaches the same
// ends; with all, there are at most 1.5 times as many digests as the workload
// has states with clients taken as interchangeable.
func TestWReductions(t *testing.T) {
	all := reductions{symmetry: true, crashes: true, clients: true}
	for writer, ref := range wWriters {
		for _, size := range [][4]int{{2, 1, 1, 1}, {2, 2, 2, 1}, {3, 1, 1, 1}, {3, 2, 2, 2}} {
			if size[1]+size[0] > 4 && writer != "key_atomic" {
				continue // the largest size only once
			}
			states, complete := referenceStates(ref, size)
			for _, reduce := range []reductions{{}, {symmetry: true}, {crashes: true}, {clients: true}, all} {
				if testing.Short() && size[0] > 2 || size[0]+size[1] > 4 && reduce != all {
					continue
				}
				name := fmt.Sprintf("%s %v %+v", writer, size, reduce)
				w := wWorld(t, writer, size, reduce)
				w.props = nil
				ends := map[wref.State]bool{}
				r := interleave.Explore(context.Background(), interleave.Config{
					End: func(v []uint32) { ends[observe(w, v)] = true },
				}, w)
				same(t, name, sorted(ends), sorted(complete))
				if reduce == all {
					if classes := len(sorted(states)); 2*r.States > 3*classes {
						t.Errorf("%s: %d digests, want at most 1.5 times %d", name, r.States, classes)
					}
				}
			}
		}
	}
}

// TestWInterleavings counts the complete executions without any cache.
func TestWInterleavings(t *testing.T) {
	for _, tt := range []struct {
		writer string
		size   [4]int
		want   int
	}{
		{"key_atomic", [4]int{2, 1, 1, 1}, 889_468}, // published
		{"naive", [4]int{2, 1, 1, 1}, 4_070},        // reference program, by counting paths
		{"key_split", [4]int{2, 1, 1, 1}, 153_442},
		{"key_atomic", [4]int{2, 0, 0, 0}, 140},
	} {
		w := wWorld(t, tt.writer, tt.size, reductions{})
		r := interleave.Naive(context.Background(), interleave.Config{}, w, true)
		if r.Executions() != tt.want {
			t.Errorf("%s %v: %d executions, want %d", tt.writer, tt.size, r.Executions(), tt.want)
		}
	}
}

// TestWShortest: the published lengths of the shortest violations, in choices,
// every client finished.
func TestWShortest(t *testing.T) {
	for writer, want := range map[string]map[int]int{
		"naive": {2: 4, 3: 6}, "key_split": {2: 8, 3: 10}, "key_atomic_nofence": {2: 9, 3: 11},
	} {
		for clients, choices := range want {
			size := [4]int{clients, 1, 1, 1}
			for _, reduce := range []reductions{{}, {symmetry: true, crashes: true, clients: true}} {
				w := wWorld(t, writer, size, reduce)
				first := interleave.Explore(context.Background(), interleave.Config{}, w)
				if first.Stop != interleave.Violation {
					t.Fatalf("%s, %d clients: %s, want a violation", writer, clients, first.Stop)
				}
				least := interleave.Minimal(context.Background(), interleave.Config{}, w.Fork(true), first.Faults)
				if least.Stop != interleave.Violation || len(least.Path) != choices {
					t.Errorf("%s, %d clients: minimal has %d choices, want %d", writer, clients, len(least.Path), choices)
				}
			}
		}
	}
}
