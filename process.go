package exactlyone

import (
	"context"
	"fmt"

	"exactlyone/clock"
	"exactlyone/interleave"
	"exactlyone/model"
)

// serverProcess is one server process, or the part of one that handles a
// single request where the system is stateless.
type serverProcess struct {
	sys     *System
	env     *Env
	server  model.Server
	tasks   interleave.Tasks
	cancels []context.CancelFunc // for each task
}

// startServer runs the system's Start.
func startServer(sys *System) (*Env, model.Server) {
	env := &Env{stores: sys.Stores, asker: new(coroutines)}
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Errorf("%w: system %q: Start panicked: %v", ErrUsage, sys.Name, r))
		}
	}()
	server := sys.Start(env)
	if server == nil {
		panic("it returned no server")
	}
	env.started = true
	return env, server
}

func newServerProcess(sys *System, env *Env, server model.Server) *serverProcess {
	return &serverProcess{sys: sys, env: env, server: server}
}

// Handle starts a request or a round of a background actor, or gives a parked
// one the outcome of its op.
func (p *serverProcess) Handle(task int, event any) []interleave.Parked {
	p.env.asker = (*coroutines)(&p.tasks)
	switch event := event.(type) {
	case model.Request:
		p.start(task, func(ctx context.Context) fmt.Stringer { return p.server.Handle(ctx, event) })
	case round:
		p.start(task, func(ctx context.Context) fmt.Stringer {
			p.sys.Background[event.actor].Run(ctx, p.server)
			return ok{}
		})
	case cancelled:
		p.cancel(task)
	default:
		p.tasks.Resume(task, event)
	}
	return p.tasks.Parked()
}

func (p *serverProcess) start(task int, f func(ctx context.Context) fmt.Stringer) {
	if task != len(p.cancels) {
		panic("exactlyone: requests must be numbered in order")
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancels = append(p.cancels, cancel)
	p.tasks.Go(func() fmt.Stringer { return f(ctx) })
}

func (p *serverProcess) Kill() error {
	p.env.asker = (*coroutines)(&p.tasks)
	return p.tasks.Kill()
}

// clientRun is the type of [model.Client.Run].
type clientRun func(c model.Client, ctx context.Context, tr model.Transport, clk clock.Clock, newID func() string) model.Outcome

// clientProcess is one client.
type clientProcess struct {
	env    *Env
	client model.Client
	run    clientRun
	tasks  interleave.Tasks
	sent   int // requests so far
}

func newClientProcess(sys *System, c model.Client) *clientProcess {
	p := &clientProcess{client: c, run: sys.tuning.run}
	if p.run == nil {
		p.run = model.Client.Run
	}
	p.env = &Env{asker: (*coroutines)(&p.tasks)}
	return p
}

// Handle starts the client at the first event, whatever it is.
func (p *clientProcess) Handle(_ int, event any) []interleave.Parked {
	if _, first := event.(begin); first {
		p.tasks.Go(func() fmt.Stringer {
			return outcome{p.run(p.client, context.Background(), portNet{&p.tasks}, p.env.Clock(), p.env.NewID)}
		})
	} else {
		p.tasks.Resume(0, event)
	}
	parked := p.tasks.Parked()
	if _, sends := parked[0].Op.(sendOp); sends {
		p.sent++
	}
	return parked
}

// State is all that [model.Client.Run] remembers if the client has no policy of
// its own: how many requests it has sent, and so how long it waits next, and
// what it is about to do.
func (p *clientProcess) State() string {
	return fmt.Sprintf("%d %s", p.sent, p.tasks.Parked()[0])
}

func (p *clientProcess) Kill() error { return p.tasks.Kill() }

// actorProcess is one background actor: it asks for one round after another.
type actorProcess struct {
	actor, rounds int
	begun         int
	ended         bool
}

// endless is rounds without end.
const endless = -1

func (p *actorProcess) Handle(int, any) []interleave.Parked {
	if p.ended = p.begun == p.rounds; p.ended {
		return []interleave.Parked{{Result: ok{}}}
	}
	if p.rounds != endless {
		p.begun++
	}
	return []interleave.Parked{{Op: roundOp{p.actor}}}
}

func (p *actorProcess) State() string { return fmt.Sprint(p.begun, p.ended) }
func (p *actorProcess) Kill() error   { return nil }

// roundOp asks for a round of a background actor, and round is the event that
// begins it.
type (
	roundOp struct{ actor int }
	round   struct{ actor int }
)

func (o roundOp) String() string { return fmt.Sprint("round of actor ", o.actor) }
func (e round) String() string   { return fmt.Sprint("round of actor ", e.actor) }

// begin is the event that starts a client.
type begin struct{}

func (begin) String() string { return "begin" }

// outcome is what a client returns.
type outcome struct{ model.Outcome }

func (o outcome) String() string {
	if o.Kind == model.Unknown {
		return "unknown"
	}
	return fmt.Sprintf("%s: %s", o.Kind, o.Answer)
}
