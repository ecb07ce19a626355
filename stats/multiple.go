package stats

import (
	"math"
	"slices"
)

// Holm adjusts p values for many tests at once so that the chance of even one
// false alarm is at most alpha if those at or below alpha are reported (S. Holm,
// "A Simple Sequentially Rejective Multiple Test Procedure", 1979). It holds
// whatever the dependence. The order is kept.
func Holm(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	least := 0.0
	for i, at := range ascending(p) {
		least = math.Max(least, math.Min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = least
	}
	return adjusted
}

// BenjaminiHochberg adjusts p values so that among those reported at or below
// alpha the expected share of false alarms is at most alpha, for independent or
// positively dependent tests (Y. Benjamini and Y. Hochberg, "Controlling the False
// Discovery Rate", 1995). The order is kept.
func BenjaminiHochberg(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	most := 1.0
	for i, at := range slices.Backward(ascending(p)) {
		most = math.Min(most, p[at]*float64(len(p))/float64(i+1))
		adjusted[at] = most
	}
	return adjusted
}

// ascending are the indices of p in the order of their values.
func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i, x := range p {
		checkRate("adjusting", x)
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	return order
}
