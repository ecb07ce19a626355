package exactlyone

import (
	"fmt"
	"testing"
	"time"

	"exactlyone/interleave"
	"exactlyone/model"
)

// isolationSchema is two small tables: one gives serial numbers, one has two
// unique sets.
var isolationSchema = model.Schema{
	{Name: "t", Columns: []model.Column{{Name: "id", Kind: model.Serial}, {Name: "k"}, {Name: "n", Kind: model.Int}}, Unique: [][]string{{"k"}}},
	{Name: "u", Columns: []model.Column{{Name: "a"}, {Name: "b", Kind: model.Int}, {Name: "n", Kind: model.Int}}, Unique: [][]string{{"a"}, {"b"}}},
}

// isolationRows are there when a schedule begins.
var isolationRows = []model.Stmt{
	model.Insert("t", model.Set("k", "a"), model.Set("n", 1)),
	model.Insert("t", model.Set("k", "b"), model.Set("n", 1)),
	model.Insert("u", model.Set("a", "a"), model.Set("b", 1), model.Set("n", 1)),
	model.Insert("u", model.Set("a", "b"), model.Set("b", 2), model.Set("n", 1)),
}

// memorySide is MemoryAt, interning states as a search does.
type memorySide struct {
	backend  Backend
	shared   State
	sessions []State
	states   map[string]State
}

func newMemorySide(t testing.TB, level Isolation, sessions int) *memorySide {
	t.Helper()
	b, err := MemoryAt(level)(Store{Name: "db", Tables: isolationSchema, Rows: isolationRows})
	if err != nil {
		t.Fatal(err)
	}
	start, err := b.Start()
	if err != nil {
		t.Fatal(err)
	}
	return &memorySide{b, start, make([]State, sessions), map[string]State{}}
}

func (m *memorySide) intern(s State) State {
	if s == nil {
		return nil
	}
	key := fmt.Sprintf("%T %s", s, s)
	if _, ok := m.states[key]; !ok {
		m.states[key] = s
	}
	return m.states[key]
}

// others is what a world hands to Waits: see findOthers.
func (m *memorySide) others(who int, op interleave.Op) (others []State, whose []int) {
	s, _ := op.(StmtOp)
	for i, session := range m.sessions {
		if session != nil && (i != who || s.Auto) {
			others, whose = append(others, session), append(whose, i)
		}
	}
	return others, whose
}

// do is the text of the reply to an op of a session, "waits" if it has to wait:
// then nothing has happened.
func (m *memorySide) do(who int, op interleave.Op) string {
	others, _ := m.others(who, op)
	if (len(others) > 0 || m.sessions[who] != nil) && m.backend.Waits(m.shared, m.sessions[who], op, others) {
		return "waits"
	}
	shared, session, reply := m.backend.Do(m.shared, m.sessions[who], op, time.Time{})
	m.shared, m.sessions[who] = m.intern(shared), m.intern(session)
	return reply.String()
}

// blocker is the session for which an op waits first, -1 if for none.
func (m *memorySide) blocker(who int, op interleave.Op) int {
	others, whose := m.others(who, op)
	if len(others) == 0 {
		return -1
	}
	if n := m.backend.(Blocker).Blocker(m.shared, m.sessions[who], op, others); n >= 0 {
		return whose[n]
	}
	return -1
}
