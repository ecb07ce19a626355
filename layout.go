package exactlyone

// layout says where things are in a state's vector:
//
//	now ×2 | boundaries seen | property state | facts | budgets ×3 |
//	content of each store |
//	for each commit that takes effect later: store + 1, session |
//	for each node: history of its memory, flags |
//	for each client: history, flags,
//	    for each slot: word, history, message, session in each store
//
// A slot is one delivery of a request: slot 0 carries the attempt the client
// waits for, the others what nobody waits for: duplicates, and requests whose
// caller has gone. Everything about a client is together, so that clients can
// be exchanged by exchanging parts of the vector. Background actors come after
// the clients: each is a client whose requests are its rounds.
type layout struct {
	stores, lates, nodes, clients, slots int
	node0, client0                       int // where these parts begin
	clientLen, slotLen                   int
	attended                             int // so many slots are of handlers
	width                                int
}

const (
	atNow        = 0
	atBoundaries = 2
	atProps      = 3
	atFacts      = 4
	atBudgets    = 5
	atStores     = atBudgets + budgetLen

	budgetLen = (budgets + 3) / 4

	lateLen = 2 // store + 1, session
	nodeLen = 2 // history, flags

	clientHistory = 0
	clientFlags   = 1 // ids drawn
	clientSlots   = 2

	slotWord    = 0
	slotHistory = 1 // of its own process, if stateless; a pending duplicate's deadline
	slotMessage = 2 // request of a pending duplicate, answer on its way, claim of a running request
	slotSession = 3

	maxStores   = 8
	maxTogether = 9 // clients and background actors: a token has one digit for who drew it
)

func newLayout(t *tables) layout {
	b := t.bounds
	l := layout{
		stores: len(t.sys.Stores), nodes: b.Nodes,
		clients: b.Clients + len(t.sys.Background), slots: 1 + b.Duplicates + b.Cancels,
	}
	l.attended = l.slots
	if t.sys.ordinary {
		l.slots += b.Attempts + b.Duplicates // for goroutines that a handler leaves
	}
	for _, f := range t.failing {
		if f.CommitLate {
			l.lates = b.CommitFaults
		}
	}
	l.node0 = atStores + l.stores + lateLen*l.lates
	l.client0 = l.node0 + nodeLen*l.nodes
	l.slotLen = slotSession + l.stores
	l.clientLen = clientSlots + l.slots*l.slotLen
	l.width = l.client0 + l.clients*l.clientLen
	return l
}

func (l *layout) late(i int) int     { return atStores + l.stores + lateLen*i }
func (l *layout) node(n int) int     { return l.node0 + nodeLen*n }
func (l *layout) clientAt(c int) int { return l.client0 + l.clientLen*c }
func (l *layout) slot(c, s int) int  { return l.clientAt(c) + clientSlots + l.slotLen*s }

// Node flags.
const (
	nodeCrashable = 1 << iota // a crash now differs from one before the last step
	nodeUsed                  // a request has arrived at it; only while clocks may be skewed
	nodeAhead                 // its clock is ahead
	nodeBehind                // its clock is behind
)

// A slot's word packs what is known of one delivery.
//
//	phase 3 | node 4 | task 8 | commits 4 | touched 1 | last 1 | left 1 | overtaken 1
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

	wordLeft      word = 1 << 21 // it left an effect; only where a property asks
	wordOvertaken word = 1 << 22 // somebody else took its claim; only where a property asks
)

func newWord(phase, node, task int) word { return word(phase | node<<3 | task<<7) }

func (w word) with(phase int) word { return w&^7 | word(phase) }

func (w word) committed() word {
	if w.commits() < 15 {
		w += 1 << 15
	}
	return w
}
