package sqlhttp

import (
	"testing"

	"exactlyone"
)

// BenchmarkW01 searches the corrected writer of W01 at default bounds, Stateless.
func BenchmarkW01(b *testing.B) {
	states := 0
	for b.Loop() {
		r, err := exactlyone.Run(b.Context(), system("w01 corrected", w01Unique, on(w01Corrected)), exactlyone.Bounds{}, exactlyone.Options{Test: b})
		if err != nil || r.Verdict != exactlyone.Holds {
			b.Fatal(r, err)
		}
		states = r.States
	}
	b.ReportMetric(float64(states), "states")
}
