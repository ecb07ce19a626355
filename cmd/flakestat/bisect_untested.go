package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"exactlyone/internal/runner"
)

var (
	noTests = regexp.MustCompile(`^\?\s+\S+\s+\[no test files\]$|^ok\s+\S+\s.*\[no tests to run\]$`)
	tested  = regexp.MustCompile(`^ok\s|^=== RUN|^--- (PASS|SKIP)`)
)

// untested is why a run that ended with a status tells nothing about tests, by what go test
// and compilers print; empty if it may tell something.
func untested(output *runner.Kept, ok bool) string {
	none, some := false, output.Total() > keptOutput // what is missing may be of a test
	for line := range strings.Lines(output.Text()) {
		var event struct{ Action, Test, Output string }
		if strings.HasPrefix(line, "{") && json.Unmarshal([]byte(line), &event) == nil && event.Action != "" {
			line = event.Output
			some = some || event.Test != ""
		}
		line = strings.TrimSpace(line)
		switch {
		case !ok && building.MatchString(line):
			return "it does not build: " + line
		case noTests.MatchString(line):
			none = true
		case tested.MatchString(line):
			some = true
		}
	}
	if ok && none && !some {
		return "no test ran"
	}
	return ""
}
