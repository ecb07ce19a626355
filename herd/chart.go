package herd

import (
	"fmt"
	"math"
	"slices"
)

// line is one series of a chart by number of clients.
type line struct {
	clients   []float64
	estimates []Estimate
	published []float64 // NaN where there is none
}

// put adds a point; published is NaN where there is nothing.
func (l *line) put(clients int, e Estimate, published float64) {
	l.clients = append(l.clients, float64(clients))
	l.estimates = append(l.estimates, e)
	l.published = append(l.published, published)
}

// panel draws lines by number of clients between x and x+width, both axes
// logarithmic.
func (p *picture) panel(x, y, width, height float64, title string, lines []line, label func(float64) string) {
	low, high := math.Inf(1), 0.0
	var clients []float64
	for _, l := range lines {
		for i, e := range l.estimates {
			low, high = min(low, e.Mean), max(high, e.Mean, e.High)
			clients = append(clients, l.clients[i])
		}
	}
	slices.Sort(clients)
	clients = slices.Compact(clients)
	if len(clients) == 0 {
		return
	}
	low, high = max(low*0.8, 0.1), max(high*1.25, 0.2)
	ys := scale{low, high, y + height, y, true}
	xs := scale{clients[0], clients[len(clients)-1], x + 20, x + width - 20, true}
	p.text(x-50, y-14, `font-weight="600"`, title)
	p.leftAxis(ys, x, x+width, label)
	p.bottomAxis(xs, y+height, clients, short)
	p.text(x+width/2, y+height+38, `text-anchor="middle" fill="#555"`, "clients")
	for i, l := range lines {
		var points []float64
		for j, e := range l.estimates {
			cx, cy := xs.at(l.clients[j]), ys.at(e.Mean)
			points = append(points, cx, cy)
			if e.N > 1 {
				p.line(cx, ys.at(e.Low), cx, ys.at(e.High), fmt.Sprintf(`stroke="%s" stroke-width="5" opacity="0.45"`, color(i)))
			}
			p.add(`<circle cx="%s" cy="%s" r="2.5" fill="%s"/>`, coordinate(cx), coordinate(cy), color(i))
			if v := l.published[j]; !math.IsNaN(v) {
				p.add(`<circle cx="%s" cy="%s" r="5" fill="none" stroke="%s"/>`, coordinate(cx), coordinate(ys.at(v)), color(i))
			}
		}
		p.polyline(color(i), points)
	}
}
