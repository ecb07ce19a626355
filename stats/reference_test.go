package stats

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"
)

// row is one line of a reference file; testdata/README.md says where they come from.
type row map[string]string

func (r row) int(t *testing.T, column string) int {
	t.Helper()
	n, err := strconv.Atoi(r[column])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (r row) float(t *testing.T, column string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(r[column], 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// reference reads testdata/name and insists on the number of rows.
func reference(t *testing.T, name string, count int) []row {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var rows []row
	for _, line := range lines[1:] {
		r := row{}
		for i, value := range line {
			r[lines[0][i]] = value
		}
		rows = append(rows, r)
	}
	if len(rows) != count {
		t.Fatalf("%s has %d rows, want %d", name, len(rows), count)
	}
	return rows
}

// near fails the test unless got is want within a relative tolerance.
func near(t *testing.T, what any, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%v: got %.17g, want %.17g, relative difference %.2g", what, got, want, math.Abs(got-want)/math.Abs(want))
	}
}

func TestClopperPearsonReference(t *testing.T) {
	for _, r := range reference(t, "clopper_pearson.csv", 336) {
		n, k, confidence := r.int(t, "n"), r.int(t, "k"), r.float(t, "confidence")
		bound := Upper
		if r["side"] == "lower" {
			bound = Lower
		}
		// TailOf takes the confidence as a decimal, so that both ways meet 1e-12.
		near(t, r, bound(k, n, TailOf(confidence)), r.float(t, "bound"), 1e-12)
		if confidence < 0.999 { // 1 - confidence has lost too many digits above
			near(t, r, bound(k, n, 1-confidence), r.float(t, "bound"), 1e-10)
		}
	}
}

func TestSequenceReference(t *testing.T) {
	for _, r := range reference(t, "confidence_sequence.csv", 42) {
		lower, upper := Sequence(r.float(t, "prior_a"), r.float(t, "prior_b"), r.int(t, "k"), r.int(t, "n"), r.float(t, "alpha"))
		near(t, r, lower, r.float(t, "lower"), 1e-12)
		near(t, r, upper, r.float(t, "upper"), 1e-12)
	}
}

func TestFisherReference(t *testing.T) {
	for _, r := range reference(t, "fisher_two_sample.csv", 60) {
		k1, n1, k2, n2 := r.int(t, "k1"), r.int(t, "n1"), r.int(t, "k2"), r.int(t, "n2")
		p := Fisher(k1, n1, k2, n2)
		near(t, r, p.Greater, r.float(t, "fisher_greater"), 1e-10)
		near(t, r, p.Less, r.float(t, "fisher_less"), 1e-10)
		near(t, r, p.TwoSided, r.float(t, "fisher_two_sided"), 1e-10)
		if r["boschloo_greater"] == "" {
			continue
		}
		p, err := Boschloo(k1, n1, k2, n2)
		if err != nil {
			t.Fatal(err)
		}
		near(t, r, p.Greater, r.float(t, "boschloo_greater"), 1e-10)
		near(t, r, p.Less, r.float(t, "boschloo_less"), 1e-10)
		near(t, r, p.TwoSided, r.float(t, "boschloo_two_sided"), 1e-10)
	}
}

func TestRunsReference(t *testing.T) {
	for _, r := range reference(t, "runs_test.csv", 44) {
		d := RunsTest(r.int(t, "fails"), r.int(t, "passes"), r.int(t, "runs"))
		near(t, r, d.Exact, r.float(t, "prob_exact"), 1e-12)
		near(t, r, d.Few, r.float(t, "p_few_runs"), 1e-12)
		near(t, r, d.Many, r.float(t, "p_many_runs"), 1e-12)
		near(t, r, d.Doubled, r.float(t, "p_two_sided_doubled"), 1e-12)
		near(t, r, d.Point, r.float(t, "p_two_sided_point"), 1e-12)
	}
}

func TestSamplesReference(t *testing.T) {
	for _, r := range reference(t, "samples_needed.csv", 72) {
		target, confidence, failures := r.float(t, "target"), r.float(t, "confidence"), r.int(t, "allowed_failures")
		n, err := RunsNeeded(target, confidence, failures)
		if err != nil || n != r.int(t, "n") {
			t.Errorf("%v: got %d, %v", r, n, err)
		}
	}
}
