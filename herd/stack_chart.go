package herd

import (
	"fmt"
	"io"
	"math"
)

// WriteSVG draws the calls into each layer for one request of a user.
func (r *StackResult) WriteSVG(w io.Writer, _ string) error {
	const top, step = 64.0, 40.0
	names, perRequest := r.rows()
	most := 1.0
	for _, n := range perRequest {
		most = max(most, n)
	}
	height := top + step*float64(len(names))
	p := newPicture(960, int(height)+66, "Calls that come of one request, layer by layer")
	xs := scale{0, most, 110, 880, false}
	for i, name := range names {
		y := top + step*float64(i)
		p.text(98, y+19, `text-anchor="end"`, name)
		p.add(`<rect x="%s" y="%s" width="%s" height="26" fill="%s"/>`, coordinate(xs.from), coordinate(y),
			coordinate(max(xs.at(perRequest[i])-xs.from, 0.5)), color(4))
		p.text(xs.at(perRequest[i])+8, y+19, "", short(math.Round(perRequest[i]*1000)/1000))
	}
	p.bottomAxis(xs, height, xs.ticks(), short)
	budget := "no retry budgets"
	if r.Budget > 0 {
		budget = fmt.Sprintf("a retry budget of %g tokens in each layer", r.Budget)
	}
	p.text(24, height+50, `fill="#555" font-size="12"`, fmt.Sprintf("The backend fails; attempts %v; %d requests of users; %s.", r.Attempts, r.Requests, budget))
	return p.writeTo(w)
}
