package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"exactlyone/internal/wholefile"
)

// bisectState is what a bisection has seen. It is written whole after each run.
type bisectState struct {
	Schema   int      `json:"schema"`
	Good     string   `json:"good"`
	Bad      string   `json:"bad"`
	Command  []string `json:"command"`
	Build    string   `json:"build,omitempty"`
	Folder   string   `json:"folder,omitempty"`
	Timeout  string   `json:"timeout"`
	Worktree string   `json:"worktree,omitempty"` // in use, or left behind by a crash
	Seen     []seen   `json:"seen"`
}

// seen is one run, or a commit that cannot be run.
type seen struct {
	Commit  string `json:"commit"`
	Outcome string `json:"outcome"`
	Why     string `json:"why,omitempty"`
}

// Outcomes of a run.
const (
	outcomePass = "pass"
	outcomeFail = "fail"
	outcomeSkip = "skip"
)

// maxState is how long a state may be, in bytes: some for each of maxBisectRuns.
const maxState = 128 << 20

func readState(path string) (s bisectState, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxState { // before opening: a pipe would wait
		return s, fmt.Errorf("%s: the state of a bisection was expected, a file of %d MiB at most", path, maxState>>20)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("%s: the state of a bisection was expected: %w", path, err)
	}
	if s.Schema != 1 {
		return s, fmt.Errorf("%s: schema 1 was expected, found %d", path, s.Schema)
	}
	for _, x := range s.Seen {
		if !slices.Contains([]string{outcomePass, outcomeFail, outcomeSkip}, x.Outcome) {
			return s, fmt.Errorf("%s: outcome %q: pass, fail or skip was expected", path, x.Outcome)
		}
	}
	return s, nil
}

func writeState(path string, s bisectState) error {
	return wholefile.Write(path, func(w io.Writer) error { return json.NewEncoder(w).Encode(s) })
}

// differs names what makes the state that of another search, or nothing.
func (s bisectState) differs(other bisectState) string {
	for _, x := range [][3]string{
		{"--good", s.Good, other.Good},
		{"--bad", s.Bad, other.Bad},
		{"the command", strings.Join(s.Command, "\x00"), strings.Join(other.Command, "\x00")},
		{"--build", s.Build, other.Build},
		{"the folder", s.Folder, other.Folder},
		{"--timeout", s.Timeout, other.Timeout},
	} {
		if x[1] != x[2] {
			return fmt.Sprintf("%s %q", x[0], strings.ReplaceAll(x[1], "\x00", " "))
		}
	}
	return ""
}
