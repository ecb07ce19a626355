package interleave

// pctStrategy is probabilistic concurrency testing (Burckhardt et al., "A
// Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS
// 2010): tasks have random priorities, the highest that can go on does, and at
// d-1 steps drawn beforehand the running task falls below all others. The depth
// d is drawn from 1 to 3. A bug of depth d among n tasks and k steps is found
// with a chance of at least 1/(n·k^(d-1)).
type pctStrategy struct{}

// maxDepth is the largest depth that is drawn.
const maxDepth = 3

// pct is its state within one execution.
type pct struct {
	priority [MaxTasks]int // 0: not drawn yet; larger goes first
	lowest   int
	change   [maxDepth - 1]int // steps at which the running task falls; -1: never
}

func (pctStrategy) Name() string { return "pct" }

func (pctStrategy) begin(d *drawer) {
	d.pct = pct{}
	depth := 1 + d.src.Choose(maxDepth, "depth")
	for i := range d.pct.change {
		d.pct.change[i] = -1
		if i < depth-1 {
			d.pct.change[i] = d.src.Choose(max(1, d.learned.Steps), "change at")
		}
	}
}

// priorities are drawn from so many, so that two are rarely equal; of equal
// ones the first task goes first.
const priorities = 1 << 30

func (pctStrategy) choose(d *drawer) Action {
	var buf [MaxTasks]int
	p := &d.pct
	best := -1
	for _, t := range d.ready(buf[:0]) {
		if p.priority[t] == 0 {
			p.priority[t] = 1 + d.src.Choose(priorities, "priority")
		}
		if best < 0 || p.priority[t] > p.priority[best] {
			best = t
		}
	}
	for _, at := range p.change {
		if at == len(d.path) {
			p.lowest--
			p.priority[best] = p.lowest
			break
		}
	}
	return d.ofTask(best)
}
