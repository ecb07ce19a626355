package exactlyone

// commitFault: a commit takes effect and errs, has no effect and errs, or errs
// now and takes effect a little later.
type commitFault struct{}

// Variants of a commit fault.
const (
	commitTook = iota
	commitFailed
	commitLate
)

func (commitFault) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.CommitFaults, json: "commit_faults", one: "commit fault", usage: "commits that err, in effect, later in effect, or not,", severity: 2}
}

func (commitFault) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	w.eachReady(v, func(c, s int, op storeOp) {
		if kindOf(op.op) != KindCommit || w.refusal(v, c, s, op) != nil {
			return
		}
		f := w.failing[op.store]
		if f.CommitTook {
			put(c, s, commitTook)
		}
		if f.CommitFails {
			put(c, s, commitFailed)
		}
		if f.CommitLate {
			put(c, s, commitLate)
		}
	})
}

func (commitFault) strike(w *world, v []uint32, who, slot, arg int) {
	p := w.handlerStands(v, who, slot)
	store := p.Op.(storeOp).store
	switch arg {
	case commitTook:
		w.count(commitsErredInEffect)
		w.stepStore(v, who, slot, store, p.OpID, w.cache.commitError)
	case commitFailed:
		w.count(commitsErred)
		w.stepStore(v, who, slot, store, w.cache.rollback[store], w.cache.commitError)
	case commitLate:
		w.noted("commits that erred and took effect later")
		w.postpone(v, w.slot(who, slot)+slotSession+store, store)
		w.silent(v, who, slot)
		w.give(v, who, slot, w.cache.commitError)
	}
}

func (commitFault) label(w *world, _ []uint32, who, slot, arg int) string {
	return w.requestName(who, slot) + ": COMMIT " + commitTexts[arg]
}

func (commitFault) tell(w *world, _ []uint32, who, slot, arg int, log *stepLog, add func(who, what string)) {
	add(w.requestName(who, slot), "✗ COMMIT "+commitTexts[arg]+ends(log))
}

var commitTexts = [...]string{
	commitTook:   "takes effect but errs",
	commitFailed: "errs without effect",
	commitLate:   "errs now, takes effect later",
}

// postpone takes an open transaction from a slot: the store will commit it.
func (w *world) postpone(v []uint32, session, store int) {
	for i := range w.lates {
		if at := w.late(i); v[at] == 0 {
			v[at], v[at+1] = uint32(store+1), v[session]
			break
		}
	}
	v[session] = 0
}

// land lets a postponed commit take effect.
func (w *world) land(v []uint32, i int) {
	at := w.late(i)
	store := int(v[at]) - 1
	k := storeKey{store: uint32(store), shared: v[atStores+store], session: v[at+1], op: w.cache.commit[store]}
	v[atStores+store] = w.doStore(k, v).shared
	v[at], v[at+1] = 0, 0
	for n := range w.nodes {
		v[w.node(n)+1] |= nodeCrashable
	}
}
