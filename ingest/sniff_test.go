package ingest

import (
	"strings"
	"testing"
)

func TestSniff(t *testing.T) {
	for head, want := range map[string]Format{
		"": "", "hello\n": "", "--- PASS: TestA (0.00s)\nok\n": "",
		"TAP version 13\n1..1\n":                                                      TAP,
		"<testsuite name=\"s\"/>":                                                     JUnit,
		`{"Action":"start","Package":"x"}` + "\n":                                     GoTest,
		"downloading\n" + `{"Action":"start","Package":"x"}` + "\n":                   GoTest,
		strings.Repeat("x\n", window) + `{"Action":"start","Package":"x"}` + "\n":     "",
		`{"ImportPath":"x","Action":"build-output","Output":"undefined: y\n"}` + "\n": GoTest,
	} {
		if got := Sniff([]byte(head)); got != want {
			t.Errorf("%.60q: %q, want %q", head, got, want)
		}
	}
}

// TestWaiting: a test that was paused when the stream stopped is told from one that ran.
func TestWaiting(t *testing.T) {
	var report strings.Builder
	for _, e := range []string{"start", "run A", "pause A", "run B", "pause B", "cont B", "run C", "pause C", "cont C", "pause C", "run D"} {
		action, test, _ := strings.Cut(e, " ")
		report.WriteString(`{"Action":"` + action + `","Package":"x","Test":"` + test + `"}` + "\n")
	}
	var got []string
	_, err := Read(strings.NewReader(report.String()), "r", func(r Record) error {
		if r.Outcome == Unfinished && r.Waiting {
			got = append(got, r.Test.Name)
		}
		return nil
	})
	if err != nil || strings.Join(got, " ") != "A C" {
		t.Errorf("%v, %v", got, err)
	}
}
