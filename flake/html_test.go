package flake

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var tag = regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)((?:\s+[a-zA-Z-]+(?:="[^"]*")?)*)\s*(/?)>`)

// balanced reports the first tag of a page that is not closed where it should be.
func balanced(page string) error {
	var open []string
	for _, m := range tag.FindAllStringSubmatch(page, -1) {
		name := m[2]
		switch {
		case m[4] == "/" || name == "meta":
		case m[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			return fmt.Errorf("</%s> closes %v", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("not closed: %v", open)
	}
	return nil
}

// TestHTML checks the structure of the page: a row for each test in both tables, a strip
// as wide as there are runs, nothing loaded, nothing of a report taken as markup.
func TestHTML(t *testing.T) {
	s := newStore(t)
	evil := `<script>alert("1")</script>`
	for i := range 5 {
		result := "ok:"
		if i == 2 {
			result = "not ok:"
		}
		add(t, s, tap(result+evil, "ok:calm", "ok:gone # SKIP"), Gathering{RunID: fmt.Sprint(i), Time: at(i), Revision: "v<1>", Labels: []string{"os=a&b"}})
	}
	var b bytes.Buffer
	if err := report(t, s, Config{Target: 0.1}).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if err := balanced(page); err != nil {
		t.Error(err)
	}
	for what, want := range map[string]int{
		`<tr><td class="n">1/5</td>`:                    1, // the ranking
		`<tr><td class="n">0/5</td>`:                    1,
		`<tr><td class="n">0/0</td>`:                    1,
		`<svg class="bar" viewBox="0 0 248 16" rol`:     3,
		`<svg class="strip" viewBox="0 0 5 1"`:          3, // the heat map
		`<path class="fail" d="M2.06 0h0.88v1H2.06z"/>`: 1,
		`<path class="none"`:                            1,
		`<circle class="seen"`:                          1,
		`<td>v&lt;1&gt;</td>`:                           5, // the runs
		`<td>os=a&amp;b</td>`:                           5,
		`prefers-color-scheme`:                          1,
		`&lt;script&gt;alert(`:                          3, // name in both tables, and its title
		`<script`:                                       0,
		`http`:                                          0,
		`src=`:                                          0,
		`href`:                                          0,
		`url(`:                                          0,
		`ZgotmplZ`:                                      0,
		`1 certified`:                                   0,
		`3 undecided`:                                   0,
		`<td>undecided</td>`:                            2,
		`What the numbers assume`:                       1,
	} {
		if got := strings.Count(page, what); got != want {
			t.Errorf("%s: %d times, want %d", what, got, want)
		}
	}
}

// TestStrip: with many runs equal neighbours are one piece.
func TestStrip(t *testing.T) {
	x := Test{Runs: 200, Failures: 2, cells: slices.Repeat([]cell{passed}, 200)}
	x.cells[7], x.cells[8], x.cells[199] = failed, failed, retried
	got := string(strip(x, 200))
	for _, want := range []string{`class="pass" d="M0 0h7v1H0zM9 0h190v1H9z"`, `class="fail" d="M7 0h2v1H7z"`, `class="retry" d="M199 0h1v1H199z"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
}

func TestHTMLEmpty(t *testing.T) {
	var b bytes.Buffer
	if err := report(t, newStore(t), Config{}).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	if err := balanced(b.String()); err != nil {
		t.Error(err)
	}
}

// TestTextIsHarmless: control characters of a report do not reach the terminal, and
// Markdown of a report is no Markdown.
func TestTextIsHarmless(t *testing.T) {
	s := newStore(t)
	add(t, s, `<testsuite name="s"><testcase name="a|b [x](y) &lt;b&gt;" classname="c"><failure message="m&#x9b;31m @team"/></testcase></testsuite>`, Gathering{Time: at(1)})
	r := report(t, s, Config{})
	var text, markdown bytes.Buffer
	if err := r.WriteText(&text, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteMarkdown(&markdown, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String(), "\x1b\u009b") {
		t.Errorf("%q", text.String())
	}
	if want := `a\|b \[x\](y) &lt;b&gt;`; !strings.Contains(markdown.String(), want) || strings.Contains(markdown.String(), " @team") {
		t.Errorf("no %s in %s", want, markdown.String())
	}
	var colored bytes.Buffer
	if err := r.WriteText(&colored, TextOptions{Color: true}); err != nil || !strings.Contains(colored.String(), "\x1b[1m") {
		t.Errorf("%v, %q", err, colored.String())
	}
}
