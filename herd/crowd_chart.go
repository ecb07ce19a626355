package herd

import (
	"fmt"
	"io"
	"math"
)

// WriteSVG draws Means (time and requests by number of clients), or Done: the
// share of clients done over time.
func (r *CrowdResult) WriteSVG(w io.Writer, show string) error {
	if show == Means {
		return r.meansSVG(w)
	}
	cells := r.most()
	limit := milliseconds(int64(r.Limit))
	first := limit
	var names []string
	for _, c := range cells {
		names = append(names, string(c.Strategy))
		counts, width := c.Successes.Bins(bins)
		for i, n := range counts {
			if n > 0 {
				first = min(first, float64(i+1)*width)
				break
			}
		}
	}
	p := newPicture(960, 480, "A server of limited capacity: clients done over time")
	p.legend(24, 58, names)
	ys := scale{0, 100, 400, 88, false}
	xs := scale{first / 1.25, limit, 80, 936, true}
	p.leftAxis(ys, xs.from, xs.to, func(v float64) string { return short(v) + " %" })
	p.bottomAxis(xs, ys.from, xs.ticks(), shortTime)
	for i, c := range cells {
		counts, width := c.Successes.Bins(bins)
		all := float64(c.Clients) * float64(r.Repetitions)
		points, sum, last := []float64{xs.from, ys.from}, 0.0, xs.from
		for j, n := range counts {
			sum += float64(n)
			if x := xs.at(float64(j+1) * width); x >= last+2 {
				points, last = append(points, x, ys.at(100*sum/all)), x
			}
		}
		p.polyline(color(i), append(points, xs.to, ys.at(100*sum/all)))
	}
	clients := 0
	for _, c := range cells {
		clients = max(clients, c.Clients)
	}
	p.text(24, 464, `fill="#555" font-size="12"`, fmt.Sprintf("%d clients; %v a request, %d waiting at most, clients wait %v; mean of %d repetitions.",
		clients, r.Service, r.Queue, r.Timeout, r.Repetitions))
	return p.writeTo(w)
}

// meansSVG draws requests and time by number of clients.
func (r *CrowdResult) meansSVG(w io.Writer) error {
	var requests, times []line
	var names []string
	for i := range r.Cells {
		c := &r.Cells[i]
		if len(names) == 0 || names[len(names)-1] != string(c.Strategy) {
			names = append(names, string(c.Strategy))
			requests, times = append(requests, line{}), append(times, line{})
		}
		requests[len(requests)-1].put(c.Clients, c.Requests, math.NaN())
		times[len(times)-1].put(c.Clients, c.Time, math.NaN())
	}
	p := newPicture(960, 500, "A server of limited capacity: requests and time")
	p.legend(24, 58, names)
	p.panel(86, 104, 370, 310, "requests at the server", requests, short)
	p.panel(566, 104, 370, 310, "time until all are done or have given up", times, shortTime)
	p.text(24, 484, `fill="#555" font-size="12"`, fmt.Sprintf(
		"%v a request, %d waiting at most, clients wait %v; means of %d repetitions, cut off at %v; bars: 95 %% intervals (Student's t).",
		r.Service, r.Queue, r.Timeout, r.Repetitions, r.Limit))
	return p.writeTo(w)
}
