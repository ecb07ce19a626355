package ingest

import (
	"bytes"
	"io"
	"strings"
	"unicode/utf8"
)

// declaredEncoding returns the encoding that an XML declaration names, in lower case, or "".
func declaredEncoding(declaration []byte) string {
	_, rest, ok := bytes.Cut(declaration, []byte("encoding"))
	if !ok {
		return ""
	}
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if len(rest) == 0 || rest[0] != '=' {
		return ""
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	if len(rest) == 0 || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	name, _, _ := bytes.Cut(rest[1:], rest[:1])
	return strings.ToLower(string(name))
}

// charset returns what the bytes from 0x80 on mean in an encoding of one byte a character, nil
// for UTF-8, and false for an encoding that is not known. A document that could be read so far
// is not in UTF-16, whatever it says: writers of strings in memory often claim that.
func charset(name string) (*[128]rune, bool) {
	switch name {
	case "", "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be":
		return nil, true
	case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1":
		return &latin1, true
	case "windows-1252", "cp1252", "cp-1252":
		return &windows1252, true
	case "iso-8859-15", "iso8859-15", "latin9", "latin-9":
		return &latin9, true
	}
	return nil, false
}

var latin1 = func() (t [128]rune) {
	for i := range t {
		t[i] = rune(0x80 + i)
	}
	return t
}()

// windows1252 is Latin 1 but for 0x80 to 0x9f, as listed by the WHATWG Encoding Standard.
var windows1252 = func() [128]rune {
	t := latin1
	copy(t[:], []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"))
	return t
}()

// latin9 is Latin 1 but for eight characters (ISO/IEC 8859-15:1999).
var latin9 = func() [128]rune {
	t := latin1
	for at, r := range map[int]rune{0xa4: '€', 0xa6: 'Š', 0xa8: 'š', 0xb4: 'Ž', 0xb8: 'ž', 0xbc: 'Œ', 0xbd: 'œ', 0xbe: 'Ÿ'} {
		t[at-0x80] = r
	}
	return t
}()

// charsetReader turns an encoding of one byte a character into UTF-8.
type charsetReader struct {
	in    io.Reader
	table *[128]rune
	raw   [4 << 10]byte
	text  []byte // decoded and not yet returned
	space []byte // where text lies
}

func (c *charsetReader) Read(p []byte) (int, error) {
	for len(c.text) == 0 {
		n, err := c.in.Read(c.raw[:])
		c.space = c.space[:0]
		for _, b := range c.raw[:n] {
			if b < utf8.RuneSelf {
				c.space = append(c.space, b)
			} else {
				c.space = utf8.AppendRune(c.space, c.table[b-0x80])
			}
		}
		c.text = c.space
		if n == 0 && err != nil {
			return 0, err
		}
	}
	n := copy(p, c.text)
	c.text = c.text[n:]
	return n, nil
}
