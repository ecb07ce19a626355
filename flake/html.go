package flake

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"exactlyone/stats"
)

//go:embed report.html
var pageText string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"percent":  stats.Percent,
	"notes":    func(t Test) []string { return notes(&t) },
	"warnings": func(t Test) []string { return t.DependenceWarnings() },
	"rate":     rate,
	"retries":  retries,
	"times":    times,
	"tests":    tests,
	"upTo":     retriesUpTo,
	"bar":      bar,
	"ticks":    ticks,
	"words":    func(s string) string { return strings.ReplaceAll(s, "_", " ") },
	"hiding":   Suite.hiding,
	"next":     func(i int) int { return i + 1 },
}).Parse(pageText))

// maxRows is how many tests the heat map shows: the ones ranked first.
const maxRows = 1000

// WriteHTML writes the report as one page that needs nothing else: no script, no
// picture, no font.
func (r *Report) WriteHTML(w io.Writer) error {
	all := slices.Concat(r.Whole, r.Tests)
	rows := all[:min(maxRows, len(all))]
	strips := make([]template.HTML, len(rows))
	for i := range rows {
		strips[i] = strip(rows[i], len(r.Runs))
	}
	headline, onTarget, _ := strings.Cut(r.headline(), "\n")
	span := ""
	if n := len(r.Runs); n > 0 {
		span = "from " + r.Runs[0].Time + " to " + r.Runs[n-1].Time
	}
	return page.Execute(w, struct {
		*Report
		Headline, OnTarget string
		Span               string
		Rows               []Test
		Left               int
		Strips             []template.HTML
		Width              int // of the heat map at most, in pixels
	}{r, headline, onTarget, span, rows, len(all) - len(rows), strips, max(40, 16*len(r.Runs))})
}

// The scale of the interval bars is logarithmic, from 0.01 % to 100 %.
const (
	barWidth = 240
	decades  = 4
)

// barAt is where a rate lies on the scale.
func barAt(rate float64) float64 {
	if rate <= 0 {
		return 0
	}
	return barWidth * math.Max(0, 1+math.Log10(rate)/decades)
}

func coordinate(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

// bar draws the interval between the bounds and a dot at the rate seen.
func bar(t Test) template.HTML {
	var b strings.Builder
	label := fmt.Sprintf("at least %s, at most %s", t.LowerShown, t.UpperShown)
	fmt.Fprintf(&b, `<svg class="bar" viewBox="0 0 %d 16" role="img" aria-label="%s"><title>%s</title>`, barWidth+8, label, label)
	for i := range decades + 1 {
		x := coordinate(4 + float64(i)*barWidth/decades)
		fmt.Fprintf(&b, `<line class="grid" x1="%s" x2="%s" y1="0" y2="16"/>`, x, x)
	}
	from, to := barAt(t.Lower), barAt(t.Upper)
	fmt.Fprintf(&b, `<rect class="interval %s" x="%s" y="5" width="%s" height="6" rx="2"/>`, class(t), coordinate(4+from), coordinate(math.Max(1, to-from)))
	if t.Failures > 0 {
		fmt.Fprintf(&b, `<circle class="seen" cx="%s" cy="8" r="3.5"/>`, coordinate(4+barAt(t.Rate)))
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// ticks labels the scale.
func ticks() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="bar" viewBox="0 0 %d 16" aria-hidden="true">`, barWidth+8)
	for i, label := range []string{"0.01%", "0.1%", "1%", "10%", "100%"} {
		anchor := []string{"start", "middle", "middle", "middle", "end"}[i]
		fmt.Fprintf(&b, `<text x="%s" y="12" text-anchor="%s">%s</text>`, coordinate(4+float64(i)*barWidth/decades), anchor, label)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

// class is the colour of a test.
func class(t Test) string {
	switch {
	case t.Failures > 0:
		return "bad"
	case t.Runs == 0:
		return "none"
	}
	return "good"
}

// states are the classes of the cells.
var states = map[cell]string{passed: "pass", retried: "retry", failed: "fail", noResult: "none"}

// strip draws what a test did in each run, as one path for each state.
func strip(t Test, runs int) template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="strip" viewBox="0 0 %d 1" preserveAspectRatio="none" role="img" aria-label="%d of %d runs failed"><title>%d of %d runs failed</title>`,
		max(1, runs), t.Failures, t.Runs, t.Failures, t.Runs)
	gap := 0.0
	if runs <= 100 {
		gap = 0.06 // a line between cells, where they are wide enough
	}
	for _, state := range []cell{passed, noResult, retried, failed} {
		var d strings.Builder
		for i := 0; i < len(t.cells); {
			j := i
			for j < len(t.cells) && t.cells[j] == state && (j == i || gap == 0) {
				j++
			}
			if j == i {
				i++
				continue
			}
			fmt.Fprintf(&d, "M%s 0h%sv1H%sz", number3(float64(i)+gap), number3(float64(j-i)-2*gap), number3(float64(i)+gap))
			i = j
		}
		if d.Len() > 0 {
			fmt.Fprintf(&b, `<path class="%s" d="%s"/>`, states[state], d.String())
		}
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

func number3(x float64) string { return strconv.FormatFloat(math.Round(x*1000)/1000, 'f', -1, 64) }
