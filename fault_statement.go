package exactlyone

import "exactlyone/model"

// statementAnswer: a statement of its own took effect, and its reply never
// came. What the code then sees is its driver's doing.
type statementAnswer struct{}

// Variants of a statement's lost answer.
const (
	replyLost  = iota // the driver errs, as pgx does
	replyTwice        // the pool sends it again, as database/sql does when lib/pq reports a bad connection
)

var statementTexts = [...]string{
	replyLost:  "takes effect, its reply is lost and the driver errs",
	replyTwice: "takes effect, its reply is lost and the pool sends it again",
}

func (statementAnswer) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.StatementAnswers, json: "statement_answers", one: "lost statement answer", usage: "replies to statements of their own that are lost", severity: 2}
}

func (statementAnswer) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	w.eachReady(v, func(c, s int, op storeOp) {
		if kindOf(op.op) != KindAuto || onlyReads(op.op) {
			return
		}
		if w.failing[op.store].ReplyLost {
			put(c, s, replyLost)
		}
		if w.failing[op.store].ReplyTwice {
			put(c, s, replyTwice)
		}
	})
}

// strike leaves a statement that is sent again where it is: the request still
// asks for it, and others may come first.
func (statementAnswer) strike(w *world, v []uint32, who, slot, arg int) {
	p := w.handlerStands(v, who, slot)
	store := p.Op.(storeOp).store
	if arg == replyLost {
		w.noted("statements whose reply was lost")
		w.stepStore(v, who, slot, store, p.OpID, w.values.ID(Reply{Err: model.ErrLost}))
		return
	}
	w.noted("statements that were sent twice")
	w.affect(v, who, slot, store, p.OpID)
}

func (statementAnswer) label(w *world, v []uint32, who, slot, arg int) string {
	return w.requestName(who, slot) + ": " + w.opText(w.handlerStands(v, who, slot).Op) + " " + statementTexts[arg]
}

func (statementAnswer) tell(w *world, v []uint32, who, slot, arg int, log *stepLog, add func(who, what string)) {
	add(w.requestName(who, slot), "✗ "+w.opBrief(w.handlerStands(v, who, slot).Op)+" "+statementTexts[arg]+ends(log))
}
