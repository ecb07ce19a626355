package exactlyone

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteMermaid writes the story as a Mermaid sequence diagram: a column for
// each client, node and store, an arrow for what passes between two, a note
// for what happens to one, and the broken property last. Each step has its
// number. Arrows that end in a cross are lost; faults have a red ground.
//
// Steps without arrows, as older versions wrote them, are drawn as notes. Long
// values are cut. Of a story too long for Mermaid, which draws at most 50,000
// characters, the middle is left out, and a note says so.
func (t *Trace) WriteMermaid(w io.Writer) error { return t.writeMermaid(w, nil) }

// WriteMermaidAt is WriteMermaid for a replay that was stopped: the diagram
// ends with where everybody stands and what is stored.
func (t *Trace) WriteMermaidAt(w io.Writer, s Snapshot) error { return t.writeMermaid(w, &s) }

// WriteMermaid writes the story of a broken property as a diagram. Where there
// is none, the verdict is a comment in the first line, and all of a diagram
// that has nothing else to show.
func (r *Result) WriteMermaid(w io.Writer) error {
	if r.Story != nil {
		return r.Story.WriteMermaid(w)
	}
	d := newDiagram([]string{r.System})
	verdict := strings.ToUpper(string(r.Verdict))
	d.comment(verdict + "  " + r.System + r.outcome())
	d.open("")
	d.note("", verdict+r.outcome())
	d.note("", "bounds: "+r.Bounds.String())
	_, err := io.WriteString(w, d.String())
	return err
}

func (t *Trace) writeMermaid(w io.Writer, at *Snapshot) error {
	d := newDiagram(t.participants())
	title := t.System
	if t.Property != "" {
		title += " breaks " + t.Property
		d.comment(title + ": " + t.Message)
	}
	d.comment(t.size())
	d.open(title)
	end := newDiagram(d.names)
	if at != nil {
		end.snapshot(*at, len(t.Steps))
	}
	if t.Property != "" {
		end.note("", "✗ "+t.Property+": "+t.Message)
	}
	if len(t.Need) > 0 {
		end.note("", "Necessary: "+strings.Join(t.Need, "; "))
	}
	room := mermaidSize - d.Len() - end.Len()
	d.WriteString(fit(t.stepsDrawn(d), room, func(from, to int) string {
		left := newDiagram(d.names)
		left.note("", fmt.Sprintf("steps %d to %d are left out: the story is too long for a diagram", from+1, to))
		return left.String()
	}))
	d.WriteString(end.String())
	_, err := io.WriteString(w, d.String())
	return err
}

// participants lists those who need a column, in the order of the text.
func (t *Trace) participants() []string {
	clients, nodes, stores := t.clients, t.nodes, slices.Clone(t.stores)
	if nodes == 0 { // the trace was read from a file
		clients, nodes = max(t.Bounds.Clients, 1), max(t.Bounds.Nodes, 1)
	}
	var used []string
	for _, s := range t.Steps {
		for _, i := range s.items(false) {
			for _, name := range []string{i.over, i.From, i.To} {
				if name == "" || slices.Contains(used, name) {
					continue
				}
				used = append(used, name)
				if store, ok := strings.CutPrefix(name, "store "); ok && !slices.Contains(stores, store) {
					stores = append(stores, store)
				}
			}
		}
	}
	var names []string
	known := columnsOf(nil, clients, nodes, stores)
	for _, c := range columnsOf(t.Steps, clients, nodes, stores) {
		isKnown := slices.ContainsFunc(known, func(k column) bool { return k.name == c.name })
		if c.name != "clock" && isKnown || slices.Contains(used, c.name) {
			names = append(names, c.name)
		}
	}
	for _, name := range used {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// item is one arrow or one note of a step.
type item struct {
	Arrow
	over string // a note: over whom
	all  bool   // a note over all
}

// items lists what a diagram shows of a step. With tags it begins with who
// acts, where its arrows do not show that: of several requests at one node.
func (s Step) items(tags bool) []item {
	var all []item
	for i, c := range s.Cells {
		before := all
		for _, a := range c.Arrows {
			switch {
			case slices.ContainsFunc(before, func(i item) bool { return i.Arrow == a }): // both ends tell of it
			case a.From == "" || a.To == "":
				all = append(all, item{over: c.Who, all: c.Who == "", Arrow: Arrow{Text: a.Text}})
			case a.From == a.To: // an arrow to itself would strike through its text
				all = append(all, item{over: a.From, Arrow: Arrow{Text: a.Text}})
			default:
				all = append(all, item{Arrow: a})
			}
		}
		switch {
		case len(c.Arrows) > 0:
		case c.Who == "clock" && i == 0 && s.Fault:
			all = append(all, item{all: true, Arrow: Arrow{Text: "✗ " + s.Label}})
		case c.Who == "clock" || c.Who == "":
			all = append(all, item{all: true, Arrow: Arrow{Text: c.What}})
		default:
			all = slices.Insert(all, afterCause(all, c.Who), item{over: c.Who, Arrow: Arrow{Text: c.What}})
		}
	}
	if tags && s.apart() {
		all[0].Text = s.actor() + ": " + all[0].Text
	}
	if len(all) > 0 {
		all[0].Text = fmt.Sprintf("%d. %s", s.N, all[0].Text)
	}
	return all
}

// afterCause is where a note about somebody goes: right after what reached it,
// so that what a statement changed comes before its reply; or else at the end.
func afterCause(all []item, who string) int {
	at := 1 + slices.IndexFunc(all, func(i item) bool { return i.To == who && !i.Reply })
	if at == 0 {
		return len(all)
	}
	for at < len(all) && all[at].over == who {
		at++
	}
	return at
}

// apart says whether the actor's arrows do not show who acts.
func (s Step) apart() bool {
	if len(s.Cells) == 0 || len(s.Cells[0].Arrows) == 0 {
		return false
	}
	return !slices.ContainsFunc(s.Cells[0].Arrows, func(a Arrow) bool { return a.From == s.actor() || a.To == s.actor() })
}

// stepsDrawn is each step as part of the diagram.
func (t *Trace) stepsDrawn(d *diagram) []string {
	var actors []string
	for _, s := range t.Steps {
		if s.apart() && !slices.Contains(actors, s.actor()) {
			actors = append(actors, s.actor())
		}
	}
	var steps []string
	time := "+0s"
	for _, s := range t.Steps {
		d := newDiagram(d.names)
		if s.Time != time && s.Time != "" {
			if time = s.Time; len(s.Cells) == 0 || s.actor() != "clock" {
				d.note("", "time "+s.Time)
			}
		}
		if s.Fault {
			d.line("rect rgba(255, 0, 0, 0.15)")
		}
		for _, i := range s.items(len(actors) > 1) {
			switch {
			case i.all:
				d.note("", i.Text)
			case i.over != "":
				d.note(i.over, i.Text)
			default:
				d.arrow(i.Arrow)
			}
		}
		if s.Fault {
			d.line("end")
		}
		steps = append(steps, d.String())
	}
	return steps
}

// fit joins parts, of which it leaves out some in the middle if they do not
// fit otherwise.
func fit(parts []string, room int, without func(from, to int) string) string {
	if whole := strings.Join(parts, ""); len(whole) <= room {
		return whole
	}
	room -= len(without(len(parts), len(parts)))
	from, to := 0, len(parts)
	for size := 0; from < to; {
		if size += len(parts[from]); size > room/2 {
			break
		}
		from++
	}
	for size := 0; to > from; {
		if size += len(parts[to-1]); size > room/2 {
			break
		}
		to--
	}
	return strings.Join(parts[:from], "") + without(from, to) + strings.Join(parts[to:], "")
}
