package exactlyone

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
	"exactlyone/props"
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
		ID:         func(a model.Answer) string { return a.Body },
		Properties: []props.Property{wProperty()},
		tuning:     tuning{sendIsNoStep: true, jump: wLease + 1, nodeOf: func(c int) int { return c }},
	}
}

const wLease = time.Second

// wProperty is judged at the end of every execution: at most one report,
// exactly one if a client saw success, and every id seen exists.
func wProperty() props.Property {
	return props.New("w", "at most one report, exactly one once told, every id seen exists",
		func(highest int, t model.Told) int {
			id, _ := strconv.Atoi(t.ID)
			return max(highest, id)
		},
		func(highest int, v props.View) (bool, string) {
			n := len(v.Effects)
			if v.End && (n > 1 || highest > 0 && n != 1 || highest > n) {
				return true, fmt.Sprintf("%d reports, highest id seen %d", n, highest)
			}
			return v.End, ""
		})
}

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

func (wStore) Waits(_, _ State, _ interleave.Op, _ []State) bool { return false }

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
	do("process", r.mine)
	finish := "finish"
	if w.writer == "key_atomic_nofence" {
		finish = "finish without fence"
	}
	return answer(do(finish, r.mine).answer)
}
