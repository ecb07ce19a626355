package interleave

// Strategy draws the next step of an execution. Faults are drawn apart: how
// many, which, and from which step on.
type Strategy interface {
	// Name is what reports call it.
	Name() string
	// begin draws what is drawn once for each execution.
	begin(d *drawer)
	// choose draws one of d.steps, of which there is at least one.
	choose(d *drawer) Action
}

// The strategies.
var (
	RandomWalk Strategy = walk{}
	URW        Strategy = urw{}
	PCT        Strategy = pctStrategy{}
	POS        Strategy = posStrategy{}
)

// walk lets any task that can go on take the next step, each with the same
// chance. Executions with few steps between two switches are rare.
type walk struct{}

func (walk) Name() string  { return "walk" }
func (walk) begin(*drawer) {}

func (walk) choose(d *drawer) Action {
	var buf [MaxTasks]int
	tasks := d.ready(buf[:0])
	return d.ofTask(tasks[d.src.Choose(len(tasks), "task")])
}

// urw is the uniform random walk of Zhao et al. ("Selectively Uniform
// Concurrency Testing", ASPLOS 2025): a task's chance is proportional to the
// number of steps that it still has to take, as the pilot has shown, so that
// all interleavings of tasks that do not wait for one another have the same
// chance.
type urw struct{}

func (urw) Name() string  { return "urw" }
func (urw) begin(*drawer) {}

func (urw) choose(d *drawer) Action {
	var buf [MaxTasks]int
	tasks := d.ready(buf[:0])
	if len(tasks) == 1 {
		return d.ofTask(tasks[0])
	}
	var weights [MaxTasks]int
	total := 0
	for i, t := range tasks {
		weights[i] = max(1, d.learned.Tasks[t]-16*d.done[t])
		total += weights[i]
	}
	at := d.src.Choose(total, "step")
	for i, t := range tasks {
		if at < weights[i] {
			return d.ofTask(t)
		}
		at -= weights[i]
	}
	panic("interleave: weights do not add up")
}
