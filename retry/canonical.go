package retry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Errors of [Canonical]; match them with errors.Is.
var (
	ErrNotJSON   = errors.New("no JSON text")
	ErrDuplicate = errors.New("a member occurs twice")
	ErrSurrogate = errors.New("half of a surrogate pair")
	ErrExponent  = errors.New("exponent out of range")
)

// Canonical writes a JSON text in its one canonical form: members in the order
// of their names' UTF-16 code units, no whitespace, strings and numbers as
// ECMAScript writes them. Equal values have equal forms, different values have
// different ones.
//
// It is RFC 8785 (JSON Canonicalization Scheme) but for one thing. RFC 8785
// takes numbers for IEEE doubles, so that 9007199254740992 and 9007199254740993
// become one. Here every number keeps its exact decimal value, which matters for
// 64-bit ids: digits beyond those of a double are kept and not rounded. Numbers
// written with as few digits as a double needs have the form of RFC 8785. 1, 1.0,
// 10e-1 are one value, as are 0 and -0.
//
// Refused are text that is no JSON or no UTF-8, members that occur twice, halves
// of surrogate pairs (all three by RFC 8785 as well, through I-JSON), nesting
// beyond 10,000, and numbers whose first digit stands beyond 10^±1,000,000,000.
func Canonical(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("%w: invalid UTF-8", ErrNotJSON)
	}
	var raw json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	c := canonicalizer{in: string(text)}
	if err := c.value(); err != nil {
		return nil, fmt.Errorf("at byte %d: %w", c.at, err)
	}
	return c.out, nil
}

// canonicalizer walks a text that is known to be JSON.
type canonicalizer struct {
	in  string
	at  int
	out []byte
}

// next skips whitespace and returns the byte after it without taking it.
func (c *canonicalizer) next() byte {
	for strings.IndexByte(" \t\r\n", c.in[c.at]) >= 0 {
		c.at++
	}
	return c.in[c.at]
}

func (c *canonicalizer) value() error {
	switch c.next() {
	case '{':
		return c.object()
	case '[':
		return c.array()
	case '"':
		s, err := c.str()
		c.out = appendString(c.out, s)
		return err
	}
	end := c.at
	for end < len(c.in) && strings.IndexByte(" \t\r\n,]}", c.in[end]) < 0 {
		end++
	}
	word := c.in[c.at:end]
	switch word[0] {
	case 't', 'f', 'n':
		c.out = append(c.out, word...)
	default:
		number, err := canonicalNumber(word)
		if err != nil {
			return err
		}
		c.out = append(c.out, number...)
	}
	c.at = end
	return nil
}

func (c *canonicalizer) array() error {
	c.out = append(c.out, '[')
	for c.at++; c.next() != ']'; {
		if c.in[c.at] == ',' {
			c.at++
			c.out = append(c.out, ',')
		}
		if err := c.value(); err != nil {
			return err
		}
	}
	c.at++
	c.out = append(c.out, ']')
	return nil
}

// member is one name of an object, and its value in canonical form.
type member struct {
	name  []uint16
	text  string
	value []byte
}

func (c *canonicalizer) object() error {
	before := c.out
	var all []member
	for c.at++; c.next() != '}'; {
		if c.in[c.at] == ',' {
			c.at++
			c.next()
		}
		name, err := c.str()
		if err != nil {
			return err
		}
		c.next()
		c.at++ // the colon
		c.out = nil
		if err := c.value(); err != nil {
			return err
		}
		all = append(all, member{utf16.Encode([]rune(name)), name, c.out})
	}
	slices.SortStableFunc(all, func(a, b member) int { return slices.Compare(a.name, b.name) })
	c.out = append(before, '{')
	for i, m := range all {
		if i > 0 {
			if m.text == all[i-1].text {
				return fmt.Errorf("%w: %q", ErrDuplicate, m.text)
			}
			c.out = append(c.out, ',')
		}
		c.out = append(appendString(c.out, m.text), ':')
		c.out = append(c.out, m.value...)
	}
	c.at++
	c.out = append(c.out, '}')
	return nil
}

// str takes a string.
func (c *canonicalizer) str() (string, error) {
	var s []byte
	for c.at++; c.in[c.at] != '"'; {
		if c.in[c.at] != '\\' {
			s = append(s, c.in[c.at])
			c.at++
			continue
		}
		escape := c.in[c.at+1]
		if escape != 'u' {
			s = append(s, "\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, escape)])
			c.at += 2
			continue
		}
		r := c.escaped()
		c.at += 6
		if utf16.IsSurrogate(r) {
			if !strings.HasPrefix(c.in[c.at:], `\u`) {
				return "", ErrSurrogate
			}
			if r = utf16.DecodeRune(r, c.escaped()); r == utf8.RuneError {
				return "", ErrSurrogate
			}
			c.at += 6
		}
		s = utf8.AppendRune(s, r)
	}
	c.at++
	return string(s), nil
}

// escaped is the code unit of the \uXXXX that comes next.
func (c *canonicalizer) escaped() rune {
	n, _ := strconv.ParseUint(c.in[c.at+2:c.at+6], 16, 16)
	return rune(n)
}

// appendString writes a string as JSON.stringify does (ECMA-262, QuoteJSONString).
func appendString(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch b := s[i]; {
		case b == '"' || b == '\\':
			out = append(out, '\\', b)
		case b >= ' ':
			out = append(out, b)
		case strings.IndexByte("\b\f\n\r\t", b) >= 0:
			out = append(out, '\\', "bfnrt"[strings.IndexByte("\b\f\n\r\t", b)])
		default:
			out = fmt.Appendf(out, `\u%04x`, b)
		}
	}
	return append(out, '"')
}

// maxExponent bounds the exponent of a canonical form, and twice that the one a
// number is written with, so that sums cannot overflow.
const maxExponent = 1_000_000_000

// canonicalNumber lays the decimal digits of a JSON number out as ECMAScript
// does (ECMA-262, Number::toString): 0.digits · 10^point, without zeros at
// either end.
func canonicalNumber(word string) (string, error) {
	digits, negative := strings.CutPrefix(word, "-")
	exponent := 0
	if e := strings.IndexAny(digits, "eE"); e >= 0 {
		n, err := strconv.Atoi(digits[e+1:])
		if err != nil || n > 2*maxExponent || n < -2*maxExponent {
			return "", fmt.Errorf("%w: %s", ErrExponent, word)
		}
		digits, exponent = digits[:e], n
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	point := exponent + len(whole) - (len(whole+fraction) - len(digits))
	digits = strings.TrimRight(digits, "0")
	if digits == "" {
		return "0", nil
	}
	if point-1 > maxExponent || point-1 < -maxExponent {
		return "", fmt.Errorf("%w: %s", ErrExponent, word)
	}
	text := layOut(digits, point)
	if negative {
		text = "-" + text
	}
	return text, nil
}

// layOut writes 0.digits · 10^point.
func layOut(digits string, point int) string {
	k := len(digits)
	switch {
	case k <= point && point <= 21:
		return digits + strings.Repeat("0", point-k)
	case 0 < point && point <= 21:
		return digits[:point] + "." + digits[point:]
	case -6 < point && point <= 0:
		return "0." + strings.Repeat("0", -point) + digits
	}
	mantissa := digits[:1]
	if k > 1 {
		mantissa += "." + digits[1:]
	}
	return fmt.Sprintf("%se%+d", mantissa, point-1)
}
