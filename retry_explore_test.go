package exactlyone

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"exactlyone/clock"
	"exactlyone/model"
	"exactlyone/props"
	"exactlyone/retry"
)

// reply is what the counting server does with an attempt.
type reply struct {
	status int
	done   bool // it is carried out
	after  int  // Retry-After in seconds
}

// alphabet is what the server may do with each attempt.
var alphabet = []reply{
	{status: 201, done: true}, {status: 500, done: true}, {status: 500}, {status: 503, after: 3}, {status: 429}, {status: 404},
}

// arrival is one attempt as the server sees it, with what its client knew.
type arrival struct {
	n     int64  // counts from 1; attempts that never arrive count as well
	key   string // "" if there is none
	known int64  // the client's last reading of the clock since it last waited, in ns since its first; -1 if none
	slept int64  // how long it asked to wait since the attempt before, in ns
	told  int64  // the Retry-After of the answer before, in s
	done  int64  // 1: it was carried out
}

const arrivalFormat = "%d %q %d %d %d %d"

func (a arrival) String() string {
	return fmt.Sprintf(arrivalFormat, a.n, a.key, a.known, a.slept, a.told, a.done)
}

func parseArrival(text string) (a arrival) {
	if _, err := fmt.Sscanf(text, arrivalFormat, &a.n, &a.key, &a.known, &a.slept, &a.told, &a.done); err != nil {
		panic(fmt.Sprintf("%q: %v", text, err))
	}
	return a
}

// stamping is the transport and the clock of a client, and writes on each
// request what the client knew.
type stamping struct {
	model.Transport
	clock.Clock
	began time.Time // the first reading, from which a deadline counts
	next  arrival
}

func (s *stamping) Now() time.Time {
	now := s.Clock.Now()
	if s.began.IsZero() {
		s.began = now
	}
	s.next.known = int64(now.Sub(s.began))
	return now
}

func (s *stamping) Sleep(ctx context.Context, d time.Duration) error {
	s.next.known = -1
	s.next.slept += int64(d)
	return s.Clock.Sleep(ctx, d)
}

func (s *stamping) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return clock.WithTimeout(ctx, s.Clock, d)
}

func (s *stamping) Send(ctx context.Context, req model.Request) (model.Answer, error) {
	s.next.n++
	s.next.key = req.Key
	req.Caller = s.next.String()
	answer, err := s.Transport.Send(ctx, req)
	s.next.slept, s.next.told = 0, 0
	_, _ = fmt.Sscan(answer.Header["Retry-After"], &s.next.told)
	return answer, err
}

// counting is a server that writes down every attempt, in one step with its
// effect, and answers by a script.
type counting struct {
	env    *Env
	script []reply
}

func (s counting) Handle(ctx context.Context, req model.Request) model.Answer {
	a := parseArrival(req.Caller)
	r := s.script[min(int(a.n), len(s.script))-1]
	if r.done {
		a.done = 1
	}
	if a.told > 0 {
		s.env.Note("told to wait")
	}
	s.env.Note(fmt.Sprintf("attempt %d", a.n))
	_, err := s.env.Store("db").Do(ctx, model.Insert("arrivals", model.Set("who", req.Body), model.Set("what", a.String())))
	if err != nil {
		return model.Answer{Status: 500}
	}
	answer := model.Answer{Status: r.status}
	if r.after > 0 {
		answer.Header = map[string]string{"Retry-After": fmt.Sprint(r.after)}
	}
	return answer
}

// rules are what a policy promises.
type rules struct {
	attempts int64
	deadline time.Duration // 0: none
	retries  int64         // what the budget allows; 0: anything
	method   string
	key      model.KeySource
}

// properties of everything that arrived.
func (r rules) properties() []props.Property {
	each := func(name, claim string, broken func(arrival) bool) props.Property {
		return r.all(name, claim, func(as []arrival) bool {
			return slices.ContainsFunc(as, broken)
		})
	}
	keyed := r.key != "" && r.key != model.KeyNone
	all := []props.Property{
		each("attempts", "there are never more attempts than allowed", func(a arrival) bool { return a.n > r.attempts }),
		each("as-told", "no attempt comes before the time that the server asked for", func(a arrival) bool { return a.slept < a.told*int64(time.Second) }),
		r.all("one-key", "every attempt has the same key", func(as []arrival) bool {
			for _, a := range as {
				if a.key != as[0].key || (a.key != "") != keyed {
					return true
				}
			}
			return false
		}),
	}
	if r.deadline > 0 {
		all = append(all, each("deadline", "no attempt begins unless the clock was read after the last wait and shows less than the deadline", func(a arrival) bool {
			return a.known < 0 || a.known >= int64(r.deadline)
		}))
	}
	if r.retries > 0 {
		all = append(all, each("budget", "there are never more retries than the budget allows", func(a arrival) bool { return a.n-1 > r.retries }))
	}
	if r.method == "POST" && !keyed {
		all = append(all, r.all("never-twice", "what may not be repeated is never carried out twice", func(as []arrival) bool {
			done := int64(0)
			for _, a := range as {
				done += a.done
			}
			return done > 1
		}))
	}
	return all
}

// bounds are for one client; the clock jumps only where somebody looks at it.
func (r rules) bounds() Bounds {
	b := Bounds{Clients: 1, Attempts: 3, LostRequests: 1, Jumps: None}
	if r.deadline > 0 {
		b.Jumps = 1
	}
	return b
}

// all is a property of the arrivals of each operation.
func (r rules) all(name, claim string, broken func([]arrival) bool) props.Property {
	p := props.New(name, claim, func(s bool, _ model.Told) bool { return s }, func(_ bool, v props.View) (bool, string) {
		by := map[string][]arrival{}
		for _, e := range v.Effects {
			by[e.Operation] = append(by[e.Operation], parseArrival(e.Body))
		}
		for _, as := range by {
			if broken(as) {
				return true, fmt.Sprint("the attempts that arrived: ", as)
			}
		}
		return len(by) > 0, ""
	})
	p.Optional = true
	return p
}

// retrying is a system whose clients follow a policy.
func (r rules) retrying(policy func() retry.Policy, run clientRun, script []reply) System {
	return System{
		Name:   "retrying",
		Stores: []Store{{Name: "db", Tables: model.Schema{{Name: "arrivals", Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "who", Kind: model.Text}, {Name: "what", Kind: model.Text}}}}}},
		Start:  func(env *Env) model.Server { return counting{env, script} },
		Client: func(i int) model.Client {
			name := fmt.Sprint("operation ", i+1)
			op := model.Operation{Name: name, Method: r.method, Path: "/", Body: name, RunID: "run", ToolUseID: name}
			return model.Client{Operation: op, Key: r.key, Policy: policy}
		},
		Effects: func(c Contents) (all []model.Effect) {
			for _, row := range c.Rows("db", "arrivals") {
				all = append(all, model.Effect{Operation: row.Text("who"), Body: row.Text("what")})
			}
			return all
		},
		Properties: r.properties(), Stateless: true, tuning: tuning{run: run},
	}
}

// stamped runs a client whose requests are stamped.
func stamped(c model.Client, ctx context.Context, tr model.Transport, clk clock.Clock, newID func() string) model.Outcome {
	s := &stamping{Transport: tr, Clock: clk}
	return c.Run(ctx, s, s, newID)
}

// scriptLength is how many answers the server has; it repeats the last one. Three
// are all that three attempts can see, and take a minute.
var scriptLength = flag.Int("scripts", 2, "answers in each script of TestRetryKeepsItsRules")

// scripts are all scripts of so many answers.
func scripts(length int) [][]reply {
	if length == 0 {
		return [][]reply{nil}
	}
	var all [][]reply
	for _, s := range scripts(length - 1) {
		for _, r := range alphabet {
			all = append(all, append(s[:len(s):len(s)], r))
		}
	}
	return all
}

// underTest are the policies that are explored, with what they promise.
func underTest() map[string]struct {
	rules
	policy func() retry.Policy
} {
	type entry = struct {
		rules
		policy func() retry.Policy
	}
	backoff := retry.Backoff{Strategy: retry.Exponential, Base: time.Second}
	all := map[string]entry{}
	for _, call := range []struct {
		method string
		key    model.KeySource
	}{{"POST", model.KeyNone}, {"POST", model.KeyPerAttempt}, {"PUT", model.KeyNone}} {
		name := call.method + " " + string(call.key)
		all[name+", attempts"] = entry{rules{2, 0, 0, call.method, call.key}, func() retry.Policy {
			return retry.Policy{Attempts: 2, Backoff: backoff}
		}}
		all[name+", deadline"] = entry{rules{3, 5 * time.Second, 0, call.method, call.key}, func() retry.Policy {
			return retry.Policy{Attempts: 3, Backoff: backoff, Deadline: 5 * time.Second, AttemptTimeout: time.Second}
		}}
		all[name+", budget"] = entry{rules{3, 0, 1, call.method, call.key}, func() retry.Policy {
			return retry.Policy{Attempts: 3, Backoff: backoff, Budget: retry.NewBudget(retry.BudgetConfig{Tokens: 10, RetryCost: 10, TimeoutCost: 10})}
		}}
	}
	return all
}

// TestRetryKeepsItsRules: over every script of answers and every schedule of
// crashes, losses and jumps, no policy breaks what it promises.
func TestRetryKeepsItsRules(t *testing.T) {
	exercised := map[string]int{}
	runs, states := 0, 0
	check := func(name string, sys System, script []reply, b Bounds) {
		r := mustRun(t, sys, b, Options{Workers: 1})
		if r.Verdict != Holds {
			var text strings.Builder
			_ = r.WriteText(&text, TextOptions{})
			t.Fatalf("%s, %v:\n%s", name, script, text.String())
		}
		for what, n := range r.Exercised {
			exercised[what] += n
		}
		runs++
		states += r.States
	}
	for name, u := range underTest() {
		for _, script := range scripts(*scriptLength) {
			sys := u.retrying(u.policy, stamped, script)
			check(name, sys, script, u.bounds())
		}
		check(name+", 2 clients", u.retrying(u.policy, stamped, alphabet[1:3]), alphabet[1:3], Bounds{Clients: 2, Attempts: 3, Crashes: None, Jumps: None})
	}
	t.Logf("%d searches, %d states; exercised %v", runs, states, exercised)
	for _, what := range []string{"attempt 2", "attempt 3", "told to wait", "crashes", "answers lost", "requests lost", "clock jumps"} {
		if exercised[what] == 0 {
			t.Errorf("%q never happened: %v", what, exercised)
		}
	}
	doc, err := os.ReadFile("docs/retry.md")
	if err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprintf("%s searches with %s states", thousands(runs), thousands(states)); *scriptLength == 2 && !strings.Contains(string(doc), text) {
		t.Errorf("docs/retry.md does not say %q", text)
	}
}
