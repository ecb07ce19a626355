package retry_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"exactlyone/retry"
)

func key(t *testing.T, b retry.Business) string {
	t.Helper()
	k, err := b.Key()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestBusinessKey(t *testing.T) {
	first := retry.Business{Session: "s", Tool: "file_bug", Arguments: `{"title":"Login fails","severity":1}`}
	same := first
	same.Arguments = "{ \"severity\": 1.0,\n\"title\": \"Login \\u0066ails\" }"
	if a, b := key(t, first), key(t, same); a != b || len(a) != 64 {
		t.Errorf("%s and %s for the same arguments", a, b)
	}
	for what, change := range map[string]func(*retry.Business){
		"title":    func(b *retry.Business) { b.Arguments = `{"title":"Login failed","severity":1}` },
		"severity": func(b *retry.Business) { b.Arguments = `{"title":"Login fails","severity":"1"}` },
		"none":     func(b *retry.Business) { b.Arguments = "" },
		"null":     func(b *retry.Business) { b.Arguments = "null" },
		"session":  func(b *retry.Business) { b.Session = "t" },
		"tool":     func(b *retry.Business) { b.Tool = "file_bug2" },
		"boundary": func(b *retry.Business) { b.Session, b.Tool = "sf", "ile_bug" },
	} {
		other := first
		if change(&other); key(t, first) == key(t, other) {
			t.Errorf("another %s has the same key", what)
		}
	}
	none, null := first, first
	none.Arguments, null.Arguments = "", "null"
	if key(t, none) == key(t, null) {
		t.Error("no arguments and null share a key")
	}
	// What the key depends on in each scope.
	for scope, depends := range map[retry.Scope][2]bool{
		retry.ScopeCall: {true, true}, retry.ScopeTool: {false, true}, retry.ScopeSession: {true, false}, retry.ScopeGlobal: {false, false},
	} {
		base := first
		base.Scope = scope
		session, tool := base, base
		session.Session, tool.Tool = "t", "other"
		if got := [2]bool{key(t, base) != key(t, session), key(t, base) != key(t, tool)}; got != depends {
			t.Errorf("scope %q depends on session and tool: %v, want %v", scope, got, depends)
		}
	}
	tool, session := first, first
	tool.Scope, tool.Tool, session.Scope, session.Session = retry.ScopeTool, "x", retry.ScopeSession, "x"
	if key(t, tool) == key(t, session) {
		t.Error("a tool and a session of one name share a key")
	}
	for _, bad := range []retry.Business{{Arguments: "{"}, {Scope: "world"}} {
		if k, err := bad.Key(); err == nil || k != "" {
			t.Errorf("%+v: key %q", bad, k)
		}
	}
	if _, err := (retry.Business{Arguments: `{"a":1,"a":2}`}).Key(); err == nil {
		t.Error("a member that occurs twice was accepted")
	}
}

func TestRandomKey(t *testing.T) {
	a, b := retry.RandomKey(), retry.RandomKey()
	if a == b || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a) {
		t.Errorf("%s, then %s", a, b)
	}
}

// TestToolCallKey: run:toolUse, and never the same for two calls.
func TestToolCallKey(t *testing.T) {
	if got := retry.ToolCallKey("run-1", "call:1"); got != "run-1:call:1" {
		t.Error(got)
	}
	if retry.ToolCallKey("a:b", "c") == retry.ToolCallKey("a", "b:c") || retry.ToolCallKey("a:", "c") == retry.ToolCallKey("a%3A", "c") {
		t.Error("two calls share a key")
	}
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a:%3A25]{0,6}`)
		run, call := part.Draw(t, "run"), part.Draw(t, "call")
		run2, call2 := part.Draw(t, "run"), part.Draw(t, "call")
		if (retry.ToolCallKey(run, call) == retry.ToolCallKey(run2, call2)) != (run == run2 && call == call2) {
			t.Fatalf("%q, %q and %q, %q", run, call, run2, call2)
		}
	})
}
