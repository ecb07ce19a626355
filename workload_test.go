package exactlyone

import "testing"

// TestRightWriters: what is right holds at the default bounds, or at smaller ones
// where there would be millions of states.
func TestRightWriters(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: long searches")
	}
	for writer, b := range map[string]Bounds{
		"unique": {}, "check_first_tx": {}, "key_atomic": {}, "outbox": {}, "downstream": {},
		"mutex":                      {Crashes: None},
		"key_atomic_unstored_errors": {Calls: 1, Jumps: None},
		"key_atomic_retention":       {Jumps: 1, Crashes: None},
		"key_atomic_renewed":         {Clients: 1, Crashes: None, LostAnswers: None, Jumps: 1},
	} {
		if r := mustRun(t, builtin(t, writer, ""), b, Options{}); r.Verdict != Holds {
			t.Errorf("%s: %s %s", writer, r.Verdict, r.Why)
		}
	}
}

// TestWorkloads: the right writer bears all but an agent that submits again under
// a new tool-call id, and each workload turns some property red on a writer that
// does not reckon with it.
func TestWorkloads(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: long searches")
	}
	b := Bounds{Jumps: None}
	for _, tt := range []struct {
		writer   string
		workload Workload
		property string
	}{
		{"key_atomic", SameReport, ""},
		{"key_atomic", Operations, ""},
		{"key_atomic", OtherPayload, ""},
		{"key_atomic", OtherCaller, ""},
		{"key_atomic", OtherEndpoint, ""},
		{"key_atomic", Reserialised, ""},
		{"key_atomic", AgentNewCall, "at-most-one"},
		{"key_atomic", AgentReword, "at-most-one"},
		{"unique", OtherPayload, ""},
		{"key_split", Operations, "at-most-one"},
		{"key_split", OtherPayload, "key-reuse-refused"},
		{"key_split", OtherCaller, "at-most-one"},
		{"key_split", OtherEndpoint, "at-most-one"},
	} {
		sys := builtin(t, tt.writer, "")
		tt.workload.Apply(&sys)
		r := mustRun(t, sys, b, Options{})
		got := ""
		if r.Story != nil {
			got = r.Story.Property
		}
		if got != tt.property || r.Verdict != Holds && r.Verdict != Violated {
			t.Errorf("%s, %s: %s, broken %q, want %q", tt.writer, tt.workload, r.Verdict, got, tt.property)
		}
		if tt.workload == OtherPayload && tt.writer == "key_atomic" && r.Exercised["409 answers"] == 0 {
			t.Errorf("nobody met: %v", r.Exercised)
		}
	}
	if _, err := ParseWorkload("none"); err == nil {
		t.Error("workload none was taken")
	}
}
