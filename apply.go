package exactlyone

import (
	"fmt"
	"strings"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// Apply carries out an action. It returns 1 + the index of the first property
// that is broken in the state after it, 0 if none is.
func (w *world) Apply(v []uint32, a interleave.Action, next []uint32) uint32 {
	copy(next, v)
	kind, who, slot, arg := unpack(a)
	if w.last && byTask(a) {
		w.setLast(next, who, slot)
	}
	switch kind {
	case actStep:
		w.step(next, who, slot)
	case actDeadlock:
		w.breakDeadlock(next, who, slot)
	case actGiveUp:
		w.giveUp(next, who, slot)
	case actPick:
		w.silent(next, who, slot)
		w.give(next, who, slot, w.values.ID(pick(int(int8(arg)))))
	case actDeliver:
		w.deliver(next, who, slot)
	case actClient:
		w.stepClient(next, who, arg)
	case actDuplicate:
		w.count(duplicatesDelivered)
		w.arrive(next, who, slot, arg, next[w.slot(who, slot)+slotMessage])
	case actLand:
		w.land(next, arg)
	default:
		f := kind - actFault
		spend(next, f)
		w.struck[f]++
		faults[f].strike(w, next, who, slot, arg)
	}
	return w.check(v, next)
}

// check judges the properties where something they see has changed.
func (w *world) check(v, next []uint32) uint32 {
	changed := v[atProps] != next[atProps] || v[atFacts] != next[atFacts]
	for i := atStores; i < atStores+w.stores; i++ {
		changed = changed || v[i] != next[i]
	}
	if !changed {
		return 0
	}
	return w.verdict(next)
}

// End judges the properties at the end of an execution.
func (w *world) End(v []uint32) uint32 {
	if w.stuck(v) {
		w.count(stuckEnds)
	}
	return uint32(w.judgement(v, true).Broken + 1)
}

// judgement is what the properties say of a state. At the end of an execution
// it goes on with the closing phase, if any property wants one.
func (w *world) judgement(v []uint32, end bool) props.Verdict {
	facts := props.Fact(v[atFacts])
	view := props.View{Facts: facts, End: end}
	if end {
		view.Stuck = w.waitsForEver(v)
	}
	verdict := w.judge(v[atProps], w.shared(v), view)
	w.held |= verdict.Held
	if end && verdict.Broken < 0 && w.closes {
		c := w.closing(v)
		if c.Resumed > 0 {
			w.noted("closing phases in which a client tried again")
		}
		verdict = w.judge(c.state, c.shared, props.View{Facts: facts, End: end, Closing: &c.Closing})
		w.held |= verdict.Held
	}
	return verdict
}

// waitsForEver says which requests wait at the end of an execution, and for what.
func (w *world) waitsForEver(v []uint32) string {
	var all []string
	for c := range w.clients {
		for s := range w.layout.slots {
			if w.word(v, c, s).phase() == phaseRunning {
				all = append(all, fmt.Sprintf("the request of %s waits for ever, for: %s", w.requestName(c, s), w.opText(w.handlerStands(v, c, s).Op)))
			}
		}
	}
	return strings.Join(all, "; ")
}

// stuck says whether somebody is left who has not ended.
func (w *world) stuck(v []uint32) bool {
	for c := range w.clients {
		if w.clientStands(v, c).Op != nil {
			return true
		}
		for s := range w.layout.slots {
			if w.word(v, c, s).phase() != phaseFree {
				return true
			}
		}
	}
	return false
}

// verdict is 1 + the property that is broken before the end, 0 if none is.
func (w *world) verdict(v []uint32) uint32 {
	if w.stores > 1 || v[atFacts] != 0 {
		return uint32(w.judgement(v, false).Broken + 1)
	}
	key := uint64(v[atProps])<<32 | uint64(v[atStores])
	if broken, ok := w.cache.verdicts.get(key); ok {
		return uint32(broken)
	}
	broken := uint32(w.judgement(v, false).Broken + 1)
	w.cache.verdicts.put(key, uint64(broken))
	return broken
}

func (w *world) setLast(v []uint32, c, s int) {
	for oc := range w.clients {
		for os := range w.layout.slots {
			v[w.slot(oc, os)] &^= uint32(wordLast)
		}
	}
	v[w.slot(c, s)] |= uint32(wordLast)
}

// step lets a request do what it asks for.
func (w *world) step(v []uint32, c, s int) {
	p := w.handlerStands(v, c, s)
	switch op := p.Op.(type) {
	case storeOp:
		if err := w.refusal(v, c, s, op); err != nil {
			w.silent(v, c, s)
			w.give(v, c, s, w.values.ID(Reply{Err: err}))
			return
		}
		w.stepStore(v, c, s, op.store, p.OpID, 0)
	case nowOp:
		w.silent(v, c, s)
		w.give(v, c, s, w.values.ID(moment{moved(v).Add(w.skewOf(v, w.word(v, c, s).node()))}))
	case sinceOp:
		w.silent(v, c, s)
		w.give(v, c, s, w.values.ID(moment{moved(v)}))
	case sleepOp:
		w.silent(v, c, s)
		w.moveTo(v, max(now(v), op.until.UnixNano()))
		if op.itself {
			return
		}
		w.give(v, c, s, w.cache.ok)
	case lockOp:
		w.silent(v, c, s)
		w.give(v, c, s, w.cache.ok)
	default:
		panic("exactlyone: a request asks for what only clients may: " + p.Op.String())
	}
}

// silent notes a step of a request that leaves no trace outside it: a crash
// after it is like one before it, unless the node has memory.
func (w *world) silent(v []uint32, c, s int) {
	n := w.word(v, c, s).node()
	if w.sys.Stateless {
		v[w.node(n)+1] &^= nodeCrashable
	} else {
		v[w.node(n)+1] |= nodeCrashable
	}
}

// stepStore carries out op on a store; the request is given its reply, or
// instead the one that a fault makes of it.
func (w *world) stepStore(v []uint32, c, s, store int, op, instead uint32) {
	reply := w.affect(v, c, s, store, op)
	if instead != 0 {
		reply = instead
	}
	w.give(v, c, s, reply)
}

// affect carries out op on a store, and returns the reply without giving it to
// anybody.
func (w *world) affect(v []uint32, c, s, store int, op uint32) (reply uint32) {
	at := w.slot(c, s)
	before, boundaries := v[atStores+store], v[atBoundaries]
	within := w.withinTransaction(v[at+slotSession+store], op)
	w.see(v, op)
	reply = w.perform(v, at, store, op)
	w.see(v, v[atStores+store])
	w.see(v, v[at+slotSession+store])
	if within {
		w.countFailure(reply)
	}
	w.silent(v, c, s)
	wd := word(v[at]) | wordTouched
	if v[atBoundaries] != boundaries {
		v[w.node(wd.node())+1] |= nodeCrashable // the clock may jump to a time that the dead have named
	}
	if v[atStores+store] != before {
		v[w.node(wd.node())+1] |= nodeCrashable
		if !within { // else it was a serial number that was given
			wd = wd.committed()
			w.countConflict(v, c, s)
		}
	}
	v[at] = uint32(wd)
	if v[atStores+store] != before && !within && w.watch != 0 {
		w.watchChange(v, c, s, store, before)
	}
	return reply
}

// withinTransaction says whether an op is a statement of the session.
func (w *world) withinTransaction(session, op uint32) bool {
	if session == 0 {
		return false
	}
	return kindOf(w.values.Value(op).(storeOp).op) == KindStatement
}

// deliver hands an answer to its client.
func (w *world) deliver(v []uint32, c, s int) {
	at := w.slot(c, s)
	answer := v[at+slotMessage]
	n := w.word(v, c, s).node()
	w.watchAnswer(v, c, s)
	w.free(v, c, s)
	v[w.node(n)+1] |= nodeCrashable
	if _, panicked := w.values.Value(answer).(interleave.Panicked); panicked {
		w.tell(v, c, w.cache.connection) // as net/http does, the connection is closed
		return
	}
	w.countAnswer(w.values.Value(answer).(model.Answer))
	v[atProps] = w.afterTold(v, c, answer)
	w.tell(v, c, w.receivedAnswer(answer))
}

// afterTold is the property state once client c has been told answer.
func (w *world) afterTold(v []uint32, c int, answer uint32) uint32 {
	key := tripleKey{v[atProps], v[w.clientAt(c)], answer, uint32(c)}
	if next, ok := w.cache.told[key]; ok {
		return next
	}
	id, _ := w.told(v, c, answer)
	next := w.observe(v[atProps], id)
	w.cache.told[key] = next
	return next
}

// receivedAnswer is what a client gets when an answer is delivered.
func (w *world) receivedAnswer(answer uint32) uint32 {
	if _, panicked := w.values.Value(answer).(interleave.Panicked); panicked {
		return w.cache.connection
	}
	key := uint64(answer)<<8 | cacheReceived
	if id, ok := w.cache.small.get(key); ok {
		return uint32(id)
	}
	id := w.values.ID(received{answer: w.values.Value(answer).(model.Answer)})
	w.cache.small.put(key, uint64(id))
	return id
}

// stepClient lets a client do what it asks for.
func (w *world) stepClient(v []uint32, c, node int) {
	p := w.clientStands(v, c)
	switch op := p.Op.(type) {
	case sendOp:
		if w.expired(now(v)) {
			w.tell(v, c, w.cache.expired)
			return
		}
		w.arrive(v, c, 0, node, w.requestOf(p))
	case sleepOp:
		w.moveTo(v, max(now(v), op.until.UnixNano()))
		w.tell(v, c, w.cache.ok)
	case nowOp, sinceOp:
		w.tell(v, c, w.values.ID(moment{moved(v)}))
	case roundOp:
		w.noted("rounds of " + w.name(c))
		w.arrive(v, c, 0, node, w.values.ID(round(op)))
	default:
		panic("exactlyone: a client asks for what only requests may: " + p.Op.String())
	}
}
