package interleave

import (
	"fmt"
	"strings"
	"testing"
)

type say string

func (s say) String() string { return string(s) }

func TestTasksTakeTurns(t *testing.T) {
	ts := new(Tasks)
	var log []string
	for _, name := range []string{"a", "b"} {
		ts.Go(func() fmt.Stringer {
			for i := range 2 {
				got := ts.Ask(say(fmt.Sprint(name, i)))
				log = append(log, fmt.Sprint(name, got))
			}
			return say(name + " done")
		})
	}
	ts.Resume(1, "x")
	ts.Resume(0, "y")
	ts.Resume(1, "z")
	p := ts.Parked()
	if got := fmt.Sprint(p[0].Op, p[1].Result); got != "a1b done" {
		t.Errorf("parked %s, want a1 and b done", got)
	}
	if got := strings.Join(log, " "); got != "bx ay bz" {
		t.Errorf("steps %s, want bx ay bz", got)
	}
	if err := ts.Kill(); err != nil {
		t.Error(err)
	}
}

func TestKillUnwinds(t *testing.T) {
	ts := new(Tasks)
	var log []string
	ts.Go(func() fmt.Stringer {
		defer func() { log = append(log, "outer") }()
		defer func() {
			ts.Ask(say("clean up")) // refused
			log = append(log, "a dead task was answered")
		}()
		ts.Ask(say("work"))
		log = append(log, "a dead task went on")
		return nil
	})
	if err := ts.Kill(); err != nil {
		t.Error(err)
	}
	if got := strings.Join(log, ", "); got != "outer" {
		t.Errorf("after the kill: %q, want only the outer defer", got)
	}
}

func TestKillAbandonsWhoNeverEnds(t *testing.T) {
	ts := new(Tasks)
	tries := 0
	ts.Go(func() fmt.Stringer {
		for {
			func() {
				defer func() { _ = recover() }()
				tries++
				ts.Ask(say("again"))
			}()
		}
	})
	err := ts.Kill()
	if err == nil || !strings.Contains(err.Error(), "1 tasks") {
		t.Errorf("Kill() = %v, want one abandoned task", err)
	}
	if tries != swallowLimit+1 {
		t.Errorf("asked %d times, want %d", tries, swallowLimit+1)
	}
}

func TestPanicIsTheResult(t *testing.T) {
	ts := new(Tasks)
	ts.Go(func() fmt.Stringer {
		ts.Ask(say("x"))
		panic("boom")
	})
	ts.Resume(0, nil)
	if got := ts.Parked()[0].Result.String(); got != "panic: boom" {
		t.Errorf("result %q, want the panic", got)
	}
}

func TestAskOutsideATask(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	new(Tasks).Ask(say("x"))
}
