package exactlyone

// layout says where things are in a state's vector:
//
//	now ×2 | boundaries seen | property state | budgets ×2 |
//	content of each store |
//	for each node: history of its memory, flags |
//	for each client: history, flags,
//	    for each slot: word, history, message, session in each store
//
// A slot is one delivery of a request: slot 0 carries the attempt the client
// waits for, the others duplicates. Everything about a client is together, so
// that clients can be exchanged by exchanging parts of the vector.
type layout struct {
	stores, nodes, clients, slots int
	node0, client0                int // where these parts begin
	clientLen, slotLen            int
	width                         int
}

const (
	atNow        = 0
	atBoundaries = 2
	atProps      = 3
	atBudgets    = 4
	atStores     = 6

	nodeLen = 2 // history, flags

	clientHistory = 0
	clientFlags   = 1 // ids drawn
	clientSlots   = 2

	slotWord    = 0
	slotHistory = 1 // of its own process, if stateless; a pending duplicate's deadline
	slotMessage = 2 // request of a pending duplicate, answer on its way
	slotSession = 3

	maxStores = 8
)

func newLayout(stores int, b Bounds) layout {
	l := layout{stores: stores, nodes: b.Nodes, clients: b.Clients, slots: 1 + b.Duplicates}
	l.node0 = atStores + stores
	l.client0 = l.node0 + nodeLen*l.nodes
	l.slotLen = slotSession + stores
	l.clientLen = clientSlots + l.slots*l.slotLen
	l.width = l.client0 + l.clients*l.clientLen
	return l
}

func (l *layout) node(n int) int     { return l.node0 + nodeLen*n }
func (l *layout) clientAt(c int) int { return l.client0 + l.clientLen*c }
func (l *layout) slot(c, s int) int  { return l.clientAt(c) + clientSlots + l.slotLen*s }

// Node flags.
const nodeCrashable = 1 // a crash now differs from one before the last step

// A slot's word packs what is known of one delivery.
//
//	phase 3 | node 4 | task 8 | commits 4 | touched 1 | last 1
type word uint32

const (
	phaseFree      = 0
	phaseRunning   = 1
	phaseAnswered  = 2 // an answer is on its way
	phaseDuplicate = 3 // a second copy of a request is on its way
)

func (w word) phase() int    { return int(w & 7) }
func (w word) node() int     { return int(w >> 3 & 15) }
func (w word) task() int     { return int(w >> 7 & 255) }
func (w word) commits() int  { return int(w >> 15 & 15) }
func (w word) touched() bool { return w&wordTouched != 0 }
func (w word) last() bool    { return w&wordLast != 0 }

const (
	wordTouched word = 1 << 19  // it has used a store
	wordCounted word = 31 << 15 // commits and touched: for counting, not for telling states apart
	wordNode         = 15 << 3
	wordLast    word = 1 << 20 // it made the last step; only where that is kept
)

func newWord(phase, node, task int) word { return word(phase | node<<3 | task<<7) }

func (w word) with(phase int) word { return w&^7 | word(phase) }

func (w word) committed() word {
	if w.commits() < 15 {
		w += 1 << 15
	}
	return w
}

// Budgets, each a byte in the two budget words.
const (
	budgetCrash = iota
	budgetLost
	budgetLostRequest
	budgetDuplicate
	budgetJump
	budgetCommit
	budgets
)

func left(v []uint32, budget int) int {
	return int(v[atBudgets+budget/4] >> (8 * (budget % 4)) & 0xff)
}

func spend(v []uint32, budget int) { v[atBudgets+budget/4] -= 1 << (8 * (budget % 4)) }

func budgetWords(b Bounds) (words [2]uint32) {
	for i, n := range [budgets]int{b.Crashes, b.LostAnswers, b.LostRequests, b.Duplicates, b.Jumps, b.CommitFaults} {
		words[i/4] |= uint32(n) << (8 * (i % 4))
	}
	return words
}
