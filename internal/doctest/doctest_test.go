package doctest

import "testing"

func TestAgrees(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\n", "a\nb\n", false},
		{"", "a\n", false},
		{"a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"a\n...\n", "a\nb\nc\n", true},
		{"...\nc\n", "a\nb\nc\n", true},
		{"a\n...\nx\n", "a\nb\nc\n", false},
		{"b\n...\n", "a\nb\nc\n", false},
	} {
		if got := Agrees(tt.pattern, tt.text); got != tt.want {
			t.Errorf("Agrees(%q, %q) = %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}
