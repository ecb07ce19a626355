package ingest

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// event is one line of go test -json. Strings are kept as they stand between their quotes,
// still escaped: most are never looked at. Bytes belong to the line.
type event struct {
	action      action
	pkg         []byte
	test        []byte
	output      []byte
	importPath  []byte
	failedBuild []byte
	time        []byte
	elapsed     []byte // a number; empty if absent
}

// action is what an event tells.
type action uint8

// The actions of cmd/test2json and of go build -json. One that is not listed here is taken
// for an event, and ignored, if the line names a package.
const (
	noAction action = iota
	otherAction
	actionStart
	actionRun
	actionPause
	actionCont
	actionPass
	actionBench
	actionFail
	actionOutput
	actionSkip
	actionAttr
	actionArtifacts
	actionBuild
)

func parseAction(s []byte) action {
	switch string(s) {
	case "":
		return noAction
	case "start":
		return actionStart
	case "run":
		return actionRun
	case "pause":
		return actionPause
	case "cont":
		return actionCont
	case "pass":
		return actionPass
	case "bench":
		return actionBench
	case "fail":
		return actionFail
	case "output":
		return actionOutput
	case "skip":
		return actionSkip
	case "attr":
		return actionAttr
	case "artifacts":
		return actionArtifacts
	case "build-output", "build-fail":
		return actionBuild
	}
	return otherAction
}

// parse reads line into e and reports whether it is an event. What it accepts is what
// encoding/json accepts, with keys compared exactly. If the line is cut, its first part must
// reach into the value of Output.
func (e *event) parse(line []byte, cut bool) bool {
	*e = event{}
	i := skipSpace(line, 0)
	if i == len(line) || line[i] != '{' {
		return false
	}
	for first := true; ; first = false {
		i = skipSpace(line, i+1)
		if first && i < len(line) && line[i] == '}' {
			break
		}
		if i == len(line) || line[i] != '"' {
			return false
		}
		end, escaped := scanString(line, i+1)
		if end < 0 {
			return false
		}
		if escaped {
			return !cut && e.parseSlowly(line)
		}
		key := line[i+1 : end]
		i = skipSpace(line, end+1)
		if i == len(line) || line[i] != ':' {
			return false
		}
		i = skipSpace(line, i+1)
		if i == len(line) {
			return false
		}
		var ok bool
		if i, ok = e.value(line, i, key, cut); !ok {
			return i == needsSlow && !cut && e.parseSlowly(line)
		}
		if i == len(line) && cut {
			return e.isEvent()
		}
		if i = skipSpace(line, i); i == len(line) {
			return false
		}
		if line[i] == '}' {
			break
		}
		if line[i] != ',' {
			return false
		}
	}
	return skipSpace(line, i+1) == len(line) && e.isEvent()
}

// needsSlow is returned by value for what only encoding/json can read.
const needsSlow = -2

// value reads the value at line[i] of a key and returns the index after it.
func (e *event) value(line []byte, i int, key []byte, cut bool) (int, bool) {
	switch c := line[i]; {
	case c == '"':
		end, _ := scanString(line, i+1)
		if end < 0 && cut && string(key) == "Output" {
			e.output = line[i+1:]
			return len(line), true
		}
		if end < 0 {
			return -1, false
		}
		return end + 1, e.setString(key, line[i+1:end])
	case c == '-' || '0' <= c && c <= '9':
		end := scanNumber(line, i)
		if end < 0 {
			return -1, false
		}
		return end, e.setNumber(key, line[i:end])
	case bytes.HasPrefix(line[i:], []byte("null")):
		return i + 4, true
	case c == '{' || c == '[' || c == 't' || c == 'f':
		return needsSlow, false
	}
	return -1, false
}

// setString stores the value of a key and reports whether a string may stand there.
func (e *event) setString(key, value []byte) bool {
	switch string(key) {
	case "Time":
		e.time = value
	case "Action":
		e.action = parseAction(value)
	case "Package":
		e.pkg = value
	case "Test":
		e.test = value
	case "Output":
		e.output = value
	case "ImportPath":
		e.importPath = value
	case "FailedBuild":
		e.failedBuild = value
	case "Elapsed":
		return false
	}
	return true
}

// setNumber is setString for a number.
func (e *event) setNumber(key, value []byte) bool {
	switch string(key) {
	case "Elapsed":
		e.elapsed = value
	case "Time", "Action", "Package", "Test", "Output", "ImportPath", "FailedBuild":
		return false
	}
	return true
}

// isEvent reports whether what was read makes an event.
func (e *event) isEvent() bool {
	switch e.action {
	case noAction:
		return false
	case otherAction:
		return len(e.pkg) > 0 || len(e.importPath) > 0
	}
	return true
}

// parseSlowly is parse by encoding/json, for lines that go test does not write.
func (e *event) parseSlowly(line []byte) bool {
	*e = event{}
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) != nil {
		return false
	}
	for key, value := range fields {
		switch c := value[0]; {
		case c == '"':
			if !e.setString([]byte(key), value[1:len(value)-1]) {
				return false
			}
		case c == '-' || '0' <= c && c <= '9':
			if !e.setNumber([]byte(key), value) {
				return false
			}
		case c != 'n': // an object, an array, a truth value
			if !e.setNumber([]byte(key), nil) || key == "Elapsed" {
				return false
			}
		}
	}
	return e.isEvent()
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

// special marks the bytes at which scanString has to stop: the quote, the backslash and
// control characters.
var special = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = true
	}
	t['"'], t['\\'] = true, true
	return t
}()

// scanString returns the index of the quote that ends the string whose content begins at i,
// and whether it has escapes; -1 if it does not end or is no JSON string.
func scanString(b []byte, i int) (end int, escaped bool) {
	for i < len(b) {
		c := b[i]
		if !special[c] {
			i++
			continue
		}
		if c == '"' {
			return i, escaped
		}
		if c != '\\' || i+1 == len(b) {
			return -1, escaped
		}
		escaped = true
		switch b[i+1] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			i += 2
		case 'u':
			if _, ok := hex4(b, i+2); !ok {
				return -1, escaped
			}
			i += 6
		default:
			return -1, escaped
		}
	}
	return -1, escaped
}

// scanNumber returns the index after the JSON number at b[i], or -1.
func scanNumber(b []byte, i int) int {
	digits := func() bool {
		from := i
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if !digits() {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return -1
		}
	}
	return i
}

// hex4 reads the four hexadecimal digits of a \u escape.
func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[i:i+4]), 16, 16)
	if err != nil {
		return 0, false
	}
	return rune(n), true
}

// unquote appends the text of a JSON string to dst, which stands escaped in raw. Bytes that
// are not UTF-8 and lone surrogates become U+FFFD, as in encoding/json. It stops once dst is
// longer than limit.
func unquote(dst, raw []byte, limit int) []byte {
	for len(raw) > 0 && len(dst) <= limit {
		c := raw[0]
		switch {
		case c == '\\' && len(raw) > 1:
			dst, raw = unescape(dst, raw)
		case c < utf8.RuneSelf:
			dst, raw = append(dst, c), raw[1:]
		default:
			r, size := utf8.DecodeRune(raw)
			dst, raw = utf8.AppendRune(dst, r), raw[size:]
		}
	}
	return dst
}

// unescape appends the character that the escape at the start of raw means.
func unescape(dst, raw []byte) (text, rest []byte) {
	switch c := raw[1]; c {
	case 'b':
		return append(dst, '\b'), raw[2:]
	case 'f':
		return append(dst, '\f'), raw[2:]
	case 'n':
		return append(dst, '\n'), raw[2:]
	case 'r':
		return append(dst, '\r'), raw[2:]
	case 't':
		return append(dst, '\t'), raw[2:]
	case 'u':
		r, ok := hex4(raw, 2)
		if !ok { // the escape is cut
			return dst, nil
		}
		raw = raw[6:]
		if utf16.IsSurrogate(r) {
			low, ok := rune(0), false
			if len(raw) > 1 && raw[0] == '\\' && raw[1] == 'u' {
				low, ok = hex4(raw, 2)
			}
			if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
				raw = raw[6:]
			}
		}
		return utf8.AppendRune(dst, r), raw
	default:
		return append(dst, c), raw[2:]
	}
}
