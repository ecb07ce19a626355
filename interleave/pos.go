package interleave

// posStrategy is partial order sampling (Yuan et al., "Partial Order Aware
// Concurrency Sampling", CAV 2018): each step that tasks are about to take has a
// random priority, the highest is taken, and then those that race with it draw
// anew. So the orders of racing steps are drawn, not those of steps that do not
// care.
type posStrategy struct{}

// pos is its state within one execution.
type pos struct {
	priority [MaxTasks]int // of the step each task is about to take; 0: not drawn yet
}

func (posStrategy) Name() string { return "pos" }

func (posStrategy) begin(d *drawer) { d.pos = pos{} }

func (posStrategy) choose(d *drawer) Action {
	var buf [MaxTasks]int
	p := &d.pos
	tasks := d.ready(buf[:0])
	best := -1
	for _, t := range tasks {
		if p.priority[t] == 0 {
			p.priority[t] = 1 + d.src.Choose(priorities, "priority")
		}
		if best < 0 || p.priority[t] > p.priority[best] {
			best = t
		}
	}
	a := d.ofTask(best)
	p.priority[best] = 0
	for _, b := range d.steps {
		if t := d.taskOf(b); t != best && d.m.Racing(d.v, a, b) {
			p.priority[t] = 0
		}
	}
	return a
}
