package flake

import (
	"regexp"
	"strings"
)

// masks replace what differs from run to run in one and the same failure. The order
// matters: a UUID holds numbers, a path may hold both.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`[\x1b\x{fffd}]\[[0-9;]*[A-Za-z]`), ""},
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "<uuid>"},
	{regexp.MustCompile(`(?i)\b[a-z]:\\[\w.\\-]+`), "<path>"},
	{regexp.MustCompile(`(^|[\s"'(=\[,])(?:~|\.{1,2})?/(?:[\w.@+-]+/)*[\w.@+-]+`), "$1<path>"},
	{regexp.MustCompile(`(?i)\b0x[0-9a-f]+\b`), "<hex>"},
	{regexp.MustCompile(`\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b`), "<address>"},
	{regexp.MustCompile(`(?i)\[[0-9a-f]*(?::[0-9a-f]*){2,}\](?::\d+)?`), "<address>"},
	{regexp.MustCompile(`\blocalhost:\d+\b`), "<address>"},
}

// hexWord may be a hexadecimal number, if it holds a digit.
var hexWord = regexp.MustCompile(`(?i)\b[0-9a-f]{6,}\b`)

var number = regexp.MustCompile(`\d+(?:[.,]\d+)*`)

// Mask writes a failure message so that messages which differ in numbers, addresses,
// hexadecimal digits, paths and UUIDs alone become equal. White space is collapsed.
func Mask(message string) string {
	for _, m := range masks {
		message = m.pattern.ReplaceAllString(message, m.with)
	}
	message = hexWord.ReplaceAllStringFunc(message, func(word string) string {
		if strings.ContainsAny(word, "0123456789") && strings.ContainsAny(strings.ToLower(word), "abcdef") {
			return "<hex>"
		}
		return word
	})
	message = number.ReplaceAllString(message, "<n>")
	return strings.Join(strings.Fields(message), " ")
}
