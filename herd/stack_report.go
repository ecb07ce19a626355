package herd

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// rows are the layers by name, from the users' down to the backend.
func (r *StackResult) rows() (names []string, perRequest []float64) {
	for i, n := range r.Calls {
		name := "layer " + strconv.Itoa(i+1)
		if i == len(r.Attempts) {
			name = "backend"
		}
		names = append(names, name)
		perRequest = append(perRequest, float64(n)/float64(r.Requests))
	}
	return names, perRequest
}

// WriteText shows the calls into each layer.
func (r *StackResult) WriteText(w io.Writer, _ string) error {
	var b strings.Builder
	budget := "no retry budgets"
	if r.Budget > 0 {
		budget = fmt.Sprintf("a retry budget of %g tokens in each layer", r.Budget)
	}
	fmt.Fprintf(&b, "%d layers that retry above a backend that fails; %d requests of users, one every %v; %s; seed: %d.\n\n",
		len(r.Attempts), r.Requests, r.Every, budget, r.Seed)
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "\tattempts\tcalls into it\tper request\tretries refused")
	names, perRequest := r.rows()
	for i, name := range names {
		attempts, refused := "-", "-"
		if i < len(r.Attempts) {
			attempts, refused = strconv.Itoa(r.Attempts[i]), strconv.FormatInt(r.Refused[i], 10)
		}
		_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%.4g\t%s\n", name, attempts, r.Calls[i], perRequest[i], refused)
	}
	_ = tw.Flush()
	backend, all := r.PerRequest()
	fmt.Fprintf(&b, "\nOf one request come %.4g calls to the backend and %.4g in all layers; the attempts multiplied are %d.\n",
		backend, all-backend, r.Product())
	if r.Time.N > 0 {
		fmt.Fprintf(&b, "A user learns of the failure after %s on average.\n", seconds(r.Time.Mean))
	}
	if r.Interrupted {
		b.WriteString("Interrupted: what had happened by then.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteJSON writes everything.
func (r *StackResult) WriteJSON(w io.Writer) error {
	backend, all := r.PerRequest()
	return encode(w, struct {
		Attempts    []int     `json:"attempts"`
		Requests    int       `json:"requests"`
		Budget      float64   `json:"budget"`
		Seed        uint64    `json:"seed"`
		Calls       []int64   `json:"calls"` // into each layer, then the backend
		Refused     []int64   `json:"retries_refused"`
		Backend     float64   `json:"backend_calls_per_request"`
		Layers      float64   `json:"layer_calls_per_request"`
		Product     int       `json:"product"`
		Time        float64   `json:"mean_time_ms"`
		Interrupted bool      `json:"interrupted"`
		Arrivals    Histogram `json:"backend_arrivals"`
	}{r.Attempts, r.Requests, r.Budget, r.Seed, r.Calls, r.Refused, backend, all - backend, r.Product(), r.Time.Mean, r.Interrupted, r.Arrivals})
}

// WriteCSV writes a row a layer.
func (r *StackResult) WriteCSV(w io.Writer, _ string) error {
	cw := csv.NewWriter(w)
	_ = cw.Write([]string{"layer", "attempts", "calls", "per_request", "retries_refused"})
	names, perRequest := r.rows()
	for i, name := range names {
		attempts, refused := "", ""
		if i < len(r.Attempts) {
			attempts, refused = strconv.Itoa(r.Attempts[i]), strconv.FormatInt(r.Refused[i], 10)
		}
		_ = cw.Write([]string{name, attempts, strconv.FormatInt(r.Calls[i], 10), exact(perRequest[i]), refused})
	}
	cw.Flush()
	return cw.Error()
}
