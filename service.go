package exactlyone

import (
	"context"
	"fmt"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// Service is a third party that the writer calls. It keeps what it was asked
// for in a table of its own, calls, which [Contents.Rows] reads.
type Service struct {
	Name string
	// HonoursKey says that a call whose key it has seen is answered as the first
	// one was, and does nothing.
	HonoursKey bool
}

// ServiceTables is what a [Service] keeps.
var ServiceTables = model.Schema{{
	Name:    "calls",
	Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "key", Kind: model.Text}, {Name: "body", Kind: model.Text}},
}}

// Client reaches the third party of that name. It panics if the system declares
// none. A call is carried out and answered in one step.
func (e *Env) Client(name string) model.Transport {
	for i, s := range e.stores {
		if s.service != nil && s.Name == name {
			return portClient{portStore{e, i}}
		}
	}
	panic(fmt.Sprintf("exactlyone: the system declares no service %q", name))
}

type portClient struct{ store portStore }

func (c portClient) Send(ctx context.Context, req model.Request) (model.Answer, error) {
	if err := ctx.Err(); err != nil {
		return model.Answer{}, err
	}
	r := c.store.ask(ctx, callOp{req})
	if r.Err != nil {
		return model.Answer{}, r.Err
	}
	got, ok := r.Value.(received)
	if !ok {
		panic("the call panicked")
	}
	return got.answer, got.err
}

// callOp is a call to a third party.
type callOp struct{ req model.Request }

func (o callOp) String() string { return "call " + o.req.String() }
func (o callOp) Brief() string  { return "call " + o.req.Brief() }

// panicking is what a call is given whose caller is to panic.
type panicking struct{}

func (panicking) String() string { return "panic" }

// thirdParty is a service as a store.
type thirdParty struct{ Service }

func (p thirdParty) Start() (State, error) { return model.NewTables(ServiceTables), nil }
func (p thirdParty) Close() error          { return nil }
func (p thirdParty) Failing() Failing      { return Failing{} }

func (p thirdParty) Waits(_, _ State, _ interleave.Op, _ []State) bool { return false }

func (p thirdParty) Do(shared, _ State, op interleave.Op, _ time.Time) (State, State, Reply) {
	req := op.(callOp).req
	t := shared.(*model.Tables)
	answer := func(id any) Reply {
		return Reply{Value: received{answer: model.Answer{Status: 201, Body: fmt.Sprintf(`{"call":%d}`, id)}}}
	}
	if p.HonoursKey && req.Key != "" {
		if _, r, _ := t.Do(model.Select("calls", model.Eq("key", req.Key))); len(r.Rows) > 0 {
			return t, nil, answer(r.Rows[0]["id"])
		}
	}
	t, r, err := t.Do(model.Insert("calls", model.Set("key", req.Key), model.Set("body", req.Body)))
	if err != nil {
		panic(err) // the schema is our own
	}
	return t, nil, answer(r.ID)
}
