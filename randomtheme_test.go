package exactlyone

import (
	"time"

	"exactlyone/model"
)

// themes are kinds of programs in which something that a search may not forget
// makes the difference, but that are rarely drawn. Each changes a program that
// was drawn; its bounds are then those of one client, one attempt and one node,
// and nothing that breaks.
var themes = []func(p *program, d dice, b *Bounds){
	(*program).namedByTheDead, (*program).arrivesTwice, (*program).lateDuplicate, (*program).dieTogether,
	(*program).lastStep, (*program).snapshotBegun, (*program).takenOver, (*program).fellAsleep,
	(*program).jumpBeforeSleep, (*program).lostThenDead, (*program).whoseName,
}

func (p *program) theme(d dice) {
	p.remembers, p.snapshots, p.stores, p.large = false, false, 1, d.oneIn(2)
	p.key = model.KeySource(d.of(string(model.KeyPerAttempt), string(model.KeyToolCall)))
	p.bounds = Bounds{Clients: 1, Attempts: 1, Nodes: 1}
	themes[d.IntN(len(themes))](p, d, &p.bounds)
	if d.oneIn(2) {
		p.script = append(d.lines(instr{do: "id"}), p.script...)
	}
}

// namedByTheDead: only a dead request has named a time to which the clock may
// jump.
func (p *program) namedByTheDead(d dice, b *Bounds) {
	b.Attempts, b.Crashes, b.Jumps = 2, 1, 1+d.IntN(2)
	p.durations, p.jump = []time.Duration{3 * time.Second}, 0
	looks := d.lines(instr{do: "now"}, instr{do: "stamp", row: "a"})
	p.script = append(d.lines(instr{do: "begin"}, instr{do: d.of("lease", "take", "claim"), row: d.of("a", "b"), val: "me"}), d.line()...)
	p.script = append(p.script, instr{do: d.of("commit", "rollback")})
	if d.oneIn(2) {
		p.script = append(looks, p.script...)
	} else {
		p.script = append(p.script, looks...)
	}
}

// arrivesTwice: it matters which of several attempts arrives twice. Without
// memory, a request that is on its way is like one that has arrived, but for a
// crash.
func (p *program) arrivesTwice(d dice, b *Bounds) {
	b.Duplicates, p.key = 1, model.KeyPerAttempt
	if d.oneIn(2) {
		b.Attempts, b.Crashes, p.backoff = 3, 1, 0
		p.script = d.lines(instr{do: "effect", val: "key"}, instr{do: "answer", n: 503})
		return
	}
	if b.Attempts, b.LostRequests = 2, d.IntN(2); b.LostRequests == 0 {
		b.LostAnswers = 1
	}
	p.script = append(d.lines(instr{do: d.of("own", "claim", "absent"), row: d.of("a", "b"), val: "key"}), d.line()...)
	p.remembers = d.oneIn(4)
}

// lateDuplicate: memory is read as a duplicate arrives, which may be late.
func (p *program) lateDuplicate(d dice, b *Bounds) {
	b.Nodes, b.Duplicates, b.Jumps = d.number(1, 1, 2), 1, d.number(1, 1, 2)
	p.remembers, p.maxDelay = true, time.Duration(d.number(5, 5, 1))*time.Second
	p.jump = 3 * time.Second
	p.script = d.lines(instr{do: "get", row: "k"}, instr{do: "if", val: "found", n: 2}, instr{do: "effect", val: "body"},
		instr{do: "answer", n: 200}, instr{do: "now"}, instr{do: "stamp", row: "a"},
		instr{do: "sleep", n: d.number(3, 3, 1)}, instr{do: "put", row: "k", val: "y"})
	if b.Nodes == 2 {
		p.script[6] = instr{do: "id"}
		b.Jumps, p.maxDelay = 1, time.Second
	}
}

// dieTogether: it matters whose requests are on one node.
func (p *program) dieTogether(d dice, b *Bounds) {
	b.Clients, b.Nodes, b.Crashes, b.Attempts = 2, 2, 1, d.number(1, 2, 2)
	p.script = d.lines(instr{do: "effect", val: "body"}, instr{do: d.of("own", "own", "write"), row: "a", val: d.of("reg", "me")})
	switch d.IntN(3) {
	case 0:
		p.script = append(p.script, d.trace(false)...)
	case 1:
		b.Nodes, b.Attempts = 1, 1
		p.script[1] = instr{do: "read", row: "b", val: "val"}
	}
}

// lastStep: a minimal violation depends on who made the last step. Clients that
// can be exchanged would hide it.
func (p *program) lastStep(d dice, b *Bounds) {
	b.Clients, b.Attempts = 2, d.number(1, 1, 2)
	p.same, p.confined, p.large = false, avoiding, true
	p.script = append(append(d.line(), d.line()...), d.line()...)
	if d.oneIn(2) { // both read before either writes, and one of them writes last
		p.script = d.lines(instr{do: "read", row: "a", val: "owner"}, instr{do: "own", row: "a", val: "body"}, instr{do: "effect", val: "reg"})
	}
}

// snapshotBegun: it matters when a transaction began.
func (p *program) snapshotBegun(d dice, b *Bounds) {
	b.Clients, p.snapshots = d.number(2, 2, 3), true
	p.script = append(append(d.lines(instr{do: "begin"}), d.line()...), d.one(d.of("add", "own", "absent"), "a", "key")...)
	p.script = append(p.script, instr{do: "commit"})
}

// takenOver: a lease is taken over.
func (p *program) takenOver(d dice, b *Bounds) {
	b.Attempts, b.Crashes, b.LostAnswers, b.Jumps = d.number(2, 2, 3), d.IntN(2), d.IntN(2), 1
	p.script = d.protocol()
}

// fellAsleep: it matters when somebody fell asleep.
func (p *program) fellAsleep(d dice, b *Bounds) {
	b.Clients, b.Attempts, b.LostAnswers = 2, 2, d.IntN(2)
	p.backoff = time.Duration(1+d.IntN(3)) * time.Second
	p.script = d.lines(instr{do: "sleep", n: 1 + d.IntN(4)}, instr{do: "now"}, instr{do: "stamp", row: "a"},
		instr{do: "sleep", n: 1 + d.IntN(4)}, instr{do: "answer", val: "me", n: d.number(200, 409, 503)})
}

// jumpBeforeSleep: the clock may move before somebody falls asleep.
func (p *program) jumpBeforeSleep(d dice, b *Bounds) {
	b.Clients, b.Jumps = 2, 1
	p.jump, p.confined = 3*time.Second, 0
	p.script = append(d.line(), instr{do: "sleep", n: d.number(1, 10)}, instr{do: "now"},
		[]instr{{do: "stamp", row: "a"}, {do: "claim", row: "b", val: "x"}}[d.IntN(2)])
}

// lostThenDead: an answer is lost after a step that left nothing, and then
// somebody else dies.
func (p *program) lostThenDead(d dice, b *Bounds) {
	b.Clients, b.Attempts, b.LostAnswers, b.Crashes = 2, 2, 1, 1
	p.policy, p.key, p.large = "budget", model.KeyPerAttempt, true
	p.script = d.lines(instr{do: "effect", val: "key"}, []instr{{do: "now"}, {do: "read", row: "b", val: "val"}}[d.IntN(2)])
}

// whoseName: it matters whose name a request has read, or its transaction can
// still see, when the store has changed since.
func (p *program) whoseName(d dice, b *Bounds) {
	b.Clients, p.snapshots, p.large = 2, true, true
	p.same, p.opaque = true, true
	p.confined = d.number(unconfined, avoiding)
	p.script = d.lines(instr{do: "id"}, instr{do: "own", row: "a", val: "me"})
	if d.oneIn(2) {
		p.script = append(p.script, instr{do: "begin"}, instr{do: "add", row: "a"}, instr{do: "commit"}, instr{do: "effect", val: "me"})
		return
	}
	p.script = append(p.script, instr{do: "begin"}, instr{do: "read", row: "a", val: "owner"})
	p.script = append(append(p.script, d.one(d.of("own", "own", "add", "lease"), "a", "me")...), instr{do: "commit"}, instr{do: "answer", val: "reg", n: 200})
}
