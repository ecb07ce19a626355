package herd

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// colors are those of M. Okabe and K. Ito, which the colour-blind can tell
// apart, in an order for lines on white.
var colors = []string{"#000000", "#d55e00", "#e69f00", "#009e73", "#0072b2", "#cc79a7", "#56b4e9"}

// picture is an SVG that is being drawn. All texts in it are our own and need
// no escaping.
type picture struct{ strings.Builder }

func (p *picture) add(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// newPicture begins a picture with a title.
func newPicture(width, height int, title string) *picture {
	p := new(picture)
	p.add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="13" fill="#222">`,
		width, height, width, height)
	p.add(`<title>%s</title>`, title)
	p.add(`<rect width="100%%" height="100%%" fill="#fff"/>`)
	p.text(24, 30, `font-size="17" font-weight="600"`, title)
	return p
}

// writeTo ends the picture and writes it.
func (p *picture) writeTo(w io.Writer) error {
	p.add(`</svg>`)
	_, err := io.WriteString(w, p.String())
	return err
}

func (p *picture) text(x, y float64, attributes, text string) {
	p.add(`<text x="%s" y="%s" %s>%s</text>`, coordinate(x), coordinate(y), attributes, text)
}

func (p *picture) line(x1, y1, x2, y2 float64, attributes string) {
	p.add(`<line x1="%s" y1="%s" x2="%s" y2="%s" %s/>`, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), attributes)
}

// polyline draws a line through points x, y, x, y, …
func (p *picture) polyline(color string, points []float64) {
	var b strings.Builder
	for i := 0; i < len(points); i += 2 {
		fmt.Fprintf(&b, "%s,%s ", coordinate(points[i]), coordinate(points[i+1]))
	}
	p.add(`<polyline points="%s" fill="none" stroke="%s" stroke-width="2" stroke-linejoin="round"/>`, strings.TrimSpace(b.String()), color)
}

// legend names the series in a row.
func (p *picture) legend(x, y float64, names []string) {
	for i, name := range names {
		p.line(x, y-4, x+22, y-4, fmt.Sprintf(`stroke="%s" stroke-width="3"`, color(i)))
		p.text(x+28, y, "", name)
		x += 28 + 7.5*float64(len(name)) + 24
	}
}

func color(i int) string { return colors[i%len(colors)] }

func coordinate(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// scale maps values to coordinates.
type scale struct {
	low, high float64 // values
	from, to  float64 // coordinates
	log       bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(max(v, s.low))
	}
	if high == low {
		return (s.from + s.to) / 2
	}
	return s.from + (s.to-s.from)*(v-low)/(high-low)
}

// ticks are round values within a scale: 4 to 10 on a linear one, and 1, 2, 5
// of each power of ten, or 1 if there are many, on a logarithmic one.
func (s scale) ticks() []float64 {
	var ticks []float64
	if s.log {
		steps := []float64{1, 2, 5}
		if math.Log10(s.high/s.low) > 3.5 {
			steps = steps[:1]
		}
		for e := math.Floor(math.Log10(s.low)); e <= math.Log10(s.high); e++ {
			for _, m := range steps {
				if v := m * math.Pow(10, e); v >= s.low*0.999 && v <= s.high*1.001 {
					ticks = append(ticks, v)
				}
			}
		}
		return ticks
	}
	span := s.high - s.low
	if span <= 0 {
		return []float64{s.low}
	}
	step := math.Pow(10, math.Floor(math.Log10(span)))
	for _, m := range []float64{0.1, 0.2, 0.5, 1} {
		if span/(step*m) <= 10 {
			step *= m
			break
		}
	}
	for i := math.Ceil(s.low / step); i*step <= s.high*1.0001; i++ {
		ticks = append(ticks, i*step)
	}
	return ticks
}

// short shows a tick: 1500 as 1,500, 0.05 as 0.05.
func short(v float64) string {
	text := strconv.FormatFloat(v, 'g', 6, 64)
	if v >= 1e6 {
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + " million"
	}
	for i := len(text) - 3; i > 0 && v >= 1000; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// shortTime shows ms in a unit that suits them.
func shortTime(ms float64) string {
	if ms == 0 {
		return "0"
	}
	if ms < 1000 {
		return short(ms) + " ms"
	}
	return short(ms/1000) + " s"
}

// leftAxis draws grid lines and labels left of x1.
func (p *picture) leftAxis(y scale, x1, x2 float64, label func(float64) string) {
	for _, v := range y.ticks() {
		p.line(x1, y.at(v), x2, y.at(v), `stroke="#ddd"`)
		p.text(x1-8, y.at(v)+4, `text-anchor="end" fill="#555"`, label(v))
	}
}

// bottomAxis draws a line at y with ticks and labels below.
func (p *picture) bottomAxis(x scale, y float64, ticks []float64, label func(float64) string) {
	p.line(x.from, y, x.to, y, `stroke="#555"`)
	for _, v := range ticks {
		p.line(x.at(v), y, x.at(v), y+5, `stroke="#555"`)
		p.text(x.at(v), y+19, `text-anchor="middle" fill="#555"`, label(v))
	}
}
