package herd

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// WriteSVG draws Means or Arrivals.
func (r *RaceResult) WriteSVG(w io.Writer, show string) error {
	if show == Arrivals {
		return r.arrivalsSVG(w)
	}
	var calls, times []line
	var names []string
	circles := false
	for i := range r.Cells {
		c := &r.Cells[i]
		if len(names) == 0 || names[len(names)-1] != string(c.Strategy) {
			names, calls, times = append(names, string(c.Strategy)), append(calls, line{}), append(times, line{})
		}
		publishedCalls, publishedTime := math.NaN(), math.NaN()
		if a, b, ok := r.Against(c); ok {
			publishedCalls, publishedTime, circles = a.Published, b.Published, true
		}
		calls[len(calls)-1].put(c.Clients, c.Calls, publishedCalls)
		times[len(times)-1].put(c.Clients, c.Time, publishedTime)
	}
	p := newPicture(960, 500, "Clients that write one row: calls and time")
	p.legend(24, 58, names)
	p.panel(86, 104, 370, 310, "write calls", calls, short)
	p.panel(566, 104, 370, 310, "time until all are done", times, shortTime)
	note := fmt.Sprintf("Means of %d repetitions; bars: 95 %% intervals (Student's t).", r.Repetitions)
	if circles {
		note += " Circles: published means."
	}
	p.text(24, 484, `fill="#555" font-size="12"`, note)
	return p.writeTo(w)
}

// arrivalsSVG draws one histogram a strategy, each over its own time.
func (r *RaceResult) arrivalsSVG(w io.Writer) error {
	const top, step, height = 62.0, 112.0, 64.0
	cells := r.most()
	p := newPicture(960, int(top+step*float64(len(cells)))+24, "When the write calls arrive, each strategy over its own time")
	for i, c := range cells {
		counts, width := c.Arrivals.Bins(400)
		y := top + step*float64(i)
		most := max(peak(counts), 1) / width / float64(r.Repetitions)
		xs := scale{0, max(width*float64(len(counts)), 1), 170, 936, false}
		ys := scale{0, most, y + height, y, false}
		p.text(24, y+30, `font-weight="600"`, string(c.Strategy))
		p.text(24, y+48, `fill="#555" font-size="12"`, short(float64(c.Clients))+" clients")
		p.line(xs.from, y, xs.to, y, `stroke="#ddd"`)
		p.text(xs.from-8, y+5, `text-anchor="end" fill="#555" font-size="12"`, fmt.Sprintf("%.2g/ms", most))
		var path strings.Builder
		fmt.Fprintf(&path, "M%s %s", coordinate(xs.from), coordinate(ys.from))
		for j, n := range counts {
			fmt.Fprintf(&path, "V%sH%s", coordinate(ys.at(float64(n)/width/float64(r.Repetitions))), coordinate(xs.at(float64(j+1)*width)))
		}
		p.add(`<path d="%sV%sZ" fill="%s"/>`, &path, coordinate(ys.from), color(i))
		p.bottomAxis(xs, y+height, xs.ticks(), shortTime)
	}
	p.text(24, top+step*float64(len(cells))+14, `fill="#555" font-size="12"`,
		fmt.Sprintf("Write calls per ms at the server, mean of %d repetitions.", r.Repetitions))
	return p.writeTo(w)
}
