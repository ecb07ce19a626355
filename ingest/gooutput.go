package ingest

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"
)

// output keeps what a running test prints, in case it fails.
func (s *goSession) output(name, raw []byte) {
	if isFrame(raw) {
		return
	}
	s.noteCrash(raw)
	if t := s.tests[string(name)]; t != nil {
		t.log.write(raw)
	}
}

// frames begin the lines that package testing prints around what a test prints.
var frames = [][]byte{
	[]byte("=== RUN "), []byte("=== PAUSE "), []byte("=== CONT "), []byte("=== NAME "), []byte("=== ATTR "),
	[]byte("--- PASS: "), []byte("--- FAIL: "), []byte("--- SKIP: "),
}

// isFrame reports whether a piece of output is such a line.
func isFrame(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " ")
	if !bytes.HasPrefix(raw, []byte("===")) && !bytes.HasPrefix(raw, []byte("---")) {
		return false
	}
	for _, f := range frames {
		if bytes.HasPrefix(raw, f) {
			return true
		}
	}
	return false
}

// noteCrash looks for the words with which a Go process dies. They say why the package failed
// if no test does; what a test prints of its own accord is not told apart.
func (s *goSession) noteCrash(raw []byte) {
	if len(raw) == 0 {
		return
	}
	switch raw[0] {
	case 'p', 'f', '*':
	default:
		return
	}
	switch {
	case bytes.HasPrefix(raw, []byte("panic: test timed out after ")),
		bytes.HasPrefix(raw, []byte("*** Test killed")) && bytes.Contains(raw, []byte("ran too long")):
		s.crash = ReasonTimeout
	case s.crash == "" && (bytes.HasPrefix(raw, []byte("panic: ")) || bytes.HasPrefix(raw, []byte("fatal error: "))):
		s.crash = ReasonPanic
	}
}

// half is how much a tail keeps of each end.
const half = (MaxMessage - len(gap)) / 2

// gap stands where a message lost its middle.
const gap = "\n[...]\n"

// tail keeps the beginning and the end of a text that arrives in pieces.
type tail struct {
	head []byte // at most half
	end  []byte // what follows head; shortened to half when it reaches twice that
	lost bool   // something between head and end is gone
}

func (t *tail) reset() { t.head, t.end, t.lost = t.head[:0], t.end[:0], false }

// write adds a JSON string, still escaped.
func (t *tail) write(raw []byte) {
	const enough = 16 * half // of one piece: no more is worth unquoting
	if len(raw) > enough {
		raw, t.lost = raw[:enough], true
	}
	if len(t.end) == 0 && len(t.head)+len(raw) <= half {
		t.head = unquote(t.head, raw, math.MaxInt)
		return
	}
	t.append(unquote(nil, raw, math.MaxInt))
}

func (t *tail) append(text []byte) {
	if room := half - len(t.head); room > 0 && len(t.end) == 0 {
		n := min(room, len(text))
		t.head, text = append(t.head, text[:n]...), text[n:]
	}
	t.end = append(t.end, text...)
	if len(t.end) > 2*half {
		t.end = t.end[:copy(t.end, t.end[len(t.end)-half:])]
		t.lost = true
	}
}

// text returns what was kept, with the gap marked.
func (t *tail) text() string {
	end := t.end
	lost := t.lost
	if len(end) > half {
		end, lost = end[len(end)-half:], true
	}
	s := string(t.head)
	if lost {
		s += gap
	}
	return strings.ToValidUTF8(strings.TrimRight(s+string(end), "\n"), "")
}

// seconds reads a number of seconds. What is no duration that a test can have is taken as
// absent.
func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f >= 0 && f < 1e9) {
		return NoDuration
	}
	return time.Duration(math.Round(f * 1e9))
}
