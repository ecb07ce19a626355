package exactlyone

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
)

// Step is one step of a story.
type Step struct {
	N      int    `json:"n"`                // from 1
	Choice int    `json:"choice"`           // the answer that leads here; 0 is the plainest
	Of     int    `json:"of"`               // how many answers there were
	Label  string `json:"label"`            // what was chosen, for replay after small edits
	Fault  bool   `json:"fault,omitempty"`  // something broke
	Switch bool   `json:"switch,omitempty"` // another task goes on than in the step before
	Time   string `json:"time"`             // virtual time after the step, since the start
	Cells  []Cell `json:"cells"`            // what happened to whom
}

// Cell is what happened to one participant in a step.
type Cell struct {
	Who  string `json:"who"` // "client 1", "node 1", or "store db"
	What string `json:"what"`

	Arrows []Arrow `json:"arrows,omitempty"` // the same as arrows; none if it is no more than a note
}

// stepLog collects what happens within one step. A nil log takes no notes.
type stepLog struct {
	reply string   // what the acting request was given
	notes []string // what it noted
	ended []string // answers given, by request
	tells []Cell   // what clients were told
	first bool     // the next gift is the reply to the step's own op
	time  string   // the time after the step
}

func (l *stepLog) told(name string, values *interleave.Interner, id uint32) {
	if l == nil {
		return
	}
	if r, isAnswer := values.Value(id).(received); isAnswer {
		l.tells = append(l.tells, Cell{Who: name, What: "← " + r.String()})
	}
}

func (l *stepLog) gave(_, _ int, values *interleave.Interner, id uint32) {
	if l == nil || !l.first {
		return
	}
	l.first = false
	l.reply = brief(values.Value(id))
}

func (l *stepLog) note(what string) {
	if l != nil {
		l.notes = append(l.notes, what)
	}
}

func (l *stepLog) answered(_, slot int, result fmt.Stringer) {
	if l == nil {
		return
	}
	text := "answers " + result.String()
	if slot > 0 {
		text += " to nobody"
	}
	l.ended = append(l.ended, text)
}

func nodeName(n int) string { return fmt.Sprintf("node %d", n+1) }

// name is what a client or a background actor is called.
func (w *world) name(c int) string {
	if w.isActor(c) {
		return w.sys.Background[c-w.bounds.Clients].Name
	}
	return fmt.Sprintf("client %d", c+1)
}

// label names an action by what it does, so that a schedule can be followed
// after the writer was edited.
func (w *world) label(v []uint32, a interleave.Action) string {
	kind, who, slot, arg := unpack(a)
	switch kind {
	case actStep:
		return w.requestName(who, slot) + ": " + w.opText(w.handlerStands(v, who, slot).Op)
	case actDeadlock:
		return w.requestName(who, slot) + ": deadlock detected"
	case actPick:
		return w.pickText(v, who, slot, int(int8(arg)))
	case actGiveUp:
		return w.requestName(who, slot) + " has waited in vain: " + w.opText(w.handlerStands(v, who, slot).Op)
	case actDeliver:
		return w.requestName(who, slot) + " receives " + fmt.Sprint(w.values.Value(v[w.slot(who, slot)+slotMessage]))
	case actClient:
		p := w.clientStands(v, who)
		switch p.Op.(type) {
		case sendOp:
			return fmt.Sprintf("%s: %s to %s", w.name(who), p.Op, nodeName(arg))
		case roundOp:
			return fmt.Sprintf("%s: round on %s", w.name(who), nodeName(arg))
		}
		return w.name(who) + ": " + p.Op.String()
	case actDuplicate:
		return fmt.Sprintf("%s arrives at %s", w.requestName(who, slot), nodeName(arg))
	case actLand:
		return "the late COMMIT in " + w.lateStore(v, arg) + " takes effect"
	}
	return faults[kind-actFault].label(w, v, who, slot, arg)
}

func (w *world) lateStore(v []uint32, i int) string { return w.sys.Stores[v[w.late(i)]-1].Name }

// requestName is what the request in a slot is called: a copy, one that its
// caller has left, or either.
func (w *world) requestName(c, slot int) string {
	if slot >= w.attended {
		return fmt.Sprintf("%s (goroutines left %d)", w.name(c), slot-w.attended+1)
	}
	if slot > 0 {
		kind := "unattended"
		switch {
		case w.bounds.Cancels == 0:
			kind = "copy"
		case w.bounds.Duplicates == 0:
			kind = "left"
		}
		return fmt.Sprintf("%s (%s %d)", w.name(c), kind, slot)
	}
	return w.name(c)
}

// opText is an op as stories show it, with the store's name where there are
// several.
func (w *world) opText(op interleave.Op) string {
	if s, ok := op.(storeOp); ok {
		if w.stores > 1 {
			return w.sys.Stores[s.store].Name + ": " + s.op.String()
		}
		return s.op.String()
	}
	return op.String()
}

// tellStep carries out an action and says what happened.
func (w *world) tellStep(v []uint32, a interleave.Action, next []uint32) (Step, uint32) {
	step := Step{Label: w.label(v, a), Fault: a.Fault(), Switch: w.Switch(v, a)}
	kind, who, slot, arg := unpack(a)
	var op interleave.Op
	if kind == actStep || kind == actDeadlock || kind == actGiveUp {
		op = w.handlerStands(v, who, slot).Op
	}
	w.log = &stepLog{first: true}
	broken := w.Apply(v, a, next)
	log := w.log
	w.log = nil
	step.Time = clock.Since(moved(next))
	log.time = step.Time
	add := func(who, what string) { step.Cells = append(step.Cells, Cell{Who: who, What: what}) }
	switch kind {
	case actStep, actDeadlock, actGiveUp:
		add(w.requestName(who, slot), w.stepText(op, log))
	case actPick:
		add(w.requestName(who, slot), "another goroutine goes on"+ends(log))
	case actDeliver:
	case actClient:
		w.tellClient(v, who, arg, log, add)
	case actDuplicate:
		add(nodeName(arg), "▶ "+w.requestName(who, slot))
		add(w.requestName(who, slot), "its copy arrives"+ends(log))
	case actLand:
		add("store "+w.lateStore(v, arg), "the late COMMIT takes effect")
	default:
		faults[kind-actFault].tell(w, v, who, slot, arg, log, add)
	}
	step.Cells = append(step.Cells, log.tells...)
	w.draw(v, a, log, step.Cells)
	for s := range w.stores {
		if v[atStores+s] != next[atStores+s] {
			before, after := w.values.Value(v[atStores+s]).(State), w.values.Value(next[atStores+s]).(State)
			if text := changes(before, after); text != "" {
				add("store "+w.sys.Stores[s].Name, text)
			}
		}
	}
	return step, broken
}

// brief is a short text of a value, where it has one.
func brief(v any) string {
	if b, ok := v.(interface{ Brief() string }); ok {
		return b.Brief()
	}
	return fmt.Sprint(v)
}

// opBrief is an op without its values, as opText is one with them.
func (w *world) opBrief(op interleave.Op) string {
	s, ok := op.(storeOp)
	switch {
	case !ok:
		return brief(op)
	case w.stores > 1:
		return w.sys.Stores[s.store].Name + ": " + brief(s.op)
	}
	return brief(s.op)
}

// stepText is what a request did and what came of it.
func (w *world) stepText(op interleave.Op, log *stepLog) string {
	text := w.opBrief(op)
	switch op.(type) {
	case sleepOp, lockOp:
		log.reply = ""
	case sinceOp:
		text, log.reply = "begins to wait", ""
	}
	if s, ok := op.(storeOp); ok && log.reply == "0 changed" {
		switch kindOf(s.op) {
		case KindBegin, KindCommit, KindRollback:
			log.reply = ""
		}
	}
	if log.reply != "" {
		text += " → " + log.reply
	}
	return text + ends(log)
}

// ends is what requests noted in a step, and those that came to their end.
func ends(log *stepLog) (text string) {
	for _, n := range log.notes {
		text += " (" + n + ")"
	}
	for _, e := range log.ended {
		text += "; " + e
	}
	return text
}

func (w *world) tellClient(v []uint32, c, node int, log *stepLog, add func(who, what string)) {
	switch op := w.clientStands(v, c).Op.(type) {
	case sendOp:
		add(w.name(c), "sends "+op.req.Brief()+ends(log))
		add(nodeName(node), "▶ "+w.name(c))
	case roundOp:
		add(w.name(c), "begins a round"+ends(log))
		add(nodeName(node), "▶ "+w.name(c))
	case sinceOp:
		add(w.name(c), "begins to wait")
	case sleepOp:
		add(w.name(c), "has waited until "+clock.Since(op.until))
	default:
		add(w.name(c), op.String()+" → "+log.reply)
	}
}

// changes is how the content of a store differs from what it was.
func changes(before, after State) string {
	if text, ok := diff[*model.Tables](before, after); ok {
		return text
	}
	if text, ok := diff[*model.Versions](before, after); ok {
		return text
	}
	if d, ok := after.(interface{ Since(before State) string }); ok {
		return d.Since(before)
	}
	return after.String()
}

// diff compares two states of a type that can tell how they differ.
func diff[T interface{ Diff(to T) []string }](before, after State) (text string, ok bool) {
	a, okA := before.(T)
	b, okB := after.(T)
	if !okA || !okB {
		return "", false
	}
	return strings.Join(a.Diff(b), "; "), true
}

// column is one column of a story.
type column struct {
	name  string
	width int
	most  int // lines that a cell may have
}

const (
	clientColumn = 44 // at most so wide
	narrowColumn = 40 // with more than two clients
	storeColumn  = 32
	clockColumn  = 12

	clientLines = 4
)

// columnsOf lists who takes part in a story, in order.
func columnsOf(steps []Step, clients, nodes int, stores []string) []column {
	wide := clientColumn
	if clients > 2 {
		wide = narrowColumn
	}
	names := []string{"clock"}
	for c := range clients {
		names = append(names, fmt.Sprintf("client %d", c+1))
	}
	for n := range nodes {
		names = append(names, nodeName(n))
	}
	for _, s := range stores {
		names = append(names, "store "+s)
	}
	for _, s := range steps { // duplicates and background actors have columns of their own
		for _, c := range s.Cells {
			if !slices.Contains(names, c.Who) {
				names = slices.Insert(names, slices.Index(names, nodeName(0)), c.Who)
			}
		}
	}
	columns := make([]column, len(names))
	for i, name := range names {
		columns[i] = column{name, len(name), clientLines}
		for _, s := range steps {
			columns[i].width = max(columns[i].width, len([]rune(s.cell(name))))
		}
		limit := wide
		switch {
		case name == "clock":
			columns[i].width, limit = max(columns[i].width, clockWidth(steps)), clockColumn
		case strings.HasPrefix(name, "store "):
			limit, columns[i].most = storeColumn, 1
		}
		columns[i].width = min(columns[i].width, limit)
	}
	return columns
}

// clockWidth is the longest time shown.
func clockWidth(steps []Step) int {
	width := 0
	for _, s := range steps {
		width = max(width, len(s.Time))
	}
	return width
}

// cell is what happened to one participant, "" if nothing did.
func (s Step) cell(who string) string {
	var all []string
	for _, c := range s.Cells {
		if c.Who == who {
			all = append(all, oneLine(c.What))
		}
	}
	return strings.Join(all, "; ")
}

// columnsText is a head and the steps, side by side: a text of one or more lines
// for each.
func columnsText(steps []Step, columns []column) []string {
	var all []string
	line := func(n string, cell func(name string) string) {
		wrapped, height := make([][]string, len(columns)), 1
		for i, c := range columns {
			wrapped[i] = wrap(cell(c.name), c.width, c.most)
			height = max(height, len(wrapped[i]))
		}
		var lines []string
		for l := range height {
			var row strings.Builder
			row.WriteString(fmt.Sprintf("%4s ", n))
			for i, c := range columns {
				text := ""
				if l < len(wrapped[i]) {
					text = wrapped[i][l]
				}
				row.WriteString(" " + pad(text, c.width) + " ")
			}
			lines = append(lines, strings.TrimRight(row.String(), " "))
			n = ""
		}
		all = append(all, strings.Join(lines, "\n"))
	}
	line("", func(name string) string { return name })
	last := ""
	for _, s := range steps {
		line(fmt.Sprint(s.N), func(name string) string {
			if name == "clock" {
				if s.Time == last {
					return ""
				}
				last = s.Time
				if jump := s.cell("clock"); jump != "" {
					return jump
				}
				return s.Time
			}
			return s.cell(name)
		})
	}
	return all
}

// oneLine shows control characters instead of obeying them.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '␊'
		case r == '\t':
			return '␉'
		case unicode.IsControl(r):
			return '�'
		}
		return r
	}, s)
}

// wrap breaks a text into lines at its spaces; what is too much for them is cut
// off. All lines but the first are indented.
func wrap(s string, width, most int) []string {
	const indent = "  "
	var all []string
	for r := []rune(s); len(all) < most-1 && len(r) > width; {
		at := width
		for at > width/2 && r[at] != ' ' {
			at--
		}
		if r[at] != ' ' {
			at = width
		}
		all = append(all, strings.TrimRight(string(r[:at]), " "))
		r = []rune(indent + strings.TrimLeft(string(r[at:]), " "))
		s = string(r)
	}
	return append(all, clip(s, width))
}

func clip(s string, width int) string {
	if r := []rune(s); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return s
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-len([]rune(s))))
}
