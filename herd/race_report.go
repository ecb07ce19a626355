package herd

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"exactlyone/retry"
)

// WriteText shows Means or Arrivals as text.
func (r *RaceResult) WriteText(w io.Writer, show string) error {
	var b strings.Builder
	if show == Arrivals {
		r.arrivalsText(&b)
	} else {
		r.meansText(&b)
	}
	b.WriteString(interruptedNote(r.Interrupted, len(r.Cells), len(r.Strategies)*len(r.Clients)))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *RaceResult) meansText(b *strings.Builder) {
	fmt.Fprintf(b, "Write calls and time until the last client is done; repetitions: %d, seed: %d.\n", r.Repetitions, r.Seed)
	if r.Repetitions > 1 {
		fmt.Fprintf(b, "±: %s.\n", Assumption)
	}
	b.WriteString("\n")
	within, compared := 0, 0
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	head := "strategy\tclients\twrite calls\ttime, ms"
	anyPublished := slices.ContainsFunc(r.Cells, func(c RaceCell) bool {
		_, _, ok := r.Against(&c)
		return ok
	})
	if anyPublished {
		head = "strategy\tclients\twrite calls\tpublished\ttime, ms\tpublished"
	}
	_, _ = fmt.Fprintln(tw, head)
	for i := range r.Cells {
		c := &r.Cells[i]
		calls, time, ok := r.Against(c)
		row := []string{string(c.Strategy), strconv.Itoa(c.Clients), c.Calls.plusMinus(), c.Time.plusMinus()}
		if anyPublished {
			row = []string{row[0], row[1], row[2], "", row[3], ""}
		}
		if ok {
			row[3], row[5] = calls.text(), time.text()
			for _, a := range []Against{calls, time} {
				compared++
				if a.Within {
					within++
				}
			}
		}
		_, _ = fmt.Fprintln(tw, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	_ = tw.Flush()
	if compared > 0 {
		fmt.Fprintf(b, `
%d of %d published means are within 95 %% limits of ours; %.1f would be outside by
chance. An error is that of the difference: √(s²/%d + s²/%d + 1/12), which assumes
that the published %d repetitions had our standard deviation s, and rounding.
`, within, compared, 0.05*float64(compared), r.Repetitions, publishedRepetitions, publishedRepetitions)
	}
}

// text marks a published mean.
func (a Against) text() string {
	if a.Within {
		return fmt.Sprintf("%.0f within", a.Published)
	}
	return fmt.Sprintf("%.0f outside, %+.1f errors", a.Published, a.Errors)
}

// most is the cell with the most clients of each strategy.
func (r *RaceResult) most() []*RaceCell {
	return most(r.Cells, func(c *RaceCell) (retry.Strategy, int) { return c.Strategy, c.Clients })
}

func (r *RaceResult) arrivalsText(b *strings.Builder) {
	fmt.Fprintf(b, "Write calls that arrive over time, from 0 to the last one; repetitions: %d, seed: %d.\n\n", r.Repetitions, r.Seed)
	tw := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, "strategy\tclients\tlast\tcalls/ms at most\tarrivals")
	for _, c := range r.most() {
		counts, width := c.Arrivals.Bins(60)
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\n", c.Strategy, c.Clients, seconds(width*float64(len(counts))),
			number(peak(counts)/width/float64(r.Repetitions)), sparkline(counts))
	}
	_ = tw.Flush()
}

// peak is the largest count.
func peak(counts []int64) float64 {
	most := int64(0)
	for _, n := range counts {
		most = max(most, n)
	}
	return float64(most)
}

// WriteJSON writes everything.
func (r *RaceResult) WriteJSON(w io.Writer) error {
	type cell struct {
		Strategy retry.Strategy `json:"strategy"`
		Clients  int            `json:"clients"`
		Calls    Estimate       `json:"write_calls"`
		Time     Estimate       `json:"time_ms"`
		Against  []Against      `json:"against_published,omitempty"` // write calls, time
		Arrivals Histogram      `json:"arrivals"`
	}
	cells := []cell{}
	for i := range r.Cells {
		c := &r.Cells[i]
		out := cell{Strategy: c.Strategy, Clients: c.Clients, Calls: c.Calls, Time: c.Time, Arrivals: c.Arrivals}
		if calls, time, ok := r.Against(c); ok {
			out.Against = []Against{calls, time}
		}
		cells = append(cells, out)
	}
	return encode(w, struct {
		Repetitions int     `json:"repetitions"`
		Seed        uint64  `json:"seed"`
		Base        float64 `json:"base_ms"`
		Cap         float64 `json:"cap_ms"`
		DelayMean   float64 `json:"delay_mean_ms"`
		DelaySD     float64 `json:"delay_sd_ms"`
		FirstRetry  int     `json:"first_retry"`
		Assumption  string  `json:"assumption"`
		Interrupted bool    `json:"interrupted"`
		Cells       []cell  `json:"cells"`
	}{
		r.Repetitions, r.Seed, milliseconds(int64(r.Base)), milliseconds(int64(r.Cap)), milliseconds(int64(r.DelayMean)),
		milliseconds(int64(r.DelaySD)), r.FirstRetry, Assumption, r.Interrupted, cells,
	})
}

// WriteCSV writes a row a cell, or, of Arrivals, a row a bin.
func (r *RaceResult) WriteCSV(w io.Writer, show string) error {
	cw := csv.NewWriter(w)
	if show == Arrivals {
		_ = cw.Write([]string{"strategy", "clients", "from_ms", "to_ms", "write_calls"})
		for i := range r.Cells {
			c := &r.Cells[i]
			counts, width := c.Arrivals.Bins(200)
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
	head := append([]string{"strategy", "clients", "repetitions"}, csvNames("write_calls")...)
	head = append(head, csvNames("time_ms")...)
	_ = cw.Write(append(head, "published_calls", "published_calls_errors", "published_ms", "published_ms_errors"))
	for i := range r.Cells {
		c := &r.Cells[i]
		row := append([]string{string(c.Strategy), strconv.Itoa(c.Clients), strconv.Itoa(c.Calls.N)}, c.Calls.csvFields()...)
		row = append(row, c.Time.csvFields()...)
		if calls, time, ok := r.Against(c); ok {
			row = append(row, exact(calls.Published), exact(calls.Errors), exact(time.Published), exact(time.Errors))
		} else {
			row = append(row, "", "", "", "")
		}
		_ = cw.Write(row)
	}
	cw.Flush()
	return cw.Error()
}
