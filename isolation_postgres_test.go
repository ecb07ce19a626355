//go:build linux

package exactlyone

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"exactlyone/interleave"
	"exactlyone/model"
)

var (
	schedules    = flag.Int("schedules", 60, "random schedules that are compared with PostgreSQL at each level")
	scheduleSeed = flag.Uint64("schedule-seed", 1, "which ones")
)

// TestIsolationIsPostgres carries out random schedules of two or three sessions
// in memory and on a PostgreSQL server, and compares results, errors, who
// waits, and what is left. A statement that waits is sometimes given up, and
// sometimes waits until those before it have ended; where sessions wait for
// each other PostgreSQL must find the deadlock.
func TestIsolationIsPostgres(t *testing.T) {
	server := newPostgresSide(t, startPostgres(t), 3)
	for _, level := range []Isolation{ReadCommitted, SnapshotIsolation} {
		t.Run(string(level), func(t *testing.T) {
			tally := map[string]int{}
			for n := range *schedules {
				rng := rand.New(rand.NewPCG(*scheduleSeed, uint64(n)))
				s := &schedule{t: t, rng: rng, memory: newMemorySide(t, level, 3), server: server, tally: tally}
				server.reset(level)
				if s.run(2 + rng.IntN(2)); t.Failed() {
					t.Fatalf("schedule %d of seed %d", n, *scheduleSeed)
				}
			}
			t.Logf("%d schedules: %v", *schedules, tally)
			for _, what := range []string{"waits", "duplicate", "deadlock", "waited"} {
				if tally[what] == 0 {
					t.Errorf("%s: never happened", what)
				}
			}
		})
	}
}

// schedule is one random schedule on its way.
type schedule struct {
	t      *testing.T
	rng    *rand.Rand
	memory *memorySide
	server *postgresSide
	log    []string
	tally  map[string]int
}

func (s *schedule) run(sessions int) {
	waiting := make([]interleave.Op, sessions)
	for range 15 + s.rng.IntN(30) {
		who := s.rng.IntN(sessions)
		if waiting[who] != nil && s.rng.IntN(4) > 0 {
			continue
		}
		op := s.op(who)
		got := s.both(who, op)
		waiting[who] = nil
		if got != "waits" {
			continue
		}
		if st, ok := op.(StmtOp); ok && !st.Auto && s.memory.sessions[who] != nil {
			waiting[who] = op
			if circle := s.circle(who, waiting); circle != nil {
				s.deadlock(circle, waiting)
				clear(waiting)
			} else if s.rng.IntN(4) == 0 {
				waiting[who] = nil
				if !s.wait(who, st) {
					return
				}
			}
		}
		if s.t.Failed() {
			return
		}
	}
	for who := range sessions {
		if s.memory.sessions[who] != nil {
			s.both(who, []interleave.Op{CommitOp{}, RollbackOp{}}[s.rng.IntN(2)])
		}
	}
	for _, table := range isolationSchema {
		s.both(0, StmtOp{Stmt: model.Select(table.Name), Auto: true})
	}
}

// both carries out an op on both sides.
func (s *schedule) both(who int, op interleave.Op) string {
	mine, theirs := s.memory.do(who, op), s.server.do(who, op)
	s.compare(who, op, mine, theirs)
	return mine
}

func (s *schedule) compare(who int, op interleave.Op, mine, theirs string) {
	auto := ""
	if st, ok := op.(StmtOp); ok && st.Auto {
		auto = " (of its own)"
	}
	s.log = append(s.log, fmt.Sprintf("%d: %s%s → %s", who+1, op, auto, mine))
	for what, text := range map[string]string{"waits": "waits", "duplicate": "duplicate key", "serialization": "could not serialize"} {
		if strings.Contains(mine, text) {
			s.tally[what]++
		}
	}
	s.tally["ops"]++
	if !s.server.same(mine, theirs) {
		s.t.Errorf("memory: %s, PostgreSQL: %s\n%s", mine, theirs, strings.Join(s.log, "\n"))
	}
}

// circle is who waits for each other, beginning with who; nil if it is in none.
func (s *schedule) circle(who int, waiting []interleave.Op) (circle []int) {
	for at := who; len(circle) <= len(waiting); {
		circle = append(circle, at)
		if at >= len(waiting) || waiting[at] == nil {
			return nil
		}
		if at = s.memory.blocker(at, waiting[at]); at < 0 {
			return nil
		}
		if at == who {
			return circle
		}
	}
	return nil
}

// deadlock sends the statements of all in a circle. One must fail.
func (s *schedule) deadlock(circle []int, waiting []interleave.Op) {
	s.tally["deadlock"]++
	failed := make(chan int, len(circle))
	printed := make([]string, len(circle))
	for i, who := range circle {
		c := s.server.sessions[who]
		c.do("SET lock_timeout = 1000;") // it may wait for somebody outside the circle, too
		s.server.send(c, waiting[who].(StmtOp).Stmt, true)
		go func() {
			printed[i] = c.reply()
			failed <- i
		}()
	}
	for n := range circle {
		i := <-failed
		who, st := circle[i], waiting[circle[i]].(StmtOp)
		theirs := s.server.replied(who, st.Stmt, true, printed[i])
		if n == 0 {
			s.memory.sessions[who] = nil
			s.compare(who, st, Reply{Err: model.ErrDeadlock}.String(), theirs)
			continue
		}
		s.compare(who, st, s.memory.do(who, st), theirs)
		if s.server.open[who] && n < len(circle)-1 {
			s.both(who, RollbackOp{}) // lets the next one go on
		}
	}
	for _, who := range circle {
		s.server.sessions[who].do("SET lock_timeout = 10;")
	}
}

// wait lets a statement wait until those before it have ended. It says whether
// the schedule can go on: it cannot where memory, which carries a statement out
// as if it were sent only then, and PostgreSQL differ by intent.
func (s *schedule) wait(who int, op StmtOp) bool {
	s.tally["waited"]++
	c := s.server.sessions[who]
	c.do("SET lock_timeout = 0;")
	defer c.do("SET lock_timeout = 10;")
	s.server.send(c, op.Stmt, true)
	printed, done := "", false
	for !done {
		select {
		case printed = <-c.replies:
			done = true
		default:
			pid := strings.Trim(s.server.monitor.do("SELECT pg_blocking_pids("+c.pid+");"), "{}")
			blocker := slices.IndexFunc(s.server.sessions, func(o *psql) bool { return o.pid == pid })
			if blocker >= 0 {
				s.both(blocker, []interleave.Op{CommitOp{}, RollbackOp{}}[s.rng.IntN(2)])
			}
		}
	}
	mine, theirs := s.memory.do(who, op), s.server.replied(who, op.Stmt, true, printed)
	if op.Stmt.Verb != model.InsertVerb && s.server.level == ReadCommitted && !s.server.same(mine, theirs) {
		s.tally["saw the old rows"]++
		return false
	}
	s.compare(who, op, mine, theirs)
	// A row that no longer matches stays locked on PostgreSQL.
	return s.server.level != ReadCommitted || op.Stmt.Verb == model.InsertVerb || mine == "1 changed" && op.Stmt.Where[0].Col != "n"
}

// op draws what a session does next.
func (s *schedule) op(who int) interleave.Op {
	open := s.memory.sessions[who] != nil
	switch n := s.rng.IntN(20); {
	case !open && n < 18:
		return BeginOp{}
	case open && n < 2:
		return CommitOp{}
	case open && n < 3:
		return RollbackOp{}
	}
	return StmtOp{Stmt: s.stmt(), Auto: !open || s.rng.IntN(12) == 0}
}

func (s *schedule) stmt() model.Stmt {
	pick := func(all ...string) string { return all[s.rng.IntN(len(all))] }
	key := func() model.Assign { return model.Set("k", pick("a", "b", "c", "d", "e")) }
	n := func() model.Assign {
		if s.rng.IntN(2) == 0 {
			return model.Add("n", 1)
		}
		return model.Set("n", s.rng.IntN(3))
	}
	inU := s.rng.IntN(2) == 0
	table, where := "t", model.Eq("k", pick("a", "b", "c"))
	if inU {
		table, where = "u", model.Eq("a", pick("a", "b", "c"))
		if s.rng.IntN(3) == 0 {
			where = model.Eq("b", s.rng.IntN(4))
		}
		key = func() model.Assign {
			if s.rng.IntN(2) == 0 {
				return model.Set("b", s.rng.IntN(4))
			}
			return model.Set("a", pick("a", "b", "c"))
		}
	}
	switch s.rng.IntN(12) {
	case 0, 1:
		return model.Select(table)
	case 2, 3, 4:
		st := model.Insert(table, model.Set("n", s.rng.IntN(3)), key())
		if inU {
			st = model.Insert("u", model.Set("n", 0), model.Set("a", pick("a", "b", "c", "d")), model.Set("b", s.rng.IntN(5)))
		}
		st.OrIgnore = s.rng.IntN(3) == 0
		return st
	case 5, 6, 7, 8:
		return model.Update(table, n()).If(where)
	case 9:
		return model.Update(table, key()).If(where)
	case 10:
		return model.Update(table, n()).If(model.Where("n", pick("=", ">", "<"), s.rng.IntN(3)))
	}
	return model.Delete(table, where)
}

// TestContractIsPostgres carries out the contract's schedules on a server.
func TestContractIsPostgres(t *testing.T) {
	server := newPostgresSide(t, startPostgres(t), 3)
	for _, level := range []Isolation{ReadCommitted, SnapshotIsolation} {
		for name, steps := range isolationContract {
			server.reset(level)
			for n, s := range steps {
				got := server.do(s.who-1, s.op)
				if !server.same(s.want(level), got) {
					t.Errorf("%s, %s, step %d, %s: PostgreSQL says %s, the contract %s", level, name, n+1, s.op, got, s.want(level))
				}
			}
		}
	}
}
