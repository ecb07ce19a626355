package herd

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"exactlyone/retry"
)

// Assumption says what the intervals rest on.
const Assumption = "95 % intervals by Student's t over independent repetitions; the mean of n repetitions is taken as normally distributed"

// What a report may show.
const (
	Means    = "means"    // estimates, and lines of them by number of clients
	Arrivals = "arrivals" // of write calls over time, with the most clients
	Done     = "done"     // clients done over time, with the most clients
)

// MarshalJSON writes the counts of at most 200 bins and their width.
func (h Histogram) MarshalJSON() ([]byte, error) {
	counts, width := h.Bins(200)
	return json.Marshal(struct {
		Width  float64 `json:"bin_ms"`
		Counts []int64 `json:"counts"`
	}{width, counts})
}

// plusMinus shows an estimate with half its interval.
func (e Estimate) plusMinus() string {
	if e.N < 2 {
		return number(e.Mean)
	}
	return number(e.Mean) + " ± " + number(e.High-e.Mean)
}

// number shows one decimal below 1000.
func number(x float64) string {
	if x < 1000 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}

// exact shows a number for another program to read.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', 10, 64) }

// csvFields are an estimate's mean, error and interval.
func (e Estimate) csvFields() []string {
	if e.N < 2 {
		return []string{exact(e.Mean), "", "", ""}
	}
	return []string{exact(e.Mean), exact(e.Error), exact(e.Low), exact(e.High)}
}

// csvNames name them.
func csvNames(of string) []string {
	return []string{of, of + "_error", of + "_low", of + "_high"}
}

func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// sparkline draws counts in one line of text.
func sparkline(counts []int64) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	most := int64(1)
	for _, n := range counts {
		most = max(most, n)
	}
	var b strings.Builder
	for _, n := range counts {
		level := (n*int64(len(levels)-1) + most - 1) / most // rounded up: only 0 is blank
		b.WriteRune(levels[level])
	}
	return strings.TrimRight(b.String(), " ")
}

// seconds shows ms as seconds.
func seconds(ms float64) string { return strconv.FormatFloat(ms/1000, 'g', 3, 64) + " s" }

// most picks, for each strategy, the cell with the most clients.
func most[C any](cells []C, of func(*C) (retry.Strategy, int)) []*C {
	var picked []*C
	at := map[retry.Strategy]int{}
	for i := range cells {
		strategy, clients := of(&cells[i])
		j, ok := at[strategy]
		if !ok {
			at[strategy] = len(picked)
			picked = append(picked, &cells[i])
		} else if _, n := of(picked[j]); clients > n {
			picked[j] = &cells[i]
		}
	}
	return picked
}

// interruptedNote says how much of a sweep there is.
func interruptedNote(interrupted bool, cells, all int) string {
	if !interrupted {
		return ""
	}
	return fmt.Sprintf("Interrupted: %d of %d finished.\n", cells, all)
}
