package exactlyone

import (
	"exactlyone/interleave"
	"exactlyone/model"
)

// What a search that draws executions asks a world; see [interleave.Sampled]
// and [interleave.Shrinkable].

// Task numbers the task whose step an action is: a client and the request that
// it waits for are one, each request that nobody waits for is another. Crashes,
// jumps of the clock and late commits are nobody's.
func (w *world) Task(a interleave.Action) int {
	if !byTask(a) {
		return -1
	}
	_, who, slot, _ := unpack(a)
	return who*w.layout.slots + slot
}

// Fault is the kind of a fault.
func (w *world) Fault(a interleave.Action) int {
	kind, _, _, _ := unpack(a)
	return kind - actFault
}

// Budgets is how many faults of each kind there may be.
func (w *world) Budgets() []int {
	var all []int
	b := w.bounds
	for _, f := range faults {
		all = append(all, *f.about(&b).budget)
	}
	return all
}

// Severity ranks faults; see faultInfo.
func (w *world) Severity(a interleave.Action) int {
	if !a.Fault() {
		return 0
	}
	return faultInfos[w.Fault(a)].severity
}

// Racing says whether two steps meet: in a store, if one of them changes
// something or waits for a turn, or in the memory of a node.
func (w *world) Racing(v []uint32, a, b interleave.Action) bool {
	x, nodeX := w.touches(v, a)
	y, nodeY := w.touches(v, b)
	if !w.sys.Stateless && nodeX >= 0 && nodeX == nodeY {
		return true
	}
	return x.op != nil && y.op != nil && x.store == y.store && !(onlyReads(x.op) && onlyReads(y.op))
}

// touches is the op on a store that an action carries out, if any, and the node
// on which a request then goes on, -1 if on none.
func (w *world) touches(v []uint32, a interleave.Action) (storeOp, int) {
	kind, who, slot, arg := unpack(a)
	switch kind {
	case actStep:
		op, _ := w.handlerStands(v, who, slot).Op.(storeOp)
		return op, w.word(v, who, slot).node()
	case actClient, actDuplicate:
		return storeOp{}, arg
	}
	return storeOp{}, -1
}

func onlyReads(op interleave.Op) bool {
	switch op := op.(type) {
	case StmtOp:
		return op.Stmt.Verb == model.SelectVerb
	case Kinded:
		return op.ReadsOnly()
	}
	return false
}
