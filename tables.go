package exactlyone

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
)

// tables is everything learned about a system during a search, shared by all
// workers. What is in a state's vector are numbers of these tables.
type tables struct {
	sys    *System
	bounds Bounds
	props  []props.Property

	values *interleave.Interner
	tree   *interleave.Tree
	server uint32   // root of the histories of a server process
	client []uint32 // for each client and background actor, the history that begins with its start
	forget []uint32 // the same, for a client that remembers only its attempts, if it has no policy

	mu       sync.Mutex
	worlds   []*world // one for each worker, for what they counted
	backends []Backend
	failing  []Failing // for each store, what can go wrong with it
	first    []uint32  // for each store, its content after set-up
	replies  map[storeKey]storeVal
	verdicts map[judgeKey]props.Verdict
	observed map[[2]uint32]uint32 // property state, told → property state
	stamps   map[uint32][]time.Time
	effects  map[uint32][]model.Effect
	claims   map[uint32][]Claim
	closings map[interleave.Key]closingValue

	increments increments
	end        func() // of what was arranged for code in bubbles; may be nil
}

type storeKey struct {
	now                        int64 // 0 unless the op looks at the time
	store, shared, session, op uint32
}

type storeVal struct{ shared, session, reply uint32 }

type judgeKey struct {
	state, contents uint32
	facts           props.Fact
	end             bool
}

func newTables(sys *System, b Bounds) (*tables, error) {
	values := interleave.NewInterner()
	t := &tables{
		sys: sys, bounds: b, props: sys.properties(),
		values: values, tree: interleave.NewTree(values),
		replies: map[storeKey]storeVal{}, verdicts: map[judgeKey]props.Verdict{},
		observed: map[[2]uint32]uint32{}, stamps: map[uint32][]time.Time{},
		effects: map[uint32][]model.Effect{}, claims: map[uint32][]Claim{},
		closings: map[interleave.Key]closingValue{},
	}
	if n := b.Clients + len(sys.Background); n > maxTogether {
		return nil, fmt.Errorf("%w: at most %d clients and background actors were expected, found %d", ErrUsage, maxTogether, n)
	}
	for _, s := range sys.Stores {
		if err := t.open(s); err != nil {
			t.close()
			return nil, err
		}
	}
	if sys.ordinary {
		t.end = oneAtATime()
	}
	t.server = t.tree.Root(aServer, false, func() interleave.Process {
		if sys.ordinary {
			return newHosted(sys)
		}
		env, server := startServer(sys)
		return newServerProcess(sys, env, server)
	})
	for i := range b.Clients + len(sys.Background) {
		t.client = append(t.client, t.begin(i, false, false))
		t.forget = append(t.forget, t.begin(i, false, true))
	}
	return t, nil
}

// open opens the backend of a store.
func (t *tables) open(s Store) error {
	open := t.sys.Backend
	switch {
	case s.service != nil:
		open = func(Store) (Backend, error) { return thirdParty{*s.service}, nil }
	case s.Open != nil:
		open = s.Open
	case open == nil:
		open = Memory
	}
	backend, err := open(s)
	if err != nil {
		return err
	}
	t.backends = append(t.backends, backend)
	failing := failingOf(backend)
	failing.ReplyLost = failing.ReplyLost && t.sys.Driver != DriverLibPQ
	failing.ReplyTwice = failing.ReplyTwice && t.sys.Driver != DriverPgx
	t.failing = append(t.failing, failing)
	start, err := backend.Start()
	if err != nil {
		return err
	}
	t.first = append(t.first, t.values.ID(start))
	return nil
}

// begin is the history of a client, or of a background actor after all clients,
// that begins with its start. With forget it remembers no more than it must.
func (t *tables) begin(i int, closing, forget bool) uint32 {
	var name string
	if i >= t.bounds.Clients {
		name = fmt.Sprintf("actor %d %t %t", i, closing, forget)
	} else {
		c := t.clientOf(i, closing)
		forget = forget && c.Policy == nil
		name = fmt.Sprintf("client %t %#v", forget, c)
		if c.Policy != nil {
			name += fmt.Sprint(i) // functions cannot be compared
		}
	}
	root := t.tree.Root(name, forget, func() interleave.Process { return t.launch(i, closing) })
	return t.tree.Next(root, interleave.Event(0, t.values.ID(begin{})))
}

// launch makes a client or background actor, in the closing phase one with more
// attempts.
func (t *tables) launch(i int, closing bool) interleave.Process {
	if i < t.bounds.Clients {
		return newClientProcess(t.sys, t.clientOf(i, closing))
	}
	p := &actorProcess{actor: i - t.bounds.Clients, rounds: t.bounds.Rounds}
	if closing {
		p.rounds = endless
	}
	return p
}

// clientOf is client i, with as many attempts as it has.
func (t *tables) clientOf(i int, closing bool) model.Client {
	c := t.sys.Client(i)
	c.Attempts = t.bounds.Attempts
	if closing {
		c.Attempts = closingAttempts
	}
	return c
}

func (t *tables) close() {
	if t.end != nil {
		t.end()
		t.end = nil
	}
	for _, b := range t.backends {
		_ = b.Close()
	}
}

// distinctOperations says whether effects and answers can be told to belong to
// one operation or another.
func (t *tables) distinctOperations() error {
	for i := range t.bounds.Clients {
		for j := range i {
			a, b := t.operation(i), t.operation(j)
			if (nameOf(a) == nameOf(b)) != (a.Body == b.Body) {
				return fmt.Errorf("%w: system %q: clients %d and %d submit different operations, which need different names and bodies", ErrUsage, t.sys.Name, j+1, i+1)
			}
		}
	}
	return nil
}

// operation is what client i submits.
func (t *tables) operation(i int) model.Operation { return t.sys.Client(i).Operation }

// do carries out an op on a store, once for each state it meets.
func (t *tables) do(k storeKey, now time.Time) storeVal {
	t.mu.Lock()
	defer t.mu.Unlock()
	if v, ok := t.replies[k]; ok {
		return v
	}
	v := t.perform(k, now)
	t.replies[k] = v
	return v
}

func (t *tables) perform(k storeKey, now time.Time) storeVal {
	var session State
	if k.session != 0 {
		session = t.values.Value(k.session).(State)
	}
	op := t.values.Value(k.op).(storeOp).op
	shared, session, reply := t.backends[k.store].Do(t.values.Value(k.shared).(State), session, op, now)
	v := storeVal{shared: t.values.ID(shared), reply: t.values.ID(reply)}
	if session != nil {
		v.session = t.values.ID(session)
	}
	return v
}

// timesIn is the times that an op or the content of a store names.
func (t *tables) timesIn(op uint32) []time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if times, ok := t.stamps[op]; ok {
		return times
	}
	times := []time.Time{}
	var s StmtOp
	switch o := t.values.Value(op).(type) {
	case storeOp:
		s, _ = o.op.(StmtOp)
		if timely, ok := o.op.(Timely); ok {
			times = timely.Times()
		}
	case Timely:
		times = o.Times()
	}
	for _, a := range s.Stmt.Set {
		if at, ok := a.Value.(time.Time); ok {
			times = append(times, at)
		}
	}
	for _, c := range s.Stmt.Where {
		if at, ok := c.Value.(time.Time); ok {
			times = append(times, at)
		}
	}
	t.stamps[op] = times
	return times
}

// contentsOf is the number of all stores' contents together.
func (t *tables) contentsOf(shared []uint32) uint32 {
	if len(shared) == 1 {
		return shared[0]
	}
	return t.values.ID(contentsID(string(fmt.Append(nil, shared))))
}

type contentsID string

func (c contentsID) String() string { return string(c) }

// effectsIn reads the effects from the stores' contents.
func (t *tables) effectsIn(shared []uint32) []model.Effect {
	id := t.contentsOf(shared)
	if found, ok := t.effects[id]; ok {
		return found
	}
	c := t.contents(shared)
	var found []model.Effect
	callback("Effects", func() { found = slices.Clone(t.sys.Effects(c)) })
	for i, e := range found {
		if e.Operation == "" {
			found[i].Operation = t.whose(e.Body)
		}
	}
	t.effects[id] = found
	return found
}

// contents is the stores' contents as a system reads them.
func (t *tables) contents(shared []uint32) Contents {
	c := Contents{}
	for i, s := range t.sys.Stores {
		c.names = append(c.names, s.Name)
		c.states = append(c.states, t.values.Value(shared[i]).(State))
	}
	return c
}

// countEffects is the number of effects in the stores' contents.
func (t *tables) countEffects(shared []uint32) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.effectsIn(shared))
}

// claimsIn reads who holds which claim.
func (t *tables) claimsIn(shared []uint32) []Claim {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := t.contentsOf(shared)
	if found, ok := t.claims[id]; ok {
		return found
	}
	var found []Claim
	c := t.contents(shared)
	callback("Claims", func() { found = slices.Clone(t.sys.Claims(c)) })
	t.claims[id] = found
	return found
}

// whose is the operation one of whose bodies an effect holds.
func (t *tables) whose(body string) string {
	for i := range t.bounds.Clients {
		if c := t.clientOf(i, false); slices.Contains(c.Bodies(), body) {
			return nameOf(c.Operation)
		}
	}
	return ""
}

func nameOf(op model.Operation) string {
	if op.Name == "" {
		return "the operation"
	}
	return op.Name
}

// judge asks the properties of a view but for its effects, once for each state
// they meet before a closing phase.
func (t *tables) judge(state uint32, shared []uint32, view props.View) props.Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := judgeKey{state, t.contentsOf(shared), view.Facts, view.End}
	plain := view.Closing == nil && view.Stuck == ""
	if v, ok := t.verdicts[k]; ok && plain {
		return v
	}
	s := t.values.Value(state).(*props.State)
	var v props.Verdict
	view.Effects = t.effectsIn(shared)
	callback("properties", func() { v = s.Judge(view) })
	if plain {
		t.verdicts[k] = v
	}
	return v
}

// observe is the property state after somebody was told something.
func (t *tables) observe(state, told uint32) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := [2]uint32{state, told}
	if next, ok := t.observed[k]; ok {
		return next
	}
	var after *props.State
	callback("properties", func() {
		after = t.values.Value(state).(*props.State).Observe(model.Told(t.values.Value(told).(toldValue)))
	})
	next := t.values.ID(after)
	t.observed[k] = next
	return next
}

// toldValue is a model.Told that can be numbered.
type toldValue model.Told

func (v toldValue) String() string {
	return fmt.Sprintf("client %d %q: %s -> %s", v.Client, v.Operation, v.Request, v.Answer.Key())
}
