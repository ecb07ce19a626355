package herd

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// report is what every result can write.
type report interface {
	WriteText(w io.Writer, show string) error
	WriteJSON(w io.Writer) error
	WriteCSV(w io.Writer, show string) error
	WriteSVG(w io.Writer, show string) error
}

// everything is all that a result writes, in one.
func everything(t *testing.T, r report) string {
	t.Helper()
	var b bytes.Buffer
	err := r.WriteJSON(&b)
	if !json.Valid(b.Bytes()) {
		t.Errorf("no JSON: %s", b.String())
	}
	for _, show := range []string{Means, Arrivals, Done} {
		var svg bytes.Buffer
		err = errors.Join(err, r.WriteText(&b, show), r.WriteCSV(&b, show), r.WriteSVG(&svg, show))
		checkSVG(t, svg.String())
		b.Write(svg.Bytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

var noNumber = regexp.MustCompile(`NaN|Inf\b|%!`)

// checkSVG: valid XML, every coordinate a number, nothing fetched.
func checkSVG(t *testing.T, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v:\n%s", err, svg)
		}
	}
	if noNumber.MatchString(svg) || strings.Count(svg, "http") != 1 {
		t.Errorf("not a picture that stands alone:\n%s", svg)
	}
}

// TestWorkers: the same bytes with 1, 2 and 5 workers.
func TestWorkers(t *testing.T) {
	ctx := context.Background()
	var races, crowds []string
	for _, workers := range []int{1, 2, 5} {
		race, err := Race{Clients: []int{5, 30}, Repetitions: 20, Seed: 3, Workers: workers}.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		crowd, err := Crowd{Clients: []int{5, 30}, Repetitions: 5, Seed: 3, Workers: workers}.Run(ctx)
		if err != nil {
			t.Fatal(err)
		}
		races, crowds = append(races, everything(t, race)), append(crowds, everything(t, crowd))
	}
	for i := 1; i < len(races); i++ {
		if races[i] != races[0] || crowds[i] != crowds[0] {
			t.Errorf("the number of workers shows in the result")
		}
	}
	other, err := Race{Clients: []int{5, 30}, Repetitions: 20, Seed: 4}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if everything(t, other) == races[0] {
		t.Error("the seed does not show in the result")
	}
}

// TestInterrupted: what was finished is there, and nothing else.
func TestInterrupted(t *testing.T) {
	for _, stop := range []int{0, 1, 9, 10, 25} {
		ctx, cancel := context.WithCancel(context.Background())
		if stop == 0 {
			cancel()
		}
		r, err := Race{Clients: []int{5, 10}, Repetitions: 10, Workers: 1, Progress: func(done, total int) {
			if total != 120 {
				t.Errorf("%d repetitions in total", total)
			}
			if done == stop {
				cancel()
			}
		}}.Run(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Cells) != stop/10 || !r.Interrupted || !strings.Contains(everything(t, r), "Interrupted: ") {
			t.Errorf("stopped after %d: %d cells, interrupted %t", stop, len(r.Cells), r.Interrupted)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	// Both are longer than what runs between two looks at the context.
	crowd, err := Crowd{Clients: []int{100}, Repetitions: 1}.Run(ctx)
	if err != nil || len(crowd.Cells) > 0 || !crowd.Interrupted {
		t.Errorf("%+v, %v", crowd, err)
	}
	stack, err := Stack{}.Run(ctx)
	if err != nil || !stack.Interrupted {
		t.Errorf("%+v, %v", stack, err)
	}
	everything(t, crowd)
	everything(t, stack)
}

// TestReportsOfLittle: one client, one repetition, one layer.
func TestReportsOfLittle(t *testing.T) {
	ctx := context.Background()
	race, err := Race{Clients: []int{1}, Repetitions: 1, DelaySD: -1}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	crowd, err := Crowd{Clients: []int{1}, Repetitions: 1, DelaySD: -1}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stack, err := Stack{Attempts: []int{1}, Requests: 1}.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []report{race, crowd, stack} {
		everything(t, r)
	}
}

func TestRefusals(t *testing.T) {
	ctx := context.Background()
	for want, run := range map[string]func() error{
		"clients: 1 to 1000000 was expected, not 0":      func() error { _, err := Race{Clients: []int{0}}.Run(ctx); return err },
		"clients: 5 is named twice":                      func() error { _, err := Crowd{Clients: []int{5, 5}}.Run(ctx); return err },
		"strategies: full is named twice":                func() error { _, err := Crowd{Strategies: append(Published, "full")}.Run(ctx); return err },
		"repetitions: 1 to 1000000 was expected, not -1": func() error { _, err := Race{Repetitions: -1}.Run(ctx); return err },
		"attempts: 1 or more was expected, not 0":        func() error { _, err := Stack{Attempts: []int{3, 0}}.Run(ctx); return err },
		"budget: 0 or more was expected, not -1":         func() error { _, err := Crowd{Budget: -1}.Run(ctx); return err },
		"attempts: more than 100000000 calls; fewer layers, attempts or requests were expected": func() error {
			_, err := Stack{Attempts: []int{1000, 1000}}.Run(ctx)
			return err
		},
	} {
		if err := run(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
