package exactlyone

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// closingAttempts is how many more attempts a client makes in the closing phase.
const closingAttempts = 20

// closingSteps is how many steps a closing phase may take.
const closingSteps = 100_000

// closingValue is a props.Closing and where it ended.
type closingValue struct {
	props.Closing
	shared []uint32 // contents of the stores
	state  uint32   // of the properties
}

// closing is how an execution that ended in v goes on once nothing goes wrong
// any more, and the contents and the property state after it. See
// [props.Converges]. A live world is used up by it.
func (w *world) closing(v []uint32) closingValue {
	u := slices.Clone(v)
	clear(u[atBudgets : atBudgets+budgetLen])
	u[atBoundaries] = 0
	saved, log := w.exercised, w.log
	w.exercised, w.log = exercised{}, nil
	defer func() { w.exercised, w.log = saved, log }()

	var resumed [maxTogether]bool
	end := closingValue{Closing: props.Closing{Follows: w.sys.Follows}}
	for c := range w.clients {
		p := w.clientStands(u, c)
		if p.Op != nil || !w.isActor(c) && !w.resumes(u, c) {
			continue
		}
		u[w.clientAt(c)] = w.resume(c)
		w.settleClient(u, c)
		if resumed[c] = !w.isActor(c); resumed[c] {
			end.Resumed++
		}
	}
	if w.live != nil {
		w.close(u, resumed, &end)
		return end
	}
	key := w.Key(u)
	if known, ok := w.knownClosing(key); ok {
		return known
	}
	w.close(u, resumed, &end)
	w.learnClosing(key, end)
	return end
}

// resumes says whether client c, which has ended, may still want to know how its
// operation ended, and may ask: one that follows a policy does not repeat what
// might be harmful.
func (w *world) resumes(v []uint32, c int) bool {
	if w.clientStands(v, c).Result.(outcome).Kind != model.Unknown || w.expired(now(v)) {
		return false
	}
	return w.clientOf(c, true).MayRepeat()
}

func (t *tables) knownClosing(key interleave.Key) (closingValue, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end, ok := t.closings[key]
	return end, ok
}

func (t *tables) learnClosing(key interleave.Key, end closingValue) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closings[key] = end
}

// close carries out the closing phase and says what is wrong after it.
func (w *world) close(u []uint32, resumed [maxTogether]bool, end *closingValue) {
	c := closer{world: w, u: u, next: make([]uint32, len(u)), resumed: resumed}
	c.run()
	end.shared, end.state = slices.Clone(w.shared(c.u)), c.u[atProps]
	switch verdict := w.judge(c.u[atProps], w.shared(c.u), props.View{Facts: props.Fact(c.u[atFacts]), End: true}); {
	case c.broken != 0 && verdict.Broken >= 0:
		end.Broken = fmt.Sprintf("while clients try again, %s is broken: %s", w.props[verdict.Broken].Name, verdict.Message)
	default:
		if end.Broken = c.unfinished(); end.Broken != "" {
			end.Broken += c.noteText()
		}
	}
}

// noteText lists what writers have noted in the closing phase, such as takeovers.
func (c *closer) noteText() string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(c.notes)) {
		all = append(all, fmt.Sprintf("%s: %d", what, c.notes[what]))
	}
	if len(all) == 0 {
		return ""
	}
	return "; meanwhile " + strings.Join(all, ", ")
}

// closer carries out one closing phase.
type closer struct {
	*world
	u, next []uint32
	resumed [maxTogether]bool // clients that try again
	broken  uint32
	steps   int
	turn    int              // who made the last step
	rested  [maxTogether]int // rounds of background actors since anything changed
	rounds  [maxTogether]int
	heard   [maxTogether]string // the last answer to each client
}

func (c *closer) run() {
	for ; c.steps < closingSteps && c.broken == 0; c.steps++ {
		a, ok := c.choose(c.Enabled(c.u, nil))
		if !ok {
			return
		}
		c.apply(a)
	}
}

func (c *closer) apply(a interleave.Action) {
	kind, who, slot, _ := unpack(a)
	if kind == actDeliver {
		c.heard[who] = fmt.Sprint(c.values.Value(c.u[c.slot(who, slot)+slotMessage]))
	}
	c.broken = c.Apply(c.u, a, c.next)
	if !slices.Equal(c.shared(c.u), c.shared(c.next)) || now(c.u) != now(c.next) {
		c.rested = [maxTogether]int{}
	}
	c.u, c.next = c.next, c.u
}

// choose takes the next in turn who can go on. If all wait, background actors
// have a round, and then time moves.
func (c *closer) choose(acts []interleave.Action) (interleave.Action, bool) {
	var best, wake interleave.Action
	var rank, first int64 = -1, 0
	n := int64(c.clients * c.layout.slots)
	for _, a := range acts {
		kind, who, slot, arg := unpack(a)
		op := c.asks(kind, who, slot)
		switch op := op.(type) {
		case sleepOp:
			if ns := op.until.UnixNano(); ns > now(c.u) {
				if wake == 0 || ns < first {
					wake, first = a, ns
				}
				continue
			}
		case sendOp:
			if arg != c.steps%c.nodes {
				continue // to each node in turn
			}
		case roundOp:
			continue
		}
		after := (int64(who*c.layout.slots+slot-c.turn) + 2*n - 1) % n
		if rank < 0 || after < rank {
			best, rank = a, after
		}
	}
	if rank >= 0 {
		_, who, slot, _ := unpack(best)
		c.turn = who*c.layout.slots + slot
		return best, true
	}
	for _, a := range acts {
		kind, who, slot, arg := unpack(a)
		if _, ok := c.asks(kind, who, slot).(roundOp); !ok || arg != c.steps%c.nodes {
			continue
		}
		if c.rested[who] == 0 && c.rounds[who] < closingAttempts {
			c.rested[who]++
			c.rounds[who]++
			return a, true
		}
	}
	return wake, wake != 0
}

// asks is the op that an action carries out, nil if it is another kind.
func (c *closer) asks(kind, who, slot int) interleave.Op {
	switch kind {
	case actStep:
		return c.handlerStands(c.u, who, slot).Op
	case actClient:
		return c.clientStands(c.u, who).Op
	}
	return nil
}

// unfinished says who is left without a final answer, "" if nobody is.
func (c *closer) unfinished() string {
	if c.steps == closingSteps {
		return fmt.Sprintf("once faults stop, it does not come to an end within %s steps", thousands(closingSteps))
	}
	for i := range c.clients {
		p := c.clientStands(c.u, i)
		for s := range c.layout.slots {
			if c.word(c.u, i, s).phase() == phaseRunning {
				return fmt.Sprintf("once faults stop, the request of %s still waits for ever, for: %s", c.requestName(i, s), c.opText(c.handlerStands(c.u, i, s).Op))
			}
		}
		switch {
		case c.isActor(i):
		case p.Op != nil:
			return fmt.Sprintf("once faults stop, %s still waits for ever, for: %s", c.name(i), c.opText(p.Op))
		case c.resumed[i] && p.Result.(outcome).Kind == model.Unknown && !c.expired(now(c.u)):
			return fmt.Sprintf("once faults stop, %s still has no final answer after %d more attempts; the last answer was %s", c.name(i), closingAttempts, c.heard[i])
		}
	}
	return ""
}
