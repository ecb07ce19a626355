package exactlyone

// lostRequest: the request was not carried out, and its client sees the same
// time-out as after a lost answer.
type lostRequest struct{}

func (lostRequest) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.LostRequests, json: "lost_requests", one: "lost request", usage: "requests lost", severity: 2}
}

func (lostRequest) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	for c := range w.bounds.Clients {
		if w.canSend(v, c) {
			put(c, 0, 0)
		}
	}
}

func (lostRequest) strike(w *world, v []uint32, who, _, _ int) {
	w.count(requestsLost)
	w.tell(v, who, w.cache.timeout)
}

func (lostRequest) label(w *world, _ []uint32, who, slot, _ int) string {
	return "request of " + w.requestName(who, slot) + " is lost"
}

func (lostRequest) tell(w *world, v []uint32, who, _, _ int, _ *stepLog, add func(who, what string)) {
	add(w.name(who), "✗ request lost: "+w.clientStands(v, who).Op.(sendOp).req.Brief())
}

// sentTwice: a request arrives twice. The first copy arrives now, the second at
// any time within MaxDelay, and nobody waits for its answer.
type sentTwice struct{}

func (sentTwice) about(b *Bounds) faultInfo {
	return faultInfo{budget: &b.Duplicates, json: "duplicates", one: "duplicate", usage: "requests that arrive twice", severity: 2}
}

func (sentTwice) offer(w *world, v []uint32, put func(who, slot, arg int)) {
	for c := range w.bounds.Clients {
		if w.canSend(v, c) {
			for n := range w.nodes {
				put(c, 0, n)
			}
		}
	}
}

func (sentTwice) strike(w *world, v []uint32, who, _, node int) {
	w.count(duplicatesSent)
	request := w.requestOf(w.clientStands(v, who))
	at := w.slot(who, w.spare(v, who))
	v[at] = uint32(word(v[at]).with(phaseDuplicate))
	v[at+slotHistory] = w.values.ID(moment{moved(v).Add(w.sys.maxDelay())})
	v[at+slotMessage] = request
	w.arrive(v, who, 0, node, request)
}

func (sentTwice) label(w *world, _ []uint32, who, slot, node int) string {
	return w.requestName(who, slot) + ": send twice, first to " + nodeName(node)
}

func (sentTwice) tell(w *world, v []uint32, who, _, node int, _ *stepLog, add func(who, what string)) {
	add(w.name(who), "sends "+w.clientStands(v, who).Op.(sendOp).req.Brief()+", twice")
	add(nodeName(node), "▶ "+w.name(who))
}
