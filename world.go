package exactlyone

import (
	"fmt"
	"slices"
	"time"

	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// world is a system as something to search: it says what can happen next in a
// state, and carries it out. It implements [interleave.Model].
type world struct {
	*tables
	layout
	reduce   reductions
	last     bool // states know who made the last step
	live     *liveRun
	log      *stepLog // what happens in a step, for stories; usually nil
	symmetry bool     // clients are interchangeable
	noKey    uint32   // bits of a slot's word that Key leaves out
	watch    props.Fact
	closes   bool // executions go on with a closing phase
	exercised
	counted    exercised            // what is no longer in exercised; see Counted
	increments map[increment]uint32 // a copy of the tables' own

	cache   caches
	stable  stableKeys
	targets []int64  // scratch of jumpTargets
	others  []State  // scratch of waits
	holders [][2]int // the client and slot of each of the others
	acts    []interleave.Action
	puts    [budgets]func(who, slot, arg int) // append a fault to acts
	scratch [][]uint32                        // scratch of Key
	parts   []interleave.Key
	perms   [][]int // all ways to exchange the clients
}

// reductions says what the search leaves out because it cannot matter.
type reductions struct {
	symmetry bool // states that differ in who is which client are one
	crashes  bool // a node crashes only after something that the crash can be told by
	clients  bool // a client remembers how often it has tried, not what it was told
}

func newWorld(t *tables, reduce reductions) *world {
	w := &world{tables: t, layout: newLayout(t), reduce: reduce}
	w.symmetry = reduce.symmetry && t.sys.OpaqueIDs && w.interchangeable() && !t.sys.ordinary
	w.noKey = uint32(wordCounted)
	w.watchProps()
	w.putFaults()
	if t.sys.tuning.nodeOf != nil {
		w.noKey |= wordNode // it follows from the client
	}
	w.cache = newCaches()
	w.cache.fill(t.values, w.stores)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worlds = append(t.worlds, w)
	return w
}

// watchProps notes what properties ask for.
func (w *world) watchProps() {
	for _, p := range w.props {
		w.watch |= p.Fact
		w.closes = w.closes || p.Closing
	}
	if w.sys.Claims == nil {
		w.watch &^= props.FactOvertaken
	}
}

// interchangeable says whether all clients run the same program and no
// property tells them apart.
func (w *world) interchangeable() bool {
	for _, p := range w.props {
		if p.History {
			return false
		}
	}
	for _, c := range w.client[:w.bounds.Clients] {
		if c != w.client[0] {
			return false
		}
	}
	return w.bounds.Clients > 1
}

// Fork makes another world over the same tables.
func (w *world) Fork(last bool) interleave.Model {
	f := newWorld(w.tables, w.reduce)
	f.last = last
	return f
}

func (w *world) Width() int { return w.width }

// Start is everything set up, each client about to send.
func (w *world) Start(v []uint32) {
	clear(v)
	setNow(v, clock.Epoch.UnixNano())
	v[atProps] = w.values.ID(props.Start(w.props))
	words := budgetWords(w.bounds)
	copy(v[atBudgets:], words[:])
	copy(v[atStores:], w.first)
	for n := range w.nodes {
		v[w.node(n)] = w.bootServer(n)
		v[w.node(n)+1] = nodeCrashable
	}
	for c := range w.clients {
		v[w.clientAt(c)] = w.bootClient(c)
		w.settleClient(v, c)
	}
}

func now(v []uint32) int64                      { return int64(v[atNow]) | int64(v[atNow+1])<<32 }
func setNow(v []uint32, ns int64)               { v[atNow], v[atNow+1] = uint32(ns), uint32(ns>>32) }
func at(ns int64) time.Time                     { return time.Unix(0, ns).UTC() }
func moved(v []uint32) time.Time                { return at(now(v)) }
func (w *world) word(v []uint32, c, s int) word { return word(v[w.slot(c, s)]) }

// shared is the contents of all stores.
func (w *world) shared(v []uint32) []uint32 { return v[atStores : atStores+w.stores] }

// clientStands is what client c is doing.
func (w *world) clientStands(v []uint32, c int) *interleave.Parked {
	return &w.stands(v[w.clientAt(c)])[0]
}

// handlerStands is what the request in a slot is doing.
func (w *world) handlerStands(v []uint32, c, s int) *interleave.Parked {
	wd := w.word(v, c, s)
	if w.sys.Stateless {
		return &w.stands(v[w.slot(c, s)+slotHistory])[wd.task()]
	}
	return &w.stands(v[w.node(wd.node())])[wd.task()]
}

// give hands a value to the request in a slot and runs it to its next op.
func (w *world) give(v []uint32, c, s int, value uint32) {
	w.log.gave(c, s, w.values, value)
	wd := w.word(v, c, s)
	at, task := w.slot(c, s)+slotHistory, wd.task()
	if !w.sys.Stateless {
		at = w.node(wd.node())
	}
	v[at] = w.next(v[at], interleave.Event(task, value))
	w.settleHandler(v, c, s)
	w.settleOthers(v, wd.node())
}

// settleHandler does what takes no step, and notices the end.
func (w *world) settleHandler(v []uint32, c, s int) {
	p := w.handlerStands(v, c, s)
	if p.Op == nil {
		w.finish(v, c, s, p)
		return
	}
	if op, ok := p.Op.(storeOp); ok {
		if i, ok := op.op.(Immediate); ok && i.Immediate() {
			w.give(v, c, s, w.perform(v, w.slot(c, s), op.store, p.OpID))
		}
		return
	}
	if value := w.immediate(v, c, p.Op); value != 0 {
		w.give(v, c, s, value)
	}
}

// immediate is the outcome of an op that takes no step, 0 for any other.
func (w *world) immediate(v []uint32, c int, op interleave.Op) uint32 {
	switch op := op.(type) {
	case sinceOp:
		if left(v, budgetJump) > 0 {
			return 0 // a jump may fall before the sleep begins
		}
		return w.values.ID(moment{moved(v)})
	case idOp:
		v[w.clientAt(c)+clientFlags]++
		return w.values.ID(newToken(c, v[w.clientAt(c)+clientFlags]))
	case logOp:
		w.log.note(op.line)
		return w.values.ID(ok{})
	case noteOp:
		w.noted(op.what)
		w.log.note(op.what)
		return w.values.ID(ok{})
	}
	return 0
}

// settleClient does for a client what takes no step.
func (w *world) settleClient(v []uint32, c int) {
	p := w.clientStands(v, c)
	if p.Op == nil {
		return
	}
	if value := w.immediate(v, c, p.Op); value != 0 {
		w.tell(v, c, value)
		return
	}
	if w.sys.tuning.sendIsNoStep {
		if _, ok := p.Op.(sendOp); ok {
			w.arrive(v, c, 0, w.sys.tuning.nodeOf(c), w.requestOf(p))
		}
	}
}

// tell hands a value to client c and runs it to its next op.
func (w *world) tell(v []uint32, c int, value uint32) {
	if w.log != nil && !w.isActor(c) {
		w.log.told(w.name(c), w.values, value)
	}
	v[w.clientAt(c)] = w.next(v[w.clientAt(c)], interleave.Event(0, value))
	w.settleClient(v, c)
}

// requestOf is the request that a client is sending.
func (w *world) requestOf(p *interleave.Parked) uint32 {
	if id, ok := w.cache.small.get(uint64(p.OpID)<<8 | cacheRequest); ok {
		return uint32(id)
	}
	id := w.values.ID(p.Op.(sendOp).req)
	w.cache.small.put(uint64(p.OpID)<<8|cacheRequest, uint64(id))
	return id
}

// arrive starts a request in slot s on node n.
func (w *world) arrive(v []uint32, c, s, n int, request uint32) {
	v[w.node(n)+1] |= nodeCrashable
	if w.bounds.Skews > 0 {
		v[w.node(n)+1] |= nodeUsed
	}
	at := w.slot(c, s)
	last := word(v[at]) & wordLast
	task := 0
	if w.sys.ordinary {
		v[w.clientAt(c)+clientFlags]++
		request = w.values.ID(arrived{w.values.Value(request).(fmt.Stringer), moved(v), newToken(c, v[w.clientAt(c)+clientFlags])})
	}
	if w.sys.Stateless {
		v[at+slotHistory] = w.spawn(v[w.node(n)], n, interleave.Event(0, request))
	} else {
		task = len(w.stands(v[w.node(n)]))
		v[w.node(n)] = w.next(v[w.node(n)], interleave.Event(task, request))
	}
	v[at] = uint32(newWord(phaseRunning, n, task) | last)
	v[at+slotMessage] = 0
	w.settleHandler(v, c, s)
	w.settleOthers(v, n)
}

// finish ends the handling in a slot: its answer is on its way, and
// transactions it left open are rolled back, as when its context ends.
func (w *world) finish(v []uint32, c, s int, p *interleave.Parked) {
	w.leave(v, c, s)
	w.rollBack(v, c, s)
	if !w.isActor(c) {
		w.log.answered(c, s, p.Result)
	}
	if r, panicked := p.Result.(interleave.Panicked); panicked {
		w.noted("a handler panicked: " + r.Value)
	}
	at := w.slot(c, s)
	if s > 0 {
		w.free(v, c, s) // nobody waits for its answer
		return
	}
	if w.isActor(c) {
		w.free(v, c, s)
		w.tell(v, c, w.cache.ok)
		return
	}
	v[at] = uint32(word(v[at]).with(phaseAnswered))
	v[at+slotHistory] = 0
	v[at+slotMessage] = p.ResultID
}

// free empties a slot.
func (w *world) free(v []uint32, c, s int) {
	at := w.slot(c, s)
	last := word(v[at]) & wordLast
	clear(v[at : at+w.slotLen])
	v[at] = uint32(last)
}

// rollBack undoes the open transactions of a slot.
func (w *world) rollBack(v []uint32, c, s int) {
	at := w.slot(c, s)
	for st := range w.stores {
		if v[at+slotSession+st] != 0 {
			w.perform(v, at, st, w.cache.rollback[st])
		}
	}
}

// perform carries out an op on a store for a slot and returns the reply.
func (w *world) perform(v []uint32, at, store int, op uint32) (reply uint32) {
	k := storeKey{store: uint32(store), shared: v[atStores+store], session: v[at+slotSession+store], op: op}
	val := w.doStore(k, v)
	v[atStores+store], v[at+slotSession+store] = val.shared, val.session
	return val.reply
}

// waits says whether the op of a slot on a store must wait for others.
func (w *world) waits(v []uint32, c, s int, op storeOp) bool {
	w.findOthers(v, c, s, op)
	id := v[w.slot(c, s)+slotSession+op.store]
	_, custom := op.op.(Kinded)
	if len(w.others) == 0 && !(id != 0 && (custom || NeedsTurn(op.op))) {
		return false
	}
	var session State
	if id != 0 {
		session = w.values.Value(id).(State)
	}
	return w.backends[op.store].Waits(w.values.Value(v[atStores+op.store]).(State), session, op.op, w.others)
}

// findOthers lists the sessions that an op of a slot may have to wait for: all
// others that are open, those of late commits first, and for a statement of its
// own its slot's as well.
func (w *world) findOthers(v []uint32, c, s int, op storeOp) {
	st, _ := op.op.(StmtOp)
	w.others, w.holders = w.others[:0], w.holders[:0]
	for i := range w.lates {
		if at := w.late(i); int(v[at]) == op.store+1 {
			w.others = append(w.others, w.values.Value(v[at+1]).(State))
			w.holders = append(w.holders, nobody)
		}
	}
	for oc := range w.clients {
		for os := range w.layout.slots {
			id := v[w.slot(oc, os)+slotSession+op.store]
			if id != 0 && (st.Auto || oc != c || os != s) {
				w.others = append(w.others, w.values.Value(id).(State))
				w.holders = append(w.holders, [2]int{oc, os})
			}
		}
	}
}

// nobody holds the session of a late commit.
var nobody = [2]int{-1, -1}

// eachStoreOp calls f for every request that asks for an op on a store.
func (w *world) eachStoreOp(v []uint32, f func(c, s int, op storeOp)) {
	for c := range w.clients {
		for s := range w.layout.slots {
			if w.word(v, c, s).phase() == phaseRunning {
				if op, ok := w.handlerStands(v, c, s).Op.(storeOp); ok {
					f(c, s, op)
				}
			}
		}
	}
}

// eachReady is eachStoreOp without those that must wait.
func (w *world) eachReady(v []uint32, f func(c, s int, op storeOp)) {
	w.eachStoreOp(v, func(c, s int, op storeOp) {
		if !w.waits(v, c, s, op) {
			f(c, s, op)
		}
	})
}

// spare is a slot of client c for what nobody waits for.
func (w *world) spare(v []uint32, c int) int {
	for s := 1; s < w.attended; s++ {
		if w.word(v, c, s).phase() == phaseFree {
			return s
		}
	}
	panic("exactlyone: no slot is free")
}

// isActor says whether participant c is a background actor.
func (w *world) isActor(c int) bool { return c >= w.bounds.Clients }

// told is the number of what client c is told by an answer.
func (w *world) told(v []uint32, c int, answer uint32) (id uint32, t toldValue) {
	p := w.clientStands(v, c)
	a := w.values.Value(answer).(model.Answer)
	req := p.Op.(sendOp).req
	t = toldValue{Operation: nameOf(w.operation(c)), Request: req, Answer: a}
	if slices.ContainsFunc(w.props, func(p props.Property) bool { return p.History }) {
		t.Client = c
	}
	t.Success = w.success(a)
	callback("ID", func() {
		if w.sys.ID != nil && t.Success {
			t.ID = w.sys.ID(a)
		}
	})
	return w.values.ID(t), t
}

// success says whether an answer tells its client that the operation was done.
func (w *world) success(a model.Answer) (yes bool) {
	if w.sys.Success == nil {
		return a.Status >= 200 && a.Status < 300
	}
	callback("Success", func() { yes = w.sys.Success(a) })
	return yes
}
