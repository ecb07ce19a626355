package herd

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestQueue compares with a sorted list, over many random uses with ties.
func TestQueue(t *testing.T) {
	type entry struct{ at, order int64 }
	rng := rand.New(rand.NewPCG(1, 2))
	var q queue[int64] // of order
	for range 200 {
		q.reset()
		var list []entry
		created := int64(0)
		for range 200 {
			at := rng.Int64N(20)
			switch use := rng.IntN(4); {
			case use < 2 || len(list) == 0:
				q.add(at, created)
			case use == 2:
				if e := q.pop(); e.at != list[0].at || e.what != list[0].order {
					t.Fatalf("pop: got %v of %v", e, list)
				}
				list = list[1:]
				continue
			default:
				q.replace(at, created)
				list = list[1:]
			}
			list = append(list, entry{at, created})
			created++
			slices.SortFunc(list, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
			if e := q.first(); q.len() != len(list) || e.at != list[0].at || e.what != list[0].order {
				t.Fatalf("first: got %v of %v", e, list)
			}
		}
	}
}

// TestHistogram: every order of adding and merging gives the same counts, and
// none is lost.
func TestHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var all, left, right, backwards Histogram
		span := int64(1) << (20 + rng.IntN(20)) // 1 ms to 18 min
		for range 500 {
			at := rng.Int64N(span)
			all.add(at)
			if rng.IntN(2) == 0 {
				left.add(at)
			} else {
				right.add(at / 8)
				all.add(at / 8)
				left.add(at)
			}
		}
		backwards.merge(&right)
		backwards.merge(&left)
		left.merge(&right)
		for _, h := range []Histogram{left, backwards} {
			if h.width != all.width || !slices.Equal(h.counts, all.counts) {
				t.Fatalf("%v and %v", h, all)
			}
		}
		counts, width := all.Bins(10)
		sum, want := int64(0), int64(0)
		for _, n := range counts {
			sum += n
		}
		for _, n := range all.counts {
			want += n
		}
		if sum != want || len(counts) > 10 || width*float64(len(counts)) < milliseconds(all.width*int64(len(all.counts))) {
			t.Fatalf("bins %v of %v ms hold %d of %d", counts, width, sum, want)
		}
	}
	var h Histogram
	h.add(1)
	h.add(firstBin * bins)
	if h.width != 2*firstBin || h.counts[0] != 1 || h.counts[bins/2] != 1 {
		t.Errorf("%v", h)
	}
}

// TestStudent: two-sided 95 % quantiles as tables print them.
func TestStudent(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 10: 2.228, 19: 2.093, 30: 2.042, 99: 1.984, 9999: 1.960} {
		if got := studentQuantile(freedom); math.Abs(got-want) > 0.0006 {
			t.Errorf("%d degrees: %.4f, want %.3f", freedom, got, want)
		}
	}
}

func TestEstimate(t *testing.T) {
	// 1, 2, 3, 4: mean 2.5, variance 5/3, error √(5/12) = 0.6455, t = 3.182.
	e := estimate([]float64{1, 2, 3, 4})
	for _, tt := range [][2]float64{{e.Mean, 2.5}, {e.SD, 1.29099}, {e.Error, 0.645497}, {e.Low, 0.44575}, {e.High, 4.55425}} {
		if math.Abs(tt[0]-tt[1]) > 1e-4 {
			t.Errorf("%+v: %v, want %v", e, tt[0], tt[1])
		}
	}
	// 3 / √(100·(1/100 + 1/100) + 1/12) = 2.078; the limit is 1.984.
	e = Estimate{N: 100, Mean: 50, SD: 10}
	if a := e.against(53, 100); math.Abs(a.Errors-2.0785) > 1e-3 || a.Within {
		t.Errorf("%+v", a)
	}
	if a := e.against(47.2, 100); math.Abs(a.Errors+1.9399) > 1e-3 || !a.Within {
		t.Errorf("%+v", a)
	}
}
