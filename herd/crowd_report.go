package herd

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"exactlyone/retry"
)

// WriteText shows Means or Done as text.
func (r *CrowdResult) WriteText(w io.Writer, show string) error {
	var b strings.Builder
	budget := "no retry budget"
	if r.Budget > 0 {
		budget = fmt.Sprintf("retry budget of %g tokens", r.Budget)
	}
	fmt.Fprintf(&b, "A server that takes %v a request, %d waiting at most; clients wait %v for an answer; %s;\nrepetitions: %d, seed: %d, cut off at %v.\n",
		r.Service, r.Queue, r.Timeout, budget, r.Repetitions, r.Seed, r.Limit)
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if show == Done {
		b.WriteString("Clients done over time, from 0 to the last one.\n\n")
		_, _ = fmt.Fprintln(tw, "strategy\tclients\tdone\tlast\tover time")
		for _, c := range r.most() {
			counts, width := c.Successes.Bins(60)
			_, _ = fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\n", c.Strategy, c.Clients, number(c.Done.Mean), seconds(width*float64(len(counts))), sparkline(counts))
		}
	} else {
		if r.Repetitions > 1 {
			fmt.Fprintf(&b, "±: %s.\n", Assumption)
		}
		b.WriteString("\n")
		_, _ = fmt.Fprintln(tw, "strategy\tclients\tdone\tgave up\ttime, ms\trequests\trefused\ttimed out\twasted\textra writes")
		for i := range r.Cells {
			c := &r.Cells[i]
			_, _ = fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Strategy, c.Clients, number(c.Done.Mean), number(c.GaveUp.Mean),
				c.time(), c.Requests.plusMinus(), number(c.Refused.Mean), number(c.Overtime.Mean), number(c.Wasted.Mean), number(c.Extra.Mean))
		}
	}
	_ = tw.Flush()
	b.WriteString(interruptedNote(r.Interrupted, len(r.Cells), len(r.Strategies)*len(r.Clients)))
	_, err := io.WriteString(w, b.String())
	return err
}

// time shows the time, or how many repetitions met the limit.
func (c *CrowdCell) time() string {
	if c.Limited > 0 {
		return fmt.Sprintf("%d of %d cut off", c.Limited, c.Time.N)
	}
	return c.Time.plusMinus()
}

// most is the cell with the most clients of each strategy.
func (r *CrowdResult) most() []*CrowdCell {
	return most(r.Cells, func(c *CrowdCell) (retry.Strategy, int) { return c.Strategy, c.Clients })
}

// WriteJSON writes everything.
func (r *CrowdResult) WriteJSON(w io.Writer) error {
	type cell struct {
		CrowdCell
		Successes Histogram `json:"done_over_time"`
	}
	cells := []cell{}
	for _, c := range r.Cells {
		cells = append(cells, cell{c, c.Successes})
	}
	return encode(w, struct {
		Service     float64 `json:"service_ms"`
		Queue       int     `json:"queue"`
		Timeout     float64 `json:"timeout_ms"`
		Limit       float64 `json:"limit_ms"`
		Budget      float64 `json:"budget"`
		Repetitions int     `json:"repetitions"`
		Seed        uint64  `json:"seed"`
		Assumption  string  `json:"assumption"`
		Interrupted bool    `json:"interrupted"`
		Cells       []cell  `json:"cells"`
	}{
		milliseconds(int64(r.Service)), r.Queue, milliseconds(int64(r.Timeout)), milliseconds(int64(r.Limit)),
		r.Budget, r.Repetitions, r.Seed, Assumption, r.Interrupted, cells,
	})
}

// WriteCSV writes a row a cell, or, of Done, a row a bin.
func (r *CrowdResult) WriteCSV(w io.Writer, show string) error {
	cw := csv.NewWriter(w)
	if show == Done {
		_ = cw.Write([]string{"strategy", "clients", "from_ms", "to_ms", "done"})
		for i := range r.Cells {
			c := &r.Cells[i]
			counts, width := c.Successes.Bins(200)
			for j, n := range counts {
				_ = cw.Write([]string{
					string(c.Strategy), strconv.Itoa(c.Clients),
					exact(float64(j) * width), exact(float64(j+1) * width), strconv.FormatInt(n, 10),
				})
			}
		}
		cw.Flush()
		return cw.Error()
	}
	head := []string{"strategy", "clients", "repetitions", "cut_off"}
	for _, name := range []string{"done", "gave_up", "time_ms", "requests", "write_calls", "refused", "timed_out", "wasted", "extra_writes"} {
		head = append(head, csvNames(name)...)
	}
	_ = cw.Write(head)
	for i := range r.Cells {
		c := &r.Cells[i]
		row := []string{string(c.Strategy), strconv.Itoa(c.Clients), strconv.Itoa(c.Done.N), strconv.Itoa(c.Limited)}
		for _, e := range []Estimate{c.Done, c.GaveUp, c.Time, c.Requests, c.Writes, c.Refused, c.Overtime, c.Wasted, c.Extra} {
			row = append(row, e.csvFields()...)
		}
		_ = cw.Write(row)
	}
	cw.Flush()
	return cw.Error()
}
