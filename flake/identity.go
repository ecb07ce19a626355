package flake

import (
	"cmp"
	"strings"
)

// Identity is what makes a test the same test from run to run.
type Identity struct {
	Suite  string `json:"suite"`
	Class  string `json:"class,omitempty"`
	Name   string `json:"name"`
	Labels string `json:"labels,omitempty"` // k=v,k=v in order of k
}

// String is the identity as reports show it: suite, class and name joined by " > ",
// without a class or suite that repeats what stands beside it, then the labels.
func (t Identity) String() string {
	parts := []string{}
	if t.Suite != "" && t.Suite != t.Name {
		parts = append(parts, t.Suite)
	}
	if t.Class != "" && t.Class != t.Suite && t.Class != t.Name {
		parts = append(parts, t.Class)
	}
	text := strings.Join(append(parts, t.Name), " > ")
	if t.Labels != "" {
		text += " [" + t.Labels + "]"
	}
	return text
}

// below says whether t is a subtest of parent, by its name.
func (t Identity) below(parent Identity) bool {
	if t.Suite != parent.Suite || t.Class != parent.Class || t.Labels != parent.Labels {
		return false
	}
	rest, ok := strings.CutPrefix(t.Name, parent.Name)
	return ok && (strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, " > "))
}

// compareTests orders tests by suite, class, name and labels.
func compareTests(x, y Identity) int {
	return cmp.Or(cmp.Compare(x.Suite, y.Suite), cmp.Compare(x.Class, y.Class), cmp.Compare(x.Name, y.Name), cmp.Compare(x.Labels, y.Labels))
}
