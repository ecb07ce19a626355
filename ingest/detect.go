package ingest

import (
	"bytes"
	"encoding/json"
)

// Sniff tells the format of a report from its first bytes, 256 KiB of them at most; empty
// if they are those of no report.
func Sniff(head []byte) Format {
	format, problem := detect(head[:min(len(head), window)])
	if problem != nil {
		return ""
	}
	return format
}

// detect tells the format from the first bytes of a report, which are UTF-8 without a byte
// order mark.
func detect(head []byte) (Format, *Error) {
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case len(text) == 0 && len(head) < window:
		return "", &Error{Kind: KindEmpty, Text: "the report is empty"}
	case looksLikeXML(text):
		return JUnit, nil
	case len(text) > 0 && text[0] == '{' && looksLikeCTRF(text):
		return CTRF, nil
	}
	for len(text) > 0 {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if isGoEvent(line, whole) {
			return GoTest, nil
		}
		if whole && startsTAP(line) || !whole && len(head) < window && startsTAP(line) {
			return TAP, nil
		}
		text = rest
	}
	problem := &Error{Kind: KindNotAReport, Text: "no report: expected go test -json, JUnit XML, TAP or CTRF"}
	if bytes.Contains(head, []byte("--- PASS: ")) || bytes.Contains(head, []byte("--- FAIL: ")) {
		problem.Text = "output of go test without -json; convert it with go tool test2json"
	}
	return "", problem
}

// looksLikeXML reports whether text begins as an XML document does.
func looksLikeXML(text []byte) bool {
	return len(text) > 1 && text[0] == '<' && (text[1] == '?' || text[1] == '!' || isNameStart(text[1])) ||
		len(text) == 1 && text[0] == '<'
}

// isGoEvent reports whether line, or its first part, is an event of go test -json.
func isGoEvent(line []byte, whole bool) bool {
	var e event
	return e.parse(line, !whole)
}

// looksLikeCTRF reports whether text is the beginning of a JSON object with a key that only
// the root of CTRF has, before any that only an event of go test has.
func looksLikeCTRF(text []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(text))
	depth := 0
	key := false // the next token at depth 1 is a key
	for {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
				key = depth == 1
				continue
			}
			depth--
			if depth == 0 {
				return false
			}
			key = depth == 1
			continue
		case string:
			if depth == 1 && key {
				switch token {
				case "results", "reportFormat":
					return true
				case "Action":
					return false
				}
				key = false
				continue
			}
		}
		if depth == 1 {
			key = true
		}
	}
}
