package exactlyone

import (
	"context"
	"fmt"
	"testing"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// The benchmark system w: W(clients, crash, lost, expire). A crash kills one
// handling, a statement and its commit are one step, sending is no step.

// wBounds is W(clients, crash, lost, expire).
func wBounds(clients, crash, lost, expire int) Bounds {
	zero := func(n int) int {
		if n == 0 {
			return None
		}
		return n
	}
	return Bounds{
		Clients: clients, Attempts: 3, Nodes: clients, // so that a node's crash is one handling's
		Crashes: zero(crash), LostAnswers: zero(lost), Jumps: zero(expire),
	}
}

// wSystem is one of w's writers.
func wSystem(writer string) System {
	return System{
		Name:      "w/" + writer,
		Stores:    []Store{{Name: "w"}},
		Backend:   func(Store) (Backend, error) { return wStore{}, nil },
		Stateless: true, OpaqueIDs: true,
		Start: func(env *Env) model.Server { return wServer{env, writer} },
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Path: "/w", Body: "w"}}
		},
		Effects: func(c Contents) []model.Effect {
			var all []model.Effect
			for id := 1; id <= c.State("w").(wState).reports; id++ {
				all = append(all, model.Effect{ID: fmt.Sprint(id), Body: "w"})
			}
			return all
		},
		ID:     func(a model.Answer) string { return a.Body },
		tuning: tuning{sendIsNoStep: true, jump: wLease + 1, nodeOf: func(c int) int { return c }},
	}
}

const wLease = time.Second

// wState is the store: reports 1..n and one row of keys.
type wState struct {
	reports  int
	status   string // "", in_progress, done
	lease    time.Duration
	fence    int
	response int
}

func (s wState) String() string {
	return fmt.Sprintf("%d %s %d %d %d", s.reports, s.status, s.lease, s.fence, s.response)
}

// wOp is one numbered step of a writer.
type wOp struct {
	step string
	mine int // a fence or an id from an earlier step
}

func (o wOp) String() string { return fmt.Sprint(o.step, " ", o.mine) }

// Timed: a claim looks at the lease.
func (o wOp) Timed() bool { return o.step == "claim" }

// wReply is what a step says: an id to answer with, 409, or go on with mine.
type wReply struct{ answer, mine int }

func (r wReply) String() string { return fmt.Sprintf("answer %d mine %d", r.answer, r.mine) }

type wStore struct{}

func (wStore) Start() (State, error) { return wState{}, nil }
func (wStore) Close() error          { return nil }

func (wStore) Waits(interleave.Op, State, []State) bool { return false }

func (wStore) Do(shared, _ State, op interleave.Op, now time.Time) (State, State, Reply) {
	s, o := shared.(wState), op.(wOp)
	r := wReply{}
	switch o.step {
	case "insert":
		s.reports++
		r.mine = s.reports
	case "look":
		if s.status == "done" {
			r.answer = s.response
		}
	case "register":
		if s.status == "" {
			s.status, s.response = "done", o.mine
		}
	case "claim":
		now := now.Sub(time.Unix(0, 0))
		switch {
		case s.status == "done":
			r.answer = s.response
		case s.status == "in_progress" && now <= s.lease:
			r.answer = 409
		default:
			s.status, s.lease = "in_progress", now+wLease
			s.fence++
			r.mine = s.fence
		}
	case "finish", "finish without fence":
		switch {
		case o.step != "finish" || s.status == "in_progress" && s.fence == o.mine:
			s.reports++
			s.status, s.lease, s.response = "done", 0, s.reports
			r.answer = s.reports
		case s.status == "done":
			r.answer = s.response
		default:
			r.answer = 409
		}
	}
	return s, nil, Reply{Value: r}
}

type wServer struct {
	env    *Env
	writer string
}

func (w wServer) Handle(context.Context, model.Request) model.Answer {
	do := func(step string, mine int) wReply { return w.env.Do("w", wOp{step, mine}).Value.(wReply) }
	answer := func(n int) model.Answer {
		if n == 409 {
			return model.Answer{Status: 409}
		}
		return model.Answer{Status: 201, Body: fmt.Sprint(n)}
	}
	switch w.writer {
	case "naive":
		return answer(do("insert", 0).mine)
	case "key_split":
		if r := do("look", 0); r.answer != 0 {
			return answer(r.answer)
		}
		id := do("insert", 0).mine
		do("register", id)
		return answer(id)
	}
	r := do("claim", 0)
	if r.answer != 0 {
		return answer(r.answer)
	}
	do("process", 0)
	finish := "finish"
	if w.writer == "key_atomic_nofence" {
		finish = "finish without fence"
	}
	return answer(do(finish, r.mine).answer)
}

func TestWTmp(t *testing.T) {
	for _, b := range []Bounds{wBounds(2, 1, 1, 1), wBounds(2, 2, 2, 1), wBounds(3, 1, 1, 1), wBounds(3, 2, 2, 2), wBounds(4, 2, 2, 2)} {
		sys := wSystem("key_atomic")
		for _, red := range []reductions{{}, {symmetry: true}, {true, true, true, true, true}} {
			if b.Clients == 4 && !red.answers {
				continue
			}
			bb, err := b.withDefaults()
			if err != nil {
				t.Fatal(err)
			}
			tab, err := newTables(&sys, bb)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			r := interleave.Explore(context.Background(), interleave.Config{Workers: 1}, newWorld(tab, red))
			d := time.Since(start)
			t.Log(b, red, r.Stop, r.Broken, r.States, r.Steps, r.Ends, r.Bytes/int64(r.States), d, float64(r.Steps)/d.Seconds()/1e6)
		}
	}
}
