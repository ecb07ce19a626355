package herd

import "time"

const (
	bins     = 2048
	firstBin = int64(time.Millisecond)
)

// Histogram counts events over time in bins of equal width. It holds any
// length of time: when its bins are full, it doubles their width. Widths are
// powers of two of a millisecond, so histograms add up exactly, in any order.
// The zero Histogram is empty.
type Histogram struct {
	width  int64 // of a bin, in nanoseconds; 0 means empty
	counts []int64
}

// add counts an event at an instant in nanoseconds.
func (h *Histogram) add(at int64) {
	if h.width == 0 {
		h.width = firstBin
		h.counts = make([]int64, 0, bins)
	}
	for at/h.width >= bins {
		h.widen()
	}
	i := int(at / h.width)
	for len(h.counts) <= i {
		h.counts = append(h.counts, 0)
	}
	h.counts[i]++
}

// widen doubles the width of the bins.
func (h *Histogram) widen() {
	h.width *= 2
	for i := range h.counts {
		n := h.counts[i]
		h.counts[i] = 0
		h.counts[i/2] += n
	}
	h.counts = h.counts[:(len(h.counts)+1)/2]
}

// merge adds the counts of g, which may become wider.
func (h *Histogram) merge(g *Histogram) {
	if g.width == 0 {
		return
	}
	if h.width == 0 {
		h.width, h.counts = g.width, make([]int64, 0, bins)
	}
	for h.width < g.width {
		h.widen()
	}
	for g.width < h.width {
		g.widen()
	}
	for len(h.counts) < len(g.counts) {
		h.counts = append(h.counts, 0)
	}
	for i, n := range g.counts {
		h.counts[i] += n
	}
}

// reset empties h and keeps its memory.
func (h *Histogram) reset() {
	if h.width != 0 {
		h.width, h.counts = firstBin, h.counts[:0]
	}
}

// Bins are the counts in at most n bins, and their width in ms. They begin at
// time 0 and end with the last event.
func (h *Histogram) Bins(n int) (counts []int64, width float64) {
	if len(h.counts) == 0 {
		return nil, 0
	}
	each := (len(h.counts) + n - 1) / n
	counts = make([]int64, (len(h.counts)+each-1)/each)
	for i, c := range h.counts {
		counts[i/each] += c
	}
	return counts, milliseconds(int64(each) * h.width)
}

// milliseconds of a time in nanoseconds.
func milliseconds(ns int64) float64 { return float64(ns) / float64(time.Millisecond) }
