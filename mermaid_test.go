package exactlyone

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func mermaid(t testing.TB, story *Trace) string {
	t.Helper()
	var b strings.Builder
	if err := story.WriteMermaid(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestMermaidText: what was found, in Mermaid 11.17, to end a statement, to
// vanish, or to change when it stands in a text as it is.
func TestMermaidText(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{`a;b`, `a#59;b`},
		{`a#b`, `a#35;b`},
		{`&lt; &amp;`, `#38;lt#59; #38;amp#59;`},
		{`<b>x</b><br/>`, `#60;b#62;x#60;/b#62;#60;br/#62;`},
		{`%%{init: {}}%%`, `#37;#37;{init: {}}#37;#37;`},
		{`$$x^2$$`, `#36;#36;x^2#36;#36;`},
		{"```mermaid", "#96;#96;#96;mermaid"},
		{`ﬂ°°35¶ß 20 °C`, `#64258;°°35#182;ß 20 °C`},
		{`style:#35;`, `#115;tyle:#35;35#59;`},
		{`classDef x:#1;`, `#99;lassDef x:#35;1#59;`},
		{`wrap: a`, `#119;rap: a`},
		{`nowrap: a`, `#110;owrap: a`},
		{`end`, `#101;nd`},
		{`the End; end`, `the #69;nd#59; #101;nd`},
		{`send ending`, `send ending`},
		{"a\nb\tc\rd", `a␊b␉c�d`},
		{"a\u00a0b\u202ec\u2028d", `a b�c�d`},
		{"\xff", "�"},
		{`{"id": 1} 'x' \n a,b +-=@[](|)`, `{"id": 1} 'x' \n a,b +-=@[](|)`},
		{`→ ✗ 漢字 é`, `→ ✗ 漢字 é`},
	} {
		if got := mermaidText(tt.in); got != tt.want {
			t.Errorf("mermaidText(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

var escaped = regexp.MustCompile(`#([0-9]+);`)

// TestMermaidTextAny: of any text nothing is left that Mermaid would read as
// more than text, and it reads the text itself.
func TestMermaidTextAny(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"end", "style", "wrap:", "classDef", "#", ";", "%%{", "$$", "<br/>", "¶ß", "ﬂ°", " ", ":", "\n", "ſtyle",
		}))).Draw(t, "parts")
		text := strings.Join(parts, "")
		got := mermaidText(text)
		if left := escaped.ReplaceAllString(got, ""); strings.ContainsAny(left, "#;<>&`%$ﬂ¶\n") {
			t.Fatalf("%q has specials", got)
		}
		if regexp.MustCompile(`(^| )(end|(no)?wrap:)( |$)|style|classDef`).MatchString(got) {
			t.Fatalf("%q has reserved words", got)
		}
		read := escaped.ReplaceAllStringFunc(got, func(s string) string {
			n, _ := strconv.Atoi(s[1 : len(s)-1])
			return string(rune(n))
		})
		if again := mermaidText(read); again != got {
			t.Fatalf("%q is read as %q", got, read)
		}
	})
}

// nasty has everything that means something to Mermaid, HTML or Markdown.
const nasty = "; # : \" ' < > { } [ ] ( ) ` \\ & %%{init: {}}%% $$x$$ ->> --x @{a} <br/>\nend\r\n```\nend;style:#35; wrap: ¶ß ﬂ°°35¶ß \u202e → ✗ 漢字 \x00 "

// nastyStory puts it everywhere.
func nastyStory(arrows bool) *Trace {
	story := &Trace{
		Version: 1, System: nasty, Property: nasty, Message: nasty + strings.Repeat("long", 99), Need: []string{nasty},
		Bounds: Bounds{Clients: 1, Nodes: 1}, Faults: 1,
	}
	for i, text := range []string{nasty, "end", "", "wrap: x", strings.Repeat("x", 999), strings.Repeat("; ", 999)} {
		step := Step{N: i + 1, Of: 1, Label: text, Fault: i%2 == 0, Time: text, Cells: []Cell{
			{Who: "client 1", What: text},
			{Who: "clock", What: text},
			{Who: nasty, What: text},
			{What: text},
			{Who: "store " + nasty, What: text},
			{Who: "third party", What: text},
		}}
		if arrows {
			step.Cells[0].Arrows = []Arrow{
				{From: "client 1", To: nasty, Text: text},
				{From: nasty, To: "relay", Text: text, Lost: true},
				{From: "end", To: "end", Text: text},
				{From: "node 1", To: "client 1", Text: text, Reply: true},
				{From: "node 1", To: "clock", Text: text, Reply: true, Lost: true},
				{From: "", To: "", Text: text},
			}
		}
		story.Steps = append(story.Steps, step)
	}
	return story
}

// mermaidLine matches each line that a diagram may have.
var mermaidLine = regexp.MustCompile(`^(%% .*|sequenceDiagram|    (title .*|participant p[1-9]\d* as .*|p[1-9]\d*(->>|-->>|-x|--x)p[1-9]\d*: .*|Note over p[1-9]\d*(,p[1-9]\d*)?: .*|rect rgba\(255, 0, 0, 0\.15\)|end))$`)

// checkMermaid checks that each line is a statement, and every text escaped.
func checkMermaid(t testing.TB, text string) {
	t.Helper()
	depth := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !mermaidLine.MatchString(line) {
			t.Errorf("not a statement: %q", line)
		}
		left := escaped.ReplaceAllString(strings.ReplaceAll(strings.Replace(line, ">>", "", 1), "<br/>", ""), "")
		if !strings.HasPrefix(line, "%% ") && strings.ContainsAny(left, "#;<>&`%$ﬂ¶") || strings.Contains(line, "%%{") {
			t.Errorf("not escaped: %q", line)
		}
		switch strings.TrimSpace(strings.TrimSuffix(line, "rgba(255, 0, 0, 0.15)")) {
		case "rect":
			depth++
		case "end":
			depth--
		}
	}
	if depth != 0 {
		t.Errorf("rect and end differ by %d", depth)
	}
}

func TestMermaidNasty(t *testing.T) {
	for _, arrows := range []bool{false, true} {
		checkMermaid(t, mermaid(t, nastyStory(arrows)))
	}
	checkMermaid(t, mermaid(t, &Trace{}))
	var b strings.Builder
	s := NamedState{nasty, strings.Repeat(nasty+"\n", 20)}
	_ = nastyStory(true).WriteMermaidAt(&b, Snapshot{Stores: []NamedState{s}, Stands: []NamedState{s, {"client 1", nasty}}, Open: []NamedState{s}})
	checkMermaid(t, b.String())
	b.Reset()
	_ = (&Result{System: nasty, Verdict: Inconclusive, Why: nasty}).WriteMermaid(&b)
	checkMermaid(t, b.String())
}

// TestMermaidOlder: the steps of an older version have no arrows, and a newer
// one may have participants that nobody has heard of.
func TestMermaidOlder(t *testing.T) {
	story, err := ReadTrace(strings.NewReader(`{"version": 1, "system": "mine", "property": "p", "message": "m",
		"bounds": {"clients": 1, "attempts": 1, "nodes": 1}, "steps": [
		{"n": 1, "of": 1, "label": "l", "time": "+0s", "cells": [{"who": "client 1", "what": "sends POST"}, {"who": "node 1", "what": "▶ client 1"}]},
		{"n": 2, "of": 1, "label": "l", "time": "+1s", "cells": [{"who": "client 1", "what": "COMMIT"}, {"who": "store db", "what": "+r id=1"}]},
		{"n": 3, "of": 1, "label": "the clock jumps to +2s", "fault": true, "time": "+2s", "cells": [{"who": "clock", "what": "✗ +2s"}]},
		{"n": 4, "of": 1, "label": "l", "time": "+2s", "cells": [{"who": "relay", "what": "publishes", "arrows": [{"from": "relay", "to": "third party", "text": "event 1"}]}]}]}`), "old")
	if err != nil {
		t.Fatal(err)
	}
	want := `%% mine breaks p: m
%% Story (0 faults, 0 switches, 4 steps)
sequenceDiagram
    title mine breaks p
    participant p1 as client 1
    participant p2 as relay
    participant p3 as node 1
    participant p4 as store db
    participant p5 as third party
    Note over p1: 1. sends POST
    Note over p3: ▶ client 1
    Note over p1,p5: time +1s
    Note over p1: 2. COMMIT
    Note over p4: +r id=1
    rect rgba(255, 0, 0, 0.15)
    Note over p1,p5: 3. ✗ the clock jumps to +2s
    end
    p2->>p5: 4. event 1
    Note over p1,p5: ✗ p: m
`
	if diff := cmp.Diff(want, mermaid(t, story)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestMermaidLong: a story too long for Mermaid loses its middle, not its end.
func TestMermaidLong(t *testing.T) {
	story := &Trace{System: "mine", Property: "p", Message: "m", Bounds: Bounds{Clients: 1, Nodes: 1}}
	for i := range 2000 {
		story.Steps = append(story.Steps, Step{N: i + 1, Time: "+0s", Cells: []Cell{{Who: "client 1", What: "x" + strings.Repeat(" ;", i%40)}}})
	}
	text := mermaid(t, story)
	checkMermaid(t, text)
	if len(text) > mermaidSize || len(text) < mermaidSize*9/10 {
		t.Errorf("%d bytes, at most and almost %d were expected", len(text), mermaidSize)
	}
	var from, to int
	_, rest, _ := strings.Cut(text, "Note over p1,p2: steps ")
	if _, err := fmt.Sscanf(rest, "%d to %d are left out", &from, &to); err != nil {
		t.Fatal("no note says what was left out")
	}
	for _, n := range []int{1, from - 1, to + 1, 2000} {
		if !strings.Contains(text, fmt.Sprintf(": %d. ", n)) {
			t.Errorf("step %d is missing", n)
		}
	}
	for _, n := range []int{from, to} {
		if strings.Contains(text, fmt.Sprintf(": %d. ", n)) {
			t.Errorf("step %d is there, but said to be left out", n)
		}
	}
}

// TestArrows: in every story of a writer, with each kind of fault, the arrows
// join those who take part, and every statement and message has one.
func TestArrows(t *testing.T) {
	for _, tt := range []struct {
		writer string
		bounds Bounds
	}{
		{"naive", Bounds{Clients: 1, Nodes: 2, LostRequests: 1, Duplicates: 1, Jumps: 1}},
		{"naive", Bounds{Clients: 2, Attempts: 1, Jumps: None, Crashes: None, LostAnswers: None, Duplicates: 1}},
		{"key_split", Bounds{Clients: 1, CommitFaults: 1, LostRequests: 1, Jumps: None}},
		{"naive", Bounds{Clients: 1, Jumps: None, StatementAnswers: 1, Cancels: 1, Skews: 1}},
		{"key_split", Bounds{Clients: 1, Jumps: None, LostAnswers: None, StoreErrors: 1}},
	} {
		sys := builtin(t, tt.writer, "")
		b, _ := tt.bounds.withDefaults()
		tab, err := newTables(&sys, b)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		everyExecution(newPerformance(newWorld(tab, reductions{}).Fork(true).(*world)), func(p *performance) {
			story := p.trace(&Trace{})
			names := story.participants()
			for _, s := range story.Steps {
				checkArrows(t, story, names, s)
				if !seen[s.Label] {
					seen[s.Label] = true
					checkMermaid(t, mermaid(t, story))
				}
			}
		})
		if len(seen) < 10 {
			t.Errorf("%s: only %d kinds of steps", tt.writer, len(seen))
		}
	}
}

// noArrow matches the steps in which nothing passes from one to another.
var noArrow = regexp.MustCompile(`^client \d: (begin to sleep|sleep until .*)$|^the clock `)

func checkArrows(t *testing.T, story *Trace, names []string, s Step) {
	t.Helper()
	some := false
	for _, c := range s.Cells {
		for _, a := range c.Arrows {
			some = true
			if !slices.Contains(names, a.From) || !slices.Contains(names, a.To) || a.Text == "" {
				t.Errorf("step %q: arrow %+v among %q", s.Label, a, names)
			}
		}
	}
	want := !noArrow.MatchString(s.Label)
	switch {
	case strings.HasSuffix(s.Label, " crashes"):
		return // somebody waits for an answer, or nobody
	case strings.HasPrefix(s.Label, "request of "):
		want = story.nodes == 1 // nobody knows which node it was meant for
	}
	if some != want {
		t.Errorf("step %q: has arrows: %v, want %v", s.Label, some, want)
	}
}
