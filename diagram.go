package exactlyone

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Widths are in characters: GitHub shrinks a diagram to the width of its page,
// so what makes it wide makes it small.
const (
	arrowWidth  = 34
	noteWidth   = 30
	acrossWidth = 76 // of notes over all participants
	aloneWidth  = 50 // of notes over the only one
	titleWidth  = 100
	textLines   = 6      // of an arrow or a note
	storeLines  = 12     // of what a store holds
	mermaidSize = 50_000 // what Mermaid draws at most, its maxTextSize
)

// diagram is the text of one, as far as it was written.
type diagram struct {
	strings.Builder
	names []string // who takes part; the i-th is called p<i>
}

func newDiagram(names []string) *diagram { return &diagram{names: names} }

func (d *diagram) id(name string) string { return fmt.Sprintf("p%d", slices.Index(d.names, name)+1) }

func (d *diagram) line(text string) { d.WriteString("    " + text + "\n") }

// comment writes one; even there %%{ would be a directive.
func (d *diagram) comment(text string) {
	d.WriteString("%% " + strings.ReplaceAll(oneLine(text), "%", "#37;") + "\n")
}

// open begins the diagram itself.
func (d *diagram) open(title string) {
	d.WriteString("sequenceDiagram\n")
	if title != "" {
		d.line("title " + mermaidText(clip(title, titleWidth)))
	}
	for _, name := range d.names {
		d.line("participant " + d.id(name) + " as " + mermaidText(clip(name, noteWidth)))
	}
}

func (d *diagram) arrow(a Arrow) {
	head := "->>"
	switch {
	case a.Lost && a.Reply:
		head = "--x"
	case a.Lost:
		head = "-x"
	case a.Reply:
		head = "-->>"
	}
	d.line(d.id(a.From) + head + d.id(a.To) + ": " + lines(a.Text, arrowWidth, textLines))
}

// note writes a note over one participant, "" for all.
func (d *diagram) note(over, text string) {
	switch {
	case over == "" && len(d.names) == 1:
		d.line("Note over p1: " + lines(text, aloneWidth, textLines))
		return
	case over == "":
		d.line("Note over " + d.all() + ": " + lines(text, acrossWidth, textLines))
		return
	}
	d.line("Note over " + d.id(over) + ": " + lines(text, noteWidth, textLines))
}

func (d *diagram) all() string {
	return fmt.Sprintf("p1,p%d", len(d.names))
}

// snapshot writes where everybody stands.
func (d *diagram) snapshot(s Snapshot, step int) {
	d.note("", fmt.Sprintf("After step %d", step))
	for _, p := range s.Stands {
		if slices.Contains(d.names, p.Name) {
			d.note(p.Name, p.Text)
		} else {
			d.note("", p.Name+": "+p.Text)
		}
	}
	for _, p := range s.Stores {
		d.stored("committed", "store "+p.Name, p)
	}
	for _, p := range s.Open {
		d.stored("open transaction, "+p.Name, "", p)
	}
}

// stored writes the rows of a store, one a line.
func (d *diagram) stored(what, over string, p NamedState) {
	at, width := d.all(), acrossWidth
	if slices.Contains(d.names, over) {
		at, width = d.id(over), noteWidth+10
	}
	var rows []string
	for row := range strings.Lines(what + ":\n" + p.Text) {
		if len(rows) == storeLines {
			rows = append(rows, "…")
			break
		}
		rows = append(rows, mermaidText(clip(oneLine(strings.TrimSpace(row)), width)))
	}
	d.line("Note over " + at + ": " + strings.Join(rows, "<br/>"))
}

// lines breaks a text at spaces, and in words that are too long, and cuts it
// if it has too many lines.
func lines(text string, width, most int) string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(oneLine(text)) {
		for word != "" {
			if joined := strings.TrimPrefix(line+" "+word, " "); len([]rune(joined)) <= width {
				line, word = joined, ""
			} else if line != "" {
				out, line = append(out, line), ""
			} else {
				r := []rune(word)
				out, word = append(out, string(r[:width])), string(r[width:])
			}
		}
	}
	if line != "" {
		out = append(out, line)
	}
	if len(out) > most {
		out = append(out[:most-1], clip(out[most-1]+" "+out[most], width))
	}
	for i := range out {
		out[i] = mermaidText(out[i])
	}
	return strings.Join(out, "<br/>")
}

// reserved matches what Mermaid takes for something else even within a text:
// "end" closes a block (its manual says), "wrap:" sets an option, and a line in
// which "style" or "classDef" comes before a colon and an escape loses its last
// semicolon.
var reserved = regexp.MustCompile(`(?i)\bend\b|\b(?:no)?wrap:|style|classdef`)

// mermaidText escapes a text for a diagram. An escape is # CODE ; and only what
// needs one gets it, because Mermaid reserves room as for its source:
//
//	# ; \n     end an escape, a statement, a line
//	< > & `    may be HTML or Markdown around it
//	%          %%{ is a directive, anywhere
//	$          $$ is a formula
//	ﬂ ¶        begin and end an escape within Mermaid: ﬂ° and ¶ß
func mermaidText(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		switch {
		case unicode.Is(unicode.Zs, r):
			b.WriteByte(' ')
		case !unicode.IsPrint(r):
			b.WriteRune(unicode.ReplacementChar)
		case strings.ContainsRune("#;<>&`%$ﬂ¶", r):
			fmt.Fprintf(&b, "#%d;", r)
		default:
			b.WriteRune(r)
		}
	}
	return reserved.ReplaceAllStringFunc(b.String(), func(word string) string {
		first, size := utf8.DecodeRuneInString(word)
		return fmt.Sprintf("#%d;%s", first, word[size:])
	})
}
