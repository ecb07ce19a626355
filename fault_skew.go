package exactlyone

import (
	"fmt"
	"time"
)

// skew: the clock of a node is ahead or behind by MaxSkew, from the beginning
// on. Stores have clocks of their own, and waits take as long as they take.
type skew struct{}

// Variants of a skew.
const (
	skewAhead = iota
	skewBehind
)

func (skew) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.Skews, json: "skews", flag: "skew", one: "skewed clock", usage: "nodes whose clock is off", nobodys: true, severity: 1}
}

func (skew) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	if w.sys.ordinary {
		return // package time has one clock
	}
	for n := range w.nodes {
		if v[w.node(n)+1]&nodeUsed != 0 {
			return
		}
	}
	for n := range w.nodes {
		if v[w.node(n)+1]&(nodeAhead|nodeBehind) == 0 {
			put(n, 0, skewAhead)
			put(n, 0, skewBehind)
		}
	}
}

func (skew) strike(w *world, v []uint32, n, _, arg int) {
	w.noted("clocks skewed")
	v[w.node(n)+1] |= []uint32{skewAhead: nodeAhead, skewBehind: nodeBehind}[arg]
}

func (skew) label(w *world, _ []uint32, n, _, arg int) string {
	return fmt.Sprintf("the clock of %s is %v %s", nodeName(n), w.sys.maxSkew(), []string{skewAhead: "ahead", skewBehind: "behind"}[arg])
}

func (s skew) tell(w *world, v []uint32, n, _, arg int, _ *stepLog, add func(who, what string)) {
	add(nodeName(n), "✗ "+s.label(w, v, n, 0, arg))
}

// skewOf is how far ahead the clock of a node is.
func (w *world) skewOf(v []uint32, n int) time.Duration {
	switch flags := v[w.node(n)+1]; {
	case flags&nodeAhead != 0:
		return w.sys.maxSkew()
	case flags&nodeBehind != 0:
		return -w.sys.maxSkew()
	}
	return 0
}
