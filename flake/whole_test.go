package flake

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"exactlyone/stats"
)

// wholes is a store with n reports of one side, in k of which the suite fails without a
// word of its test.
func wholes(t *testing.T, s *Store, side string, n, k, failures int) {
	t.Helper()
	for i := range n {
		lines := []string{`{"Action":"start","Package":"p"}`}
		switch {
		case i < k:
			lines = append(lines, `{"Action":"output","Package":"p","Output":"exit status 139\n"}`, `{"Action":"fail","Package":"p"}`)
		case i < k+failures:
			lines = append(lines, `{"Action":"run","Package":"p","Test":"T"}`, `{"Action":"fail","Package":"p","Test":"T"}`, `{"Action":"fail","Package":"p"}`)
		default:
			lines = append(lines, `{"Action":"run","Package":"p","Test":"T"}`, `{"Action":"pass","Package":"p","Test":"T"}`, `{"Action":"pass","Package":"p"}`)
		}
		add(t, s, strings.Join(lines, "\n")+"\n", Gathering{RunID: fmt.Sprint(side, i), Labels: []string{"side=" + side}})
	}
}

// TestGateWhole: a suite that crashes is not certified by the runs in which it did not.
func TestGateWhole(t *testing.T) {
	s := newStore(t)
	wholes(t, s, "a", 300, 99, 0)
	g, err := s.Gate(context.Background(), GateConfig{MaxRate: 0.2})
	if err != nil {
		t.Fatal(err)
	}
	if g.Verdict != TooFlaky || g.Tests[0].Display != "p (as a whole)" || g.Tests[0].Failures != 99 {
		t.Errorf("%s, first %+v", g.Verdict, g.Tests[0])
	}
	if _, upper := stats.Sequence(1, 100, 99, 300, 0.05); g.Tests[0].Upper < upper {
		t.Errorf("at most %v, want %v", g.Tests[0].Upper, upper)
	}
}

// TestCompareWhole: a side whose suite crashes in half its runs is not better.
func TestCompareWhole(t *testing.T) {
	s := newStore(t)
	wholes(t, s, "a", 60, 0, 12)
	wholes(t, s, "b", 60, 30, 0)
	side := func(name string) Side {
		return Side{Name: name, Store: s, Filter: Filter{Labels: []string{"side=" + name}}}
	}
	c, err := Compare(context.Background(), side("a"), side("b"), CompareConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Verdict == Better || c.B.Whole != 30 || c.Tests[0].B.Unfinished != 30 {
		t.Errorf("%s, %+v, %+v", c.Verdict, c.B, c.Tests[0])
	}
}
