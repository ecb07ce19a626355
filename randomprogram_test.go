package exactlyone

import (
	"context"
	"fmt"
	"sync"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// Random programs: a handler is a short script, interpreted line by line over
// the Env that writers get. What the lines do is in [handling.do].

// instr is one line of a script. Which fields matter depends on do.
type instr struct {
	do    string
	store int
	row   string // "a" or "b"; the key of an entry in the node's memory
	val   string // see value
	n     int    // lines to skip, status of an answer, seconds
}

func (in instr) String() string {
	return fmt.Sprintf("%-8s store %d row %s val %-5s n %d", in.do, in.store, in.row, in.val, in.n)
}

// scriptTables is the schema of every store of a random program.
var scriptTables = model.Schema{
	{Name: "effects", Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "body", Kind: model.Text}}},
	{Name: "rows", Columns: []model.Column{
		{Name: "name", Kind: model.Text},
		{Name: "val", Kind: model.Text},
		{Name: "owner", Kind: model.Text},
		{Name: "n", Kind: model.Int},
		{Name: "until", Kind: model.Time},
	}, Unique: [][]string{{"name"}}},
}

// scriptServer is a server process that runs a script for each request.
type scriptServer struct {
	env    *Env
	p      *program
	memory *nodeMemory
}

type nodeMemory struct {
	count int
	text  map[string]string
	lock  sync.Locker
}

func newNodeMemory(env *Env) *nodeMemory {
	return &nodeMemory{text: map[string]string{}, lock: env.Locker()}
}

func (s scriptServer) Handle(ctx context.Context, req model.Request) model.Answer {
	h := &handling{env: s.env, p: s.p, memory: s.memory, req: req, tx: make([]model.Tx, s.p.stores)}
	if s.p.amnesia {
		h.memory = newNodeMemory(s.env)
	}
	return h.run(ctx)
}

// handling is the local state of one request.
type handling struct {
	env    *Env
	p      *program
	memory *nodeMemory
	req    model.Request
	tx     []model.Tx // open transaction of each store, if any

	flag  bool      // what the last test, statement or commit said
	reg   string    // the last thing read
	me    string    // own fresh id
	now   time.Time // the clock when last read
	until time.Time // a stored time that was read
}

func (h *handling) run(ctx context.Context) model.Answer {
	h.now = h.p.epoch
	for at := 0; at < len(h.p.script); at++ {
		in := h.p.script[at]
		switch in.do {
		case "if":
			if !h.holds(in.val) {
				at += in.n
			}
		case "answer":
			return h.answer(in)
		case "panic":
			panic("the script says so")
		default:
			h.do(ctx, in)
		}
	}
	return model.Answer{Status: 200, Body: h.reg}
}

func (h *handling) answer(in instr) model.Answer {
	a := model.Answer{Status: in.n, Body: h.value(in.val)}
	if in.row == "replay" {
		return a.Replay()
	}
	return a
}

// holds is the condition of an if.
func (h *handling) holds(cond string) bool {
	switch cond {
	case "flag":
		return h.flag
	case "!flag":
		return !h.flag
	case "mine":
		return h.reg == h.me
	case "found":
		return h.reg != ""
	case "late":
		return h.until.Before(h.now)
	}
	return h.reg == cond
}

// value is what a line writes or answers.
func (h *handling) value(val string) string {
	switch val {
	case "reg":
		return h.reg
	case "me":
		return h.me
	case "key":
		return h.req.Key
	case "body":
		return h.req.Body
	}
	return val
}

// do carries out a line that is neither a branch nor an end.
func (h *handling) do(ctx context.Context, in instr) {
	store := h.env.Store(fmt.Sprint("s", in.store))
	switch in.do {
	case "id":
		h.me = h.env.NewID()
	case "note":
		h.env.Note(in.row)
	case "now":
		h.now = h.env.Clock().Now()
	case "sleep":
		h.flag = h.env.Clock().Sleep(ctx, time.Duration(in.n)*time.Second) == nil
	case "begin":
		if h.tx[in.store] == nil || in.n == 0 { // with n, a second BEGIN waits for ever
			h.tx[in.store], _ = store.Begin(ctx)
		}
	case "commit", "rollback":
		tx := h.tx[in.store]
		if h.tx[in.store] = nil; tx == nil {
			return
		}
		if in.do == "commit" {
			h.flag = tx.Commit(ctx) == nil
		} else {
			h.flag = tx.Rollback(ctx) == nil
		}
	case "lock":
		h.memory.lock.Lock()
	case "unlock":
		h.memory.lock.Unlock()
	case "count":
		h.memory.count++
		h.reg = fmt.Sprint("n", h.memory.count)
	case "put":
		h.memory.text[in.row] = h.value(in.val)
	case "get":
		h.reg = h.memory.text[in.row]
	default:
		h.statement(ctx, store, in)
	}
}

// statement carries out one statement, in the open transaction if there is one.
func (h *handling) statement(ctx context.Context, store model.Store, in instr) {
	do := store.Do
	if tx := h.tx[in.store]; tx != nil {
		do = tx.Do
	}
	r, err := do(ctx, h.stmt(in))
	h.flag = err == nil && (r.Affected > 0 || len(r.Rows) > 0)
	switch in.do {
	case "read", "expired":
		if h.reg = ""; !h.flag {
			return
		}
		h.reg = r.Rows[0].Text(in.val)
		if in.val == "n" {
			h.reg = fmt.Sprint("n", r.Rows[0].Int("n"))
		}
		h.until, _ = r.Rows[0]["until"].(time.Time)
	case "effect":
		h.reg = fmt.Sprint(r.ID)
	}
}

// stmt is the statement of a line.
func (h *handling) stmt(in instr) model.Stmt {
	val, lease := h.value(in.val), h.now.Add(scriptLease)
	this := model.Eq("name", in.row)
	row := []model.Assign{model.Set("name", in.row), model.Set("val", val), model.Set("owner", h.me)}
	switch in.do {
	case "read":
		return model.Select("rows", this)
	case "expired":
		return model.Select("rows", this, model.Where("until", "<", h.now))
	case "write":
		return model.Update("rows", model.Set("val", val)).If(this)
	case "cas":
		return model.Update("rows", model.Set("val", val)).If(this, model.Eq("val", "x"))
	case "own":
		return model.Update("rows", model.Set("owner", val)).If(this)
	case "fence":
		return model.Update("rows", model.Set("val", val)).If(this, model.Eq("owner", h.me))
	case "take":
		return model.Update("rows", model.Set("owner", val), model.Set("until", lease)).If(this, model.Where("until", "<", h.now))
	case "lease":
		return model.Update("rows", model.Set("until", lease)).If(this)
	case "stamp":
		return model.Update("rows", model.Set("until", h.now)).If(this)
	case "add":
		return model.Update("rows", model.Add("n", 1)).If(this)
	case "delete":
		return model.Delete("rows", this)
	case "absent":
		return model.InsertIfAbsent("rows", row...)
	case "claim":
		return model.InsertIfAbsent("rows", append(row, model.Set("until", lease))...)
	case "insert":
		return model.Insert("rows", row...)
	case "effect":
		return model.Insert("effects", model.Set("body", val))
	}
	panic("no such line: " + in.String())
}

// scriptLease is how long a stored lease stands.
const scriptLease = 10 * time.Second

// snapshots is a store whose transactions see and change a copy of what there
// was when they began, and put it in place of everything when they commit. So
// what is in a session depends on when it began.
type snapshots struct{ Backend }

func openSnapshots(s Store) (Backend, error) {
	b, err := Memory(s)
	return snapshots{b}, err
}

func (snapshots) Waits(_, _ State, _ interleave.Op, _ []State) bool { return false }
