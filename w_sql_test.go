package exactlyone

import (
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// wTables are those of w.
var wTables = model.Schema{
	{Name: "reports", Columns: []model.Column{{Name: "id", Kind: model.Serial}}},
	{Name: "keys", Columns: []model.Column{
		{Name: "status", Kind: model.Text},
		{Name: "lease", Kind: model.Int},
		{Name: "fence", Kind: model.Int},
		{Name: "response", Kind: model.Int},
	}},
}

// WSystemOn is one of w's writers on a store that has tables: each step is a
// transaction of statements.
func WSystemOn(open func(Store) (Backend, error), writer string) System {
	sys := wSystem(writer)
	sys.Stores = []Store{{Name: "w", Tables: wTables, Rows: []model.Stmt{
		model.Insert("keys", model.Set("status", ""), model.Set("lease", 0), model.Set("fence", 0), model.Set("response", 0)),
	}}}
	sys.Backend = func(s Store) (Backend, error) {
		b, err := open(s)
		return wSQL{b}, err
	}
	sys.Effects = func(c Contents) []model.Effect {
		var all []model.Effect
		for _, row := range c.Rows("w", "reports") {
			all = append(all, model.Effect{ID: model.Literal(row["id"]), Body: "w"})
		}
		return all
	}
	return sys
}

// WBounds is W(clients, crash, lost, expire).
var WBounds = wBounds

// wSQL carries out the steps of w on the tables of another backend.
type wSQL struct{ Backend }

func (wSQL) Waits(_, _ State, _ interleave.Op, _ []State) bool { return false }

func (w wSQL) Do(shared, _ State, op interleave.Op, now time.Time) (State, State, Reply) {
	tx := &wTx{w: w, shared: shared, now: now}
	tx.do(BeginOp{})
	r := tx.step(op.(wOp))
	tx.do(CommitOp{})
	return tx.shared, nil, Reply{Value: r}
}

// wTx is a transaction.
type wTx struct {
	w               wSQL
	shared, session State
	now             time.Time
}

func (tx *wTx) do(op interleave.Op) (r Reply) {
	tx.shared, tx.session, r = tx.w.Backend.Do(tx.shared, tx.session, op, tx.now)
	if r.Err != nil {
		panic(r.Err)
	}
	return r
}

func (tx *wTx) key() model.Row { return tx.do(StmtOp{Stmt: model.Select("keys")}).Result.Rows[0] }

func (tx *wTx) insert() int { return int(tx.do(StmtOp{Stmt: model.Insert("reports")}).Result.ID) }

func (tx *wTx) update(set ...model.Assign) { tx.do(StmtOp{Stmt: model.Update("keys", set...)}) }

// step does what wStore does.
func (tx *wTx) step(o wOp) (r wReply) {
	switch o.step {
	case "insert":
		r.mine = tx.insert()
	case "look":
		if key := tx.key(); key.Text("status") == "done" {
			r.answer = int(key.Int("response"))
		}
	case "register":
		if tx.key().Text("status") == "" {
			tx.update(model.Set("status", "done"), model.Set("response", o.mine))
		}
	case "claim":
		now, key := tx.now.Sub(time.Unix(0, 0)), tx.key()
		switch {
		case key.Text("status") == "done":
			r.answer = int(key.Int("response"))
		case key.Text("status") == "in_progress" && int64(now) <= key.Int("lease"):
			r.answer = 409
		default:
			tx.update(model.Set("status", "in_progress"), model.Set("lease", int64(now+wLease)), model.Add("fence", 1))
			r.mine = int(key.Int("fence")) + 1
		}
	case "finish", "finish without fence":
		switch key := tx.key(); {
		case o.step != "finish" || key.Text("status") == "in_progress" && key.Int("fence") == int64(o.mine):
			r.answer = tx.insert()
			tx.update(model.Set("status", "done"), model.Set("lease", 0), model.Set("response", r.answer))
		case key.Text("status") == "done":
			r.answer = int(key.Int("response"))
		default:
			r.answer = 409
		}
	}
	return r
}
