package interleave

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// script is a process of one task that asks, then asks again depending on the
// outcome.
type script struct {
	tasks Tasks
	main  func(ts *Tasks) fmt.Stringer
	state string
}

func (s *script) Handle(_ int, event any) []Parked {
	if event == say("start") {
		s.tasks.Go(func() fmt.Stringer { return s.main(&s.tasks) })
	} else {
		s.state += fmt.Sprint(event)
		s.tasks.Resume(0, event)
	}
	return s.tasks.Parked()
}

func (s *script) Kill() error   { return s.tasks.Kill() }
func (s *script) State() string { return fmt.Sprint(len(s.state)) }

func TestTreeRunsCodeOncePerHistory(t *testing.T) {
	tree := NewTree(NewInterner())
	runs := 0
	root := tree.Root("echo", false, func() Process {
		runs++
		return &script{main: func(ts *Tasks) fmt.Stringer {
			first := ts.Ask(say("first"))
			return ts.Ask(say(fmt.Sprint("second after ", first))).(say)
		}}
	})
	id := func(s string) uint32 { return Event(0, tree.Values.ID(say(s))) }
	start := tree.Next(root, id("start"))
	a, b := tree.Next(start, id("a")), tree.Next(start, id("b"))
	for range 3 {
		if got := fmt.Sprint(tree.Parked(a)[0].Op, ", ", tree.Parked(b)[0].Op); got != "second after a, second after b" {
			t.Fatalf("asks for %s", got)
		}
	}
	if got := tree.Parked(tree.Next(a, id("x")))[0].Result.String(); got != "x" {
		t.Errorf("returned %s", got)
	}
	if runs != 3 || tree.Runs() != 3 {
		t.Errorf("the code ran %d times, want 3: for a, b and ax", runs)
	}
	if tree.Next(start, id("a")) != a || tree.Root("echo", false, nil) != root {
		t.Error("one history has two numbers")
	}
	if parent, event := tree.Last(a); parent != start || event != id("a") {
		t.Error("a history does not know its last event")
	}
}

func TestTreeMergesForgetfulHistories(t *testing.T) {
	tree := NewTree(NewInterner())
	root := tree.Root("forget", true, func() Process {
		return &script{main: func(ts *Tasks) fmt.Stringer {
			for {
				ts.Ask(say("again"))
			}
		}}
	})
	id := func(s string) uint32 { return Event(0, tree.Values.ID(say(s))) }
	start := tree.Next(root, id("start"))
	if tree.Next(start, id("a")) != tree.Next(start, id("b")) {
		t.Error("equal states are two nodes")
	}
	if tree.Next(start, id("a")) == tree.Next(start, id("cc")) {
		t.Error("different states are one node")
	}
}

func TestTreeNoticesNondeterminism(t *testing.T) {
	tree := NewTree(NewInterner())
	n := 0
	root := tree.Root("moody", false, func() Process {
		n++
		return &script{main: func(ts *Tasks) fmt.Stringer {
			ts.Ask(say(fmt.Sprint("mood ", n)))
			return ts.Ask(say("second")).(say)
		}}
	})
	id := func(s string) uint32 { return Event(0, tree.Values.ID(say(s))) }
	start := tree.Next(root, id("start"))
	tree.Parked(start)
	defer func() {
		err, _ := recover().(error)
		if !errors.Is(err, ErrNondeterministic) || !strings.Contains(err.Error(), "it asked for mood 1, given the same again it asked for mood 2") {
			t.Errorf("recovered %v", err)
		}
	}()
	tree.Parked(tree.Next(start, id("a")))
	t.Error("nothing was noticed")
}
