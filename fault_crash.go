package exactlyone

// crash ends a server process: requests in it die, their transactions are
// rolled back, answers not yet delivered are gone, and it starts again with
// nothing in its memory. Those who waited see a closed connection.
type crash struct{}

func (crash) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.Crashes, def: 1, json: "crashes", one: "crash", usage: "crashes of a server process", nobodys: true, severity: 3}
}

func (crash) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	for n := range w.nodes {
		if w.canCrash(v, n) {
			put(n, 0, 0)
		}
	}
}

func (crash) strike(w *world, v []uint32, n, _, _ int) {
	w.count(crashes)
	var waited [maxTogether]bool
	between := false
	for c := range w.clients {
		for s := range w.layout.slots {
			wd := w.word(v, c, s)
			if wd.phase() != phaseRunning && wd.phase() != phaseAnswered || wd.node() != n {
				continue
			}
			between = between || wd.phase() == phaseRunning && wd.commits() > 0
			w.rollBack(v, c, s)
			if w.live != nil && wd.phase() == phaseRunning && w.sys.Stateless {
				w.live.kill(v[w.slot(c, s)+slotHistory])
			}
			w.free(v, c, s)
			waited[c] = waited[c] || s == 0
		}
	}
	if between {
		w.count(crashesBetweenCommits)
	}
	if w.live != nil && !w.sys.Stateless {
		w.live.kill(v[w.node(n)])
	}
	v[w.node(n)] = w.bootServer(n)
	v[w.node(n)+1] &^= nodeCrashable
	for c := range w.clients {
		if waited[c] {
			w.tell(v, c, w.cache.connection)
		}
	}
}

func (crash) label(_ *world, _ []uint32, n, _, _ int) string { return nodeName(n) + " crashes" }

func (crash) tell(_ *world, _ []uint32, n, _, _ int, _ *stepLog, add func(who, what string)) {
	add(nodeName(n), "✗ crashes")
}

// canCrash says whether a crash of a node would change anything that a crash
// before the last step would not have changed as well.
func (w *world) canCrash(v []uint32, n int) bool {
	if w.reduce.crashes && v[w.node(n)+1]&nodeCrashable == 0 {
		return false
	}
	if !w.sys.Stateless && len(w.stands(v[w.node(n)])) > 0 {
		return true // its memory goes
	}
	for c := range w.clients {
		for s := range w.layout.slots {
			wd := w.word(v, c, s)
			if (wd.phase() == phaseRunning || wd.phase() == phaseAnswered) && wd.node() == n {
				return true
			}
		}
	}
	return false
}
