package exactlyone

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"exactlyone/model"
)

// plain is code that knows nothing of schedulers, but for its store.
type plain struct {
	store  model.Store
	before func(ctx context.Context)
	after  func(insert func())
}

func (p plain) Handle(ctx context.Context, req model.Request) model.Answer {
	if p.before != nil {
		p.before(ctx)
	}
	var id int64
	insert := func() {
		r, err := p.store.Do(context.WithoutCancel(ctx), model.Insert("reports", model.Set("body", req.Body)))
		if err == nil {
			id = r.ID
		}
	}
	if p.after != nil {
		p.after(insert)
		return model.Answer{Status: 202}
	}
	insert()
	return model.Answer{Status: 201, Body: fmt.Sprint(id)}
}

// hostedSystem is a system whose server is ordinary code.
func hostedSystem(start func(env *Env) Server) System {
	return System{
		Name:   "plain",
		Stores: []Store{{Name: "db", Tables: model.Schema{{Name: "reports", Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "body", Kind: model.Text}}}}}},
		Start:  start,
		Client: func(int) model.Client {
			return model.Client{Operation: model.Operation{Body: "b"}, Key: model.KeyToolCall}
		},
		Effects: func(c Contents) []model.Effect {
			var all []model.Effect
			for _, r := range c.Rows("db", "reports") {
				all = append(all, model.Effect{ID: fmt.Sprint(r.Int("id")), Body: r.Text("body")})
			}
			return all
		},
		Stateless: true,
	}
}

func TestHostedStory(t *testing.T) {
	sys := hostedSystem(func(env *Env) Server { return Goroutines(plain{store: env.Store("db")}) })
	r := mustRun(t, sys, Bounds{Clients: 1}, Options{})
	t.Log(reported(t, r))
	if r.Verdict != Violated {
		t.Fatal(r.Verdict, r.Why)
	}
}

// TestHostedLeavesGoroutine: an effect that a goroutine leaves after the answer is
// lost in a crash.
func TestHostedLeavesGoroutine(t *testing.T) {
	sys := hostedSystem(func(env *Env) Server {
		return Goroutines(plain{store: env.Store("db"), after: func(insert func()) {
			go func() {
				time.Sleep(time.Second)
				insert()
			}()
		}})
	})
	r := mustRun(t, sys, Bounds{Clients: 1, Attempts: 1, LostAnswers: None, Jumps: None}, Options{})
	t.Log(reported(t, r))
	if r.Verdict != Violated || r.Story.Faults != 0 {
		t.Fatal(r.Verdict, r.Why)
	}
}

// TestHostedMutex: a lock in memory keeps requests of one process apart.
func TestHostedMutex(t *testing.T) {
	for _, locks := range []bool{false, true} {
		sys := hostedSystem(func(env *Env) Server {
			var mu sync.Mutex
			var done atomic.Bool
			store := env.Store("db")
			return Goroutines(handlerFunc(func(ctx context.Context, req model.Request) model.Answer {
				if locks {
					mu.Lock()
					defer mu.Unlock()
				}
				if done.Load() {
					return model.Answer{Status: 200, Body: "1"}
				}
				_, _ = store.Do(ctx, model.Select("reports"))
				_, _ = store.Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
				done.Store(true)
				return model.Answer{Status: 200, Body: "1"}
			}))
		})
		sys.Stateless = false
		r := mustRun(t, sys, Bounds{Attempts: 1, Crashes: None, LostAnswers: None, Jumps: 1}, Options{})
		t.Log(reported(t, r))
		if (r.Verdict != Violated) != locks || locks && r.Checked == 0 {
			t.Fatal(locks, r.Verdict, r.Why)
		}
	}
}

// TestHostedGoroutines: of several goroutines of one request each may go first.
func TestHostedGoroutines(t *testing.T) {
	sys := hostedSystem(func(env *Env) Server {
		store := env.Store("db")
		return Goroutines(handlerFunc(func(ctx context.Context, req model.Request) model.Answer {
			var wg sync.WaitGroup
			var first atomic.Int64
			for i := range 3 {
				wg.Go(func() {
					_, _ = store.Do(ctx, model.Select("reports", model.Eq("body", fmt.Sprint(i))))
					first.CompareAndSwap(0, int64(i)+1)
				})
			}
			wg.Wait()
			if first.Load() != 3 {
				_, _ = store.Do(ctx, model.Insert("reports", model.Set("body", req.Body)))
			}
			return model.Answer{Status: 200, Body: "1"}
		}))
	})
	r := mustRun(t, sys, Bounds{Clients: 1, Attempts: 1, Crashes: None, LostAnswers: None, Jumps: None}, Options{})
	t.Log(reported(t, r))
	if r.Verdict != Violated || r.Story.Switches != 0 || !strings.Contains(r.Story.Steps[1].Label, "body='2'") {
		t.Fatal(r.Verdict)
	}
}

type handlerFunc func(ctx context.Context, req model.Request) model.Answer

func (f handlerFunc) Handle(ctx context.Context, req model.Request) model.Answer { return f(ctx, req) }

// TestHostedLeft: a goroutine that waits for ever after its handler has returned is
// reported.
func TestHostedLeft(t *testing.T) {
	for _, leaves := range []bool{false, true} {
		sys := hostedSystem(func(env *Env) Server {
			return Goroutines(plain{store: env.Store("db"), before: func(context.Context) {
				if leaves {
					go waitsForEver()
				}
			}})
		})
		r := mustRun(t, sys, Bounds{Clients: 1, Attempts: 1, Crashes: None, LostAnswers: None, Jumps: None}, Options{})
		want := "[]"
		if leaves {
			want = "[chan receive (nil chan) in exactlyone.waitsForEver]"
		}
		if got := withoutLines(r.Left); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func waitsForEver() { <-(chan int)(nil) }

// withoutLines is stacks without the names of files and lines.
func withoutLines(stacks []string) string {
	return regexp.MustCompile(` \(\w+\.go:\d+\)`).ReplaceAllString(fmt.Sprint(stacks), "")
}
