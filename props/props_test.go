package props_test

import (
	"testing"

	"exactlyone/model"
	"exactlyone/props"
)

// told is a success for an operation.
func told(op, id, body string) model.Told {
	return model.Told{
		Operation: op, Success: true, ID: id,
		Request: model.Request{Key: "k-" + op, Body: op},
		Answer:  model.Answer{Status: 201, Body: body},
	}
}

func replayed(t model.Told) model.Told {
	t.Answer = t.Answer.Replay()
	return t
}

// TestPack: every property turns red on what it forbids, stays green on what
// it allows, and says whether it was put to the test.
func TestPack(t *testing.T) {
	one := []model.Effect{{Operation: "a", ID: "1", Body: "a"}}
	two := append(one, model.Effect{Operation: "a", ID: "2", Body: "a"})
	other := append(one, model.Effect{Operation: "b", ID: "2", Body: "b"})
	tests := []struct {
		name     string
		property props.Property
		effects  []model.Effect
		told     []model.Told
		held     bool
		broken   string
	}{
		{"no effect", props.AtMostOne(), nil, nil, false, ""},
		{"one effect", props.AtMostOne(), one, nil, true, ""},
		{"one effect each", props.AtMostOne(), other, nil, true, ""},
		{"two effects", props.AtMostOne(), two, nil, true, "a left 2 effects"},
		{"a stray effect", props.AtMostOne(), []model.Effect{{ID: "9", Body: "x"}}, nil, true, "nobody asked for effect 9 x"},

		{"nobody told", props.ExactlyOneOnceTold(), two, nil, false, ""},
		{"told and there", props.ExactlyOneOnceTold(), one, []model.Told{told("a", "1", "1")}, true, ""},
		{"told and lost", props.ExactlyOneOnceTold(), nil, []model.Told{told("a", "1", "1")}, true, "a client was told that a succeeded, and there are 0 effects"},
		{"told and twice", props.ExactlyOneOnceTold(), two, []model.Told{told("a", "1", "1")}, true, "a client was told that a succeeded, and there are 2 effects"},
		{"refusal is not told", props.ExactlyOneOnceTold(), nil, []model.Told{{Operation: "a", Answer: model.Answer{Status: 422}}}, false, ""},

		{"id there", props.AcknowledgedExists(), one, []model.Told{told("a", "1", "1")}, true, ""},
		{"id missing", props.AcknowledgedExists(), one, []model.Told{told("a", "7", "7")}, true, "a client was told id 7 for a, but there is no such effect"},
		{"other content", props.AcknowledgedExists(), one, []model.Told{told("x\ty\n", "1", "1")}, true, "a client was told id 1 for x\ty\n, but it holds a"},

		{"same answers", props.SameAnswer(), nil, []model.Told{told("a", "1", "1"), told("b", "2", "2"), told("a", "1", "1")}, true, ""},
		{"two answers", props.SameAnswer(), nil, []model.Told{told("a", "1", "1"), told("a", "2", "2")}, true, "a was answered 1 and 2"},

		{"not at the end", props.NoDeadlock(), nil, nil, false, ""},
		{"no replay", props.ReplayIdentical(), nil, []model.Told{told("a", "1", "1")}, false, ""},
		{"faithful replay", props.ReplayIdentical(), nil, []model.Told{told("a", "1", "1"), replayed(told("a", "1", "1"))}, true, ""},
		{"replay alone", props.ReplayIdentical(), nil, []model.Told{replayed(told("a", "1", "1"))}, true, ""},
		{"other body", props.ReplayIdentical(), nil, []model.Told{told("a", "1", "1"), replayed(told("a", "2", "2"))}, true, "key k-a was replayed as 201 2, but also answered 201 1"},
	}
	for _, tt := range tests {
		t.Run(tt.property.Name+"/"+tt.name, func(t *testing.T) {
			s := props.Start([]props.Property{tt.property})
			for _, x := range tt.told {
				s = s.Observe(x)
			}
			v := s.Judge(props.View{Effects: tt.effects})
			if v.Message != tt.broken || (v.Broken == 0) != (tt.broken != "") {
				t.Errorf("broken: %q (%d), want %q", v.Message, v.Broken, tt.broken)
			}
			if (v.Held == 1) != tt.held {
				t.Errorf("premise held: %v, want %v", v.Held == 1, tt.held)
			}
		})
	}
}

// TestStateTellsApart: states are equal exactly when the properties cannot
// tell the histories apart, in whatever order things were told.
func TestStateTellsApart(t *testing.T) {
	fold := func(all ...model.Told) string {
		s := props.Start(props.Pack())
		for _, x := range all {
			s = s.Observe(x)
		}
		return s.String()
	}
	a, b := told("a", "1", "1"), told("b", "2", "2")
	if fold(a, b) != fold(b, a, a) {
		t.Error("order or repetition changes the state of the pack")
	}
	if fold(a) == fold(b) || fold(a) == fold() {
		t.Error("different answers, one state")
	}
	history := props.OfHistory("h", "", func(h model.History, _ props.View) (bool, string) {
		if len(h) == 2 && h[0].Operation == "b" {
			return true, "b came first"
		}
		return len(h) > 0, ""
	})
	s := props.Start([]props.Property{history})
	if s.Observe(a).Observe(b).String() == s.Observe(b).Observe(a).String() {
		t.Error("a property of the history does not see its order")
	}
	if v := s.Observe(b).Observe(a).Judge(props.View{}); v.Message != "b came first" {
		t.Errorf("judged %q", v.Message)
	}
}
