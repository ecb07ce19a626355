package exactlyone

import (
	"strings"

	"exactlyone/interleave"
)

// Arrow is what passes from one participant of a story to another.
type Arrow struct {
	From  string `json:"from"`
	To    string `json:"to"` // From again for what it does by itself
	Text  string `json:"text"`
	Reply bool   `json:"reply,omitempty"` // it answers an earlier arrow
	Lost  bool   `json:"lost,omitempty"`  // it never arrives
}

// draw adds to the cells of a step, so far those of whoever acts and then those
// of clients that were told something, the arrows that they stand for. A cell
// that is not known here keeps its text alone.
func (w *world) draw(v []uint32, a interleave.Action, log *stepLog, cells []Cell) {
	kind, who, slot, arg := unpack(a)
	told := cells[len(cells)-len(log.tells):]
	switch kind {
	case actStep:
		cells[0].Arrows = w.statement(v, a, log, cells[0].What)
	case actDeliver:
		comes(told, Arrow{From: nodeName(w.word(v, who, slot).node()), Reply: true})
	case actClient:
		switch op := w.clientStands(v, who).Op.(type) {
		case sendOp:
			arrives(cells, Arrow{From: w.name(who), To: nodeName(arg), Text: op.req.Brief()}, log)
		case roundOp:
			arrives(cells, Arrow{From: w.name(who), To: nodeName(arg), Text: "begins a round"}, log)
		}
	case actDuplicate:
		text := brief(w.values.Value(v[w.slot(who, slot)+slotMessage])) + ", its copy"
		arrives(cells, Arrow{From: w.name(who), To: nodeName(arg), Text: text}, log)
	default:
		if kind >= actFault {
			w.drawFault(v, a, log, cells, told)
		}
	}
}

func (w *world) drawFault(v []uint32, a interleave.Action, log *stepLog, cells, told []Cell) {
	kind, who, slot, arg := unpack(a)
	switch faults[kind-actFault].(type) {
	case lostAnswer:
		text := "✗ lost: " + brief(w.values.Value(v[w.slot(who, slot)+slotMessage]))
		from := nodeName(w.word(v, who, slot).node())
		cells[0].Arrows = []Arrow{{From: from, To: w.name(who), Text: text, Reply: true, Lost: true}}
	case lostRequest:
		if w.nodes == 1 { // of several, nobody knows which it was meant for
			text := "✗ lost: " + w.clientStands(v, who).Op.(sendOp).req.Brief()
			cells[0].Arrows = []Arrow{{From: w.name(who), To: nodeName(0), Text: text, Lost: true}}
		}
	case sentTwice:
		text := w.clientStands(v, who).Op.(sendOp).req.Brief() + ", sent twice"
		arrives(cells, Arrow{From: w.name(who), To: nodeName(arg), Text: text}, log)
	case crash:
		comes(told, Arrow{From: nodeName(who), Reply: true, Lost: true})
	case cancel:
		node := nodeName(w.word(v, who, 0).node())
		cells[0].Arrows = append([]Arrow{{From: node, To: node, Text: strings.TrimSuffix(cells[0].What, ends(log))}}, decides(node, log)...)
	case commitFault, statementAnswer, failedCall, storeError:
		cells[0].Arrows = w.statement(v, a, log, cells[0].What)
	}
}

// arrives draws a request into both cells that tell of it, and the answer if
// it was decided on at once.
func arrives(cells []Cell, request Arrow, log *stepLog) {
	cells[0].Arrows = []Arrow{request}
	cells[1].Arrows = append([]Arrow{request}, decides(request.To, log)...)
}

// comes draws what clients were told.
func comes(told []Cell, like Arrow) {
	for i := range told {
		like.To, like.Text = told[i].Who, strings.TrimPrefix(told[i].What, "← ")
		told[i].Arrows = []Arrow{like}
	}
}

// decides is the end of a request's handling: its answer is not yet with the
// client.
func decides(node string, log *stepLog) []Arrow {
	var arrows []Arrow
	for _, text := range log.ended {
		arrows = append(arrows, Arrow{From: node, To: node, Text: text})
	}
	return arrows
}

// statement is what a request asks of a store, what became of it, and what it
// answers. Of a statement that went wrong, the text of its cell says how.
func (w *world) statement(v []uint32, a interleave.Action, log *stepLog, what string) []Arrow {
	kind, who, slot, arg := unpack(a)
	node := nodeName(w.word(v, who, slot).node())
	what = strings.TrimSuffix(what, ends(log))
	op, ok := w.handlerStands(v, who, slot).Op.(storeOp)
	if !ok {
		return append([]Arrow{{From: node, To: node, Text: what}}, decides(node, log)...)
	}
	store := "store " + w.sys.Stores[op.store].Name
	reply := Arrow{From: store, To: node, Text: log.reply, Reply: true}
	if kind >= actFault {
		how, named := strings.CutPrefix(strings.TrimPrefix(what, "✗ "), w.opBrief(op))
		if !named {
			how = strings.TrimPrefix(how, brief(op.op)) // without the store's name
		}
		reply.Text = "✗ " + strings.TrimSpace(how)
		switch faults[kind-actFault].(type) {
		case statementAnswer:
			reply.Lost = true
		case failedCall:
			reply.Lost = arg == callLost
		}
	}
	for _, n := range log.notes {
		reply.Text = strings.TrimSpace(reply.Text + " (" + n + ")")
	}
	arrows := []Arrow{{From: node, To: store, Text: brief(op.op)}}
	if reply.Text != "" {
		arrows = append(arrows, reply)
	}
	return append(arrows, decides(node, log)...)
}
