package exactlyone

import (
	"exactlyone/interleave"
	"exactlyone/model"
)

// liveRun runs the code of one execution for real, each process from its start
// to its end, without learning from other executions. Histories are numbered
// as they come. A replay is a live run, and so are the executions that check
// what the search took for granted.
type liveRun struct {
	t     *tables
	procs []liveProc
	nodes []liveNode
	fault error // tasks that would not die
}

// liveProc is where a process stood after so many events.
type liveProc struct {
	process interleave.Process
	name    string
	step    int
	parked  []interleave.Parked
}

// liveNode is the server process of a node whose requests share nothing but it.
type liveNode struct {
	env    *Env
	server model.Server
	hosted *hosted // instead, of code that runs in a bubble
}

// newLive is a world that runs one execution for real, with no reduction.
func newLive(t *tables) *world {
	w := &world{tables: t, layout: newLayout(t), last: true, cache: liveCaches()}
	w.putFaults()
	w.watchProps()
	w.cache.fill(t.values, w.stores)
	w.live = &liveRun{t: t, procs: make([]liveProc, 1), nodes: make([]liveNode, t.bounds.Nodes)}
	return w
}

func (l *liveRun) add(p interleave.Process, name string, step int, parked []interleave.Parked) uint32 {
	l.t.tree.Number(parked)
	l.procs = append(l.procs, liveProc{p, name, step, parked})
	return uint32(len(l.procs) - 1)
}

// How errors call processes.
const (
	aServer  = "a server"
	aRequest = "a request"
	aClient  = "a client"
)

func (l *liveRun) next(id, event uint32) uint32 {
	was := l.procs[id]
	return l.add(was.process, was.name, was.step+1, was.process.Handle(interleave.EventTask(event), l.t.values.Value(interleave.EventValue(event))))
}

func (l *liveRun) spawn(n int, event uint32) uint32 {
	var p interleave.Process
	if h := l.nodes[n].hosted; h != nil {
		p = &hostedRequest{h, 2 * len(h.tasks)}
	} else {
		p = newServerProcess(l.t.sys, l.nodes[n].env, l.nodes[n].server)
	}
	return l.add(p, aRequest, 1, p.Handle(0, l.t.values.Value(interleave.EventValue(event))))
}

func (l *liveRun) bootServer(n int) uint32 {
	if l.t.sys.ordinary {
		if h := l.nodes[n].hosted; h != nil {
			h.end()
		}
		h := newHosted(l.t.sys)
		l.nodes[n].hosted = h
		return l.add(h, aServer, 0, nil)
	}
	env, server := startServer(l.t.sys)
	l.nodes[n] = liveNode{env: env, server: server}
	return l.add(newServerProcess(l.t.sys, env, server), aServer, 0, nil)
}

func (l *liveRun) bootClient(c int, closing bool) uint32 {
	p := l.t.launch(c, closing)
	return l.add(p, aClient, 1, p.Handle(0, begin{}))
}

func (l *liveRun) kill(id uint32) {
	if err := l.procs[id].process.Kill(); err != nil && l.fault == nil {
		l.fault = err
	}
}

// end kills whatever is still parked.
func (l *liveRun) end() error {
	done := map[interleave.Process]bool{}
	for i := len(l.procs) - 1; i > 0; i-- {
		if p := l.procs[i].process; !done[p] {
			done[p] = true
			l.kill(uint32(i))
		}
	}
	return l.fault
}

// differs compares what was asked for in two runs of the same steps, from the
// n-th time on that a process ran.
func (l *liveRun) differs(now *liveRun, n int) *interleave.Divergence {
	for i := n; i < min(len(l.procs), len(now.procs)); i++ {
		was := l.procs[i]
		if d := interleave.Compare(was.parked, now.procs[i].parked); d != nil {
			d.Process, d.Step = was.name, was.step
			return d
		}
	}
	return nil
}
