package choice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"exactlyone/choice"
)

func TestExhaustive(t *testing.T) {
	// Two tasks of three steps have 6!/(3!3!) = 20 interleavings.
	interleavings := func(a, b int) int {
		e := new(choice.Exhaustive)
		seen := map[string]bool{}
		for e.Next() {
			left := [2]int{a, b}
			var order strings.Builder
			for left[0]+left[1] > 0 {
				var can []int
				for i, n := range left {
					if n > 0 {
						can = append(can, i)
					}
				}
				i := can[e.Choose(len(can), "task")]
				left[i]--
				order.WriteString(fmt.Sprint(i))
			}
			seen[order.String()] = true
		}
		return len(seen)
	}
	for _, tt := range []struct{ a, b, want int }{{0, 0, 1}, {1, 1, 2}, {3, 3, 20}, {4, 2, 15}} {
		if got := interleavings(tt.a, tt.b); got != tt.want {
			t.Errorf("%d and %d steps: %d interleavings, want %d", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestExhaustiveRunStoppedEarly(t *testing.T) {
	e := new(choice.Exhaustive)
	var got []string
	for e.Next() {
		if e.Choose(2, "stop?") == 0 {
			e.Choose(2, "only then")
		}
		got = append(got, e.Sequence().String())
	}
	if diff := cmp.Diff([]string{"0/2 0/2", "0/2 1/2", "1/2"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestExhaustiveNoticesNondeterminism(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic when the program asks another question")
		}
	}()
	e := new(choice.Exhaustive)
	for n := 2; e.Next(); n++ {
		e.Choose(n, "changing")
		e.Choose(2, "next")
	}
}

func TestReplay(t *testing.T) {
	recorded := choice.Sequence{{1, 2}, {2, 3}}
	tests := []struct {
		name  string
		asked []int
		want  []int
		err   string
	}{
		{"same questions", []int{2, 3}, []int{1, 2}, ""},
		{"then zeros", []int{2, 3, 4}, []int{1, 2, 0}, ""},
		{"too few", []int{2}, []int{1}, "the run ended after 1 of 2 recorded choices"},
		{"another question", []int{2, 2, 2}, []int{1, 0, 0}, "choice 2 (q): the recording chose 2 of 3, now there are 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &choice.Replay{Sequence: recorded}
			var got []int
			for _, n := range tt.asked {
				got = append(got, r.Choose(n, "q"))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			msg := ""
			if err := r.Err(); err != nil {
				msg = err.Error()
			}
			if msg != tt.err {
				t.Errorf("Err() = %q, want %q", msg, tt.err)
			}
		})
	}
}

func TestRandomIsSeeded(t *testing.T) {
	draw := func(seed uint64) choice.Sequence {
		r := &choice.Recorder{Source: choice.NewRandom(seed)}
		for range 100 {
			r.Choose(7, "")
		}
		return r.Sequence
	}
	if diff := cmp.Diff(draw(1), draw(1)); diff != "" {
		t.Error("one seed, two sequences:", diff)
	}
	if cmp.Equal(draw(1), draw(2)) {
		t.Error("two seeds, one sequence")
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"1", "1/", "/2", "2/2", "-1/2", "01/2", "+1/2", "a/b", "0/0", "0/99999999999999999999"} {
		if s, err := choice.Parse(text); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", text, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("0/2 1/3 0/1")
	f.Add("")
	f.Add(" 5/6\n")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := choice.Parse(text)
		if err != nil {
			return
		}
		again, err := choice.Parse(s.String())
		if err != nil || !cmp.Equal(s, again) {
			t.Errorf("%q reads as %v, which reads back as %v, %v", text, s, again, err)
		}
	})
}

func ExampleExhaustive() {
	e := new(choice.Exhaustive)
	for e.Next() {
		coin := e.Choose(2, "coin")
		if coin == 1 {
			fmt.Println("tails", e.Choose(2, "again"))
		} else {
			fmt.Println("heads")
		}
	}
	// Output:
	// heads
	// tails 0
	// tails 1
}
