package flake

import (
	"context"
	"math"

	"exactlyone/stats"
)

// propose says how many more runs would tell, where these cannot.
func (x *comparer) propose(ctx context.Context, out *Compared) error {
	for i := range out.Tests {
		if err := ctx.Err(); err != nil {
			return err
		}
		if t := &out.Tests[i]; t.Verdict == CannotTell {
			t.MorePerSide = x.more(t, 2*(len(out.Tests)+out.sound))
		}
		if x.c.Progress != nil {
			x.c.Progress(i, len(out.Tests))
		}
	}
	return nil
}

// power is the chance of seeing a difference that proposals of more runs aim at.
const power = 0.8

// more is MorePerSide of a test, in a family of that many hypotheses.
func (x *comparer) more(t *ComparedTest, family int) int {
	n1, n2 := t.A.Runs+t.A.open(), t.B.Runs+t.B.open()
	p1, p2 := float64(t.A.Failures)/float64(n1), float64(t.B.Failures)/float64(n2)
	if p1 == p2 {
		return 0
	}
	if !x.c.Anytime {
		// A normal approximation spares the search where it would be long. The factor 2 is
		// little: for a confidence of 95 % it is 7.8.
		mean := (p1 + p2) / 2
		if 2*2*mean*(1-mean)/(p1-p2)/(p1-p2) > MaxPerSide {
			return -1
		}
		// One test, named beforehand, in two directions.
		n, err := stats.RunsPerSide(max(p1, p2), min(p1, p2), x.alpha/2, power)
		if err != nil || n > MaxPerSide {
			return -1
		}
		return n
	}
	enough := func(d int) bool {
		c := stats.SequenceCompare(x.priorA, x.priorB, int(math.Round(p1*float64(n1+d))), n1+d, int(math.Round(p2*float64(n2+d))), n2+d)
		return min(c.Greater, c.Less)*float64(family) <= x.alpha
	}
	low, high := 0, 1
	for !enough(high) {
		if low, high = high, 2*high; low > MaxPerSide {
			return -1
		}
	}
	for high-low > 1 {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}
