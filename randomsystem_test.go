package exactlyone

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"exactlyone/clock"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/retry"
)

// program is a random program with its clients, its bounds and what is claimed
// of it.
type program struct {
	seed      uint64
	level     int // how often it was made smaller
	script    []instr
	stores    int
	clients   []model.Client
	key       model.KeySource
	backoff   time.Duration
	policy    string // of the clients, see makeClients; "" if they have none
	bounds    Bounds // as withDefaults leaves them
	durations []time.Duration
	jump      time.Duration // the only jump there is; 0 means any
	maxDelay  time.Duration
	props     []props.Property
	ids       bool // answers name ids
	remembers bool // it uses the node's memory
	snapshots bool // transactions do not wait for one another
	same      bool // clients submit the same operation
	opaque    bool // it is declared that clients are interchangeable
	epoch     time.Time
	amnesia   bool // each request is given a memory of its own
	large     bool // compare it also if it is too large to follow all executions
	confined  int  // a number of faults, avoiding, or unconfined: see confine
}

func (p *program) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, level %d, %+v\n", p.seed, p.level, p.bounds)
	fmt.Fprintf(&b, "policy %q, durations %v, jump %v, max delay %v, stateless %t, snapshots %t, opaque %t, ids %t\n", p.policy, p.durations, p.jump, p.maxDelay, !p.remembers, p.snapshots, p.opaque, p.ids)
	for i, in := range p.script {
		fmt.Fprintf(&b, "%3d %s\n", i, in)
	}
	for i, c := range p.clients {
		fmt.Fprintf(&b, "client %d: %+v, key %s, backoff %s\n", i, c.Operation, c.Key, c.Backoff)
	}
	for _, c := range p.props {
		fmt.Fprintf(&b, "property %s: %s\n", c.Name, c.Claim)
	}
	return b.String()
}

// What a program may be confined to, besides a number of faults.
const (
	unconfined = -1
	avoiding   = -2
)

// symmetric says whether clients may be exchanged.
func (p *program) symmetric() bool { return p.same && p.opaque && p.policy == "" }

// system is the program as the engine wants it.
func (p *program) system() *System {
	sys := &System{
		Name: fmt.Sprint("random/", p.seed),
		Start: func(env *Env) model.Server {
			return scriptServer{env, p, newNodeMemory(env)}
		},
		Client:     func(i int) model.Client { return p.clients[i] },
		Effects:    p.effects,
		Properties: p.props,
		Durations:  p.durations, MaxDelay: p.maxDelay,
		Stateless: !p.remembers, OpaqueIDs: p.opaque,
	}
	for i := range p.stores {
		sys.Stores = append(sys.Stores, Store{
			Name: fmt.Sprint("s", i), Tables: scriptTables,
			Rows: []model.Stmt{model.Insert("rows", model.Set("name", "a"), model.Set("val", "x"),
				model.Set("owner", "nobody"), model.Set("n", 0), model.Set("until", clock.Epoch))},
		})
	}
	sys.tuning.jump = p.jump
	if p.snapshots {
		sys.Backend = openSnapshots
	}
	if *levelFlag != "" {
		sys.Backend = MemoryAt(Isolation(*levelFlag))
	}
	if p.ids {
		sys.ID = func(a model.Answer) string { return a.Body }
	}
	return sys
}

// effects is the effects tables, and every row as the effect of an operation
// of its own, so that properties can speak of it.
func (p *program) effects(c Contents) []model.Effect {
	var all []model.Effect
	for i := range p.stores {
		store := fmt.Sprint("s", i)
		for _, r := range c.Rows(store, "effects") {
			all = append(all, model.Effect{ID: fmt.Sprint(r.Int("id")), Body: r.Text("body")})
		}
		for _, r := range c.Rows(store, "rows") {
			until, _ := r["until"].(time.Time)
			all = append(all, model.Effect{
				Operation: fmt.Sprint("row ", r.Text("name"), " of ", store),
				ID:        r.Text("val"), Body: fmt.Sprint(r.Text("owner"), " ", clock.Since(until), " ", r.Int("n")),
			})
		}
	}
	return all
}

// dice draws the parts of a program.
type dice struct{ *rand.Rand }

func (d dice) oneIn(n int) bool                { return d.IntN(n) == 0 }
func (d dice) of(words ...string) string       { return words[d.IntN(len(words))] }
func (d dice) number(numbers ...int) int       { return numbers[d.IntN(len(numbers))] }
func (d dice) row() string                     { return d.of("a", "a", "b") }
func (d dice) val() string                     { return d.of("x", "y", "reg", "me", "me", "key", "body") }
func (d dice) lines(lines ...instr) []instr    { return lines }
func (d dice) one(do, row, val string) []instr { return []instr{{do: do, row: row, val: val}} }

// newProgram draws the program of a seed. A higher level makes a smaller one.
func newProgram(seed uint64, level int) *program {
	d := dice{rand.New(rand.NewPCG(seed, uint64(level)))}
	p := &program{
		seed: seed, level: level, stores: 1, epoch: clock.Epoch, large: d.oneIn(4), ids: d.oneIn(4),
		confined: d.number(unconfined, unconfined, unconfined, 0, 1, avoiding, avoiding),
	}
	if d.oneIn(8) {
		p.stores = 2
	}
	p.drawBounds(d, level)
	p.remembers = d.oneIn(3) || p.bounds.Duplicates > 0 && d.oneIn(2)
	p.snapshots = d.oneIn(4)
	if b := p.bounds; b.Crashes+b.LostAnswers+b.LostRequests+b.Duplicates+b.Jumps+b.CommitFaults+b.StoreErrors+b.StatementAnswers+b.Cancels+b.Skews > 1 && d.oneIn(3) {
		p.confined = 1
	}
	p.script = d.script(p.remembers, p.bounds.Jumps > 0 || p.bounds.LostAnswers > 0, level+p.bounds.Clients-1)
	for i := range p.script {
		if p.stores > 1 && d.oneIn(2) && p.script[i].do != "commit" {
			p.script[i].store = 1
		}
	}
	p.key = []model.KeySource{model.KeyNone, model.KeyPerAttempt, model.KeyPerAttempt, model.KeyToolCall}[d.IntN(4)]
	p.backoff = time.Duration(d.number(0, 0, 1, 10)) * time.Second
	if d.oneIn(10) {
		p.policy = d.of("budget", "deadline")
	}
	p.same = !d.oneIn(4)
	p.opaque = p.same || d.oneIn(2)
	p.props = d.properties()
	if d.oneIn(5) {
		p.durations = nil // the ladder
	} else {
		p.durations = []time.Duration{time.Duration(d.number(3, 10)) * time.Second}
	}
	if d.oneIn(6) {
		p.jump = time.Duration(d.number(3, 10, 11)) * time.Second
	}
	if d.oneIn(2) {
		p.maxDelay = 5 * time.Second
	}
	if level < 2 && d.oneIn(3) {
		p.theme(d)
	}
	p.makeClients()
	return p
}

// drawBounds lets a few things go wrong.
func (p *program) drawBounds(d dice, level int) {
	b := &p.bounds
	b.Clients, b.Attempts, b.Nodes = d.number(1, 1, 2, 2, 2, 2, 2, 3), d.number(1, 2, 2), d.number(1, 1, 2)
	if level > 1 {
		b.Clients = min(b.Clients, max(1, 6-level))
	}
	if b.Clients == 1 && d.oneIn(2) {
		b.Attempts = 3
	}
	if level > 2 && b.Clients*b.Attempts > 3 {
		b.Attempts = 1
	}
	kinds := []*int{
		&b.Crashes, &b.Crashes, &b.LostAnswers, &b.LostRequests, &b.Duplicates, &b.Duplicates, &b.CommitFaults, &b.Jumps, &b.Jumps, &b.Jumps,
		&b.StoreErrors, &b.StatementAnswers, &b.Cancels, &b.Cancels, &b.Skews,
	}
	first, second := kinds[d.IntN(len(kinds))], kinds[d.IntN(len(kinds))]
	switch d.IntN(8) {
	case 0: // nothing breaks
	case 1, 2:
		*first = 1
	case 3:
		*first = 2
	case 4:
		if *first, *second = 1, 1; level < 2 {
			*kinds[d.IntN(len(kinds))]++
		}
	default:
		*first, *second = 1, 1
	}
	if b.Clients == 1 && level < 2 {
		*kinds[d.IntN(len(kinds))]++
	}
	if b.Crashes > 0 && b.Clients > 1 && d.oneIn(2) {
		b.Nodes = 2
	}
	if b.Crashes+b.LostAnswers+b.LostRequests > 0 && level < 3 {
		b.Attempts = max(2, b.Attempts)
	}
	if level > 4 && first != second {
		*second = 0
	}
}

// makeClients makes clients that send the same, or different operations.
func (p *program) makeClients() {
	c := model.Client{
		Operation: model.Operation{Path: "/p", Body: "body", RunID: "run", ToolUseID: "t"},
		Key:       p.key,
		Backoff:   p.backoff,
	}
	switch p.policy {
	case "budget": // for one retry, but for none after a time-out
		c.Policy = func() retry.Policy {
			return retry.Policy{Budget: retry.NewBudget(retry.BudgetConfig{Tokens: 10, RetryCost: 10, TimeoutCost: 20})}
		}
	case "deadline":
		c.Policy = func() retry.Policy { return retry.Policy{Deadline: 5 * time.Second} }
	}
	for i := range p.bounds.Clients {
		if !p.same {
			c.Operation.Name, c.Operation.Body = fmt.Sprint("operation ", i), fmt.Sprint("body", i)
			c.Operation.ToolUseID = fmt.Sprint("t", i)
		}
		p.clients = append(p.clients, c)
	}
}
