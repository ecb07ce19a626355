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
	env    *Env
	server model.Server
	tasks  interleave.Tasks
	count  int
}

// startServer runs the system's Start.
func startServer(sys *System) (*Env, model.Server) {
	env := &Env{stores: sys.Stores, tasks: new(interleave.Tasks)}
	defer func() {
		if r := recover(); r != nil {
			panic(fmt.Errorf("%w: system %q: Start panicked: %v", ErrUsage, sys.Name, r))
		}
	}()
	server := sys.Start(env)
	if server == nil {
		panic("it returned no server")
	}
	return env, server
}

func newServerProcess(env *Env, server model.Server) *serverProcess {
	return &serverProcess{env: env, server: server}
}

// Handle starts a request, or gives a parked one the outcome of its op.
func (p *serverProcess) Handle(task int, event any) []interleave.Parked {
	p.env.tasks = &p.tasks
	if req, ok := event.(model.Request); ok {
		if task != p.count {
			panic("exactlyone: requests must be numbered in order")
		}
		p.count++
		p.tasks.Go(func() fmt.Stringer { return p.server.Handle(context.Background(), req) })
	} else {
		p.tasks.Resume(task, event)
	}
	return p.tasks.Parked()
}

func (p *serverProcess) Kill() error {
	p.env.tasks = &p.tasks
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
	p.env = &Env{tasks: &p.tasks}
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
