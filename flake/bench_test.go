package flake

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// large makes a store of many runs of many tests; one attempt in a hundred fails.
func large(b *testing.B, runs, tests int) *Store {
	s := open(b, filepath.Join(b.TempDir(), "large.db"))
	for i := range runs {
		var text strings.Builder
		fmt.Fprintf(&text, "TAP version 13\n1..%d\n", tests)
		for j := range tests {
			result := "ok"
			if hash(uint64(i*tests+j))%100 == 0 {
				result = "not ok"
			}
			fmt.Fprintf(&text, "%s %d - module %d/test %d\n", result, j+1, j%20, j)
		}
		add(b, s, text.String(), Gathering{Time: at(i), RunID: fmt.Sprint(i)})
	}
	return s
}

// hash scatters numbers (the finalizer of S. Vigna's splitmix64).
func hash(x uint64) uint64 {
	x = (x + 1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// BenchmarkReport reports on a thousand runs of a thousand tests.
func BenchmarkReport(b *testing.B) {
	s := large(b, 1000, 1000)
	b.ResetTimer()
	for b.Loop() {
		if _, err := s.Report(context.Background(), Config{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWrite writes that report in each form.
func BenchmarkWrite(b *testing.B) {
	s := large(b, 1000, 1000)
	r, err := s.Report(context.Background(), Config{})
	if err != nil {
		b.Fatal(err)
	}
	for _, form := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"text", func(w io.Writer) error { return r.WriteText(w, TextOptions{}) }},
		{"markdown", func(w io.Writer) error { return r.WriteMarkdown(w, TextOptions{}) }},
		{"json", r.WriteJSON},
		{"html", r.WriteHTML},
	} {
		b.Run(form.name, func(b *testing.B) {
			for b.Loop() {
				if err := form.write(io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIngest stores a report of a thousand tests.
func BenchmarkIngest(b *testing.B) {
	s := newStore(b)
	var text strings.Builder
	text.WriteString("TAP version 13\n1..1000\n")
	for j := range 1000 {
		fmt.Fprintf(&text, "ok %d - test %d\n", j+1, j)
	}
	n := 0
	for b.Loop() {
		n++
		add(b, s, text.String(), Gathering{Time: at(n), RunID: fmt.Sprint(n)})
	}
}
