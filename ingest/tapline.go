package ingest

import (
	"bytes"
	"strconv"
	"strings"
)

// startsTAP reports whether a line can only be TAP: a version, a plan, or a point with a number
// or a dash. The word "ok" alone begins lines of other programs as well.
func startsTAP(line []byte) bool {
	line = bytes.TrimRight(line, "\r\n")
	if _, ok := tapVersion(line); ok {
		return true
	}
	if _, _, ok := tapPlan(line); ok {
		return true
	}
	rest := bytes.TrimPrefix(line, []byte("not "))
	if rest, ok := bytes.CutPrefix(rest, []byte("ok ")); ok {
		return bytes.HasPrefix(rest, []byte("- ")) || len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9'
	}
	return false
}

func tapVersion(line []byte) (int, bool) {
	rest, ok := bytes.CutPrefix(line, []byte("TAP version "))
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(string(bytes.TrimSpace(rest)))
	return n, err == nil
}

// tapPlan reads a plan, "1..N", and whether its comment says that all is skipped.
func tapPlan(line []byte) (n int64, skipped, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("1.."))
	if !ok {
		return 0, false, false
	}
	number, comment, _ := bytes.Cut(rest, []byte("#"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(number)), 10, 64)
	comment = bytes.ToUpper(bytes.TrimSpace(comment))
	return n, bytes.HasPrefix(comment, []byte("SKIP")), err == nil && n >= 0
}

// parsePoint reads a result: "ok" or "not ok", a number, a description after a dash, and a
// directive, all but the first optional.
func parsePoint(text []byte) (tapPoint, bool) {
	p := tapPoint{duration: NoDuration}
	rest, failed := bytes.CutPrefix(text, []byte("not "))
	if failed {
		p.outcome = Fail
		rest = bytes.TrimLeft(rest, " ")
	}
	rest, ok := bytes.CutPrefix(rest, []byte("ok"))
	if !ok || len(rest) > 0 && rest[0] != ' ' && rest[0] != '\t' {
		return p, false
	}
	rest = bytes.TrimSpace(rest)
	digits := 0
	for digits < len(rest) && '0' <= rest[digits] && rest[digits] <= '9' {
		digits++
	}
	if digits > 0 && (digits == len(rest) || rest[digits] == ' ' || rest[digits] == '\t') {
		n, err := strconv.ParseInt(string(rest[:digits]), 10, 64)
		if err == nil {
			p.number = n
			rest = bytes.TrimSpace(rest[digits:])
		}
	}
	if string(rest) == "-" {
		rest = nil
	}
	rest = bytes.TrimLeft(bytes.TrimPrefix(rest, []byte("- ")), " \t")
	if before, ok := bytes.CutSuffix(rest, []byte(" {")); ok || string(rest) == "{" {
		rest, p.open = bytes.TrimSuffix(before, []byte("{")), true
	}
	p.name = validName(unescapeTAP(p.directive(rest)))
	return p, true
}

// directive takes the directive off a description. A hash that begins none, is escaped, or
// stands within a word is part of the description.
func (p *tapPoint) directive(text []byte) []byte {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
			continue
		}
		if text[i] != '#' || i > 0 && text[i-1] != ' ' && text[i-1] != '\t' {
			continue
		}
		comment := bytes.TrimSpace(text[i+1:])
		word := 0
		for word < len(comment) && ('a' <= comment[word]|0x20 && comment[word]|0x20 <= 'z') {
			word++
		}
		switch strings.ToLower(string(comment[:word])) {
		case "skip", "skipped", "todo":
			p.outcome = Skip
		case "time": // of node-tap: # time=5.271ms
			number, ok := bytes.CutSuffix(bytes.TrimPrefix(comment[word:], []byte("=")), []byte("ms"))
			ms := seconds(string(number))
			if !ok || ms == NoDuration {
				continue
			}
			p.duration = ms / 1000
		default:
			continue
		}
		text = text[:i]
	}
	return bytes.TrimSpace(text)
}

// unescapeTAP resolves the two escapes of TAP, of the hash and of the backslash.
func unescapeTAP(text []byte) string {
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text)
	}
	var s strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (text[i+1] == '#' || text[i+1] == '\\') {
			i++
		}
		s.WriteByte(text[i])
	}
	return s.String()
}

// validName makes name valid UTF-8.
func validName(name string) string { return strings.ToValidUTF8(name, "\ufffd") }
