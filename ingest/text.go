package ingest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// decode returns the content of r as UTF-8, without its byte order mark, and whether it is
// known to be that. UTF-16 is told by its mark, or by the way "<" or "{" stands at the start.
// Other encodings are for the reader of a format to tell: XML names them.
func decode(r io.Reader) (in *bufio.Reader, known bool, err error) {
	in = bufio.NewReaderSize(r, window)
	head, err := in.Peek(4)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	fromUTF16 := func(order binary.ByteOrder, mark int) (*bufio.Reader, bool, error) {
		in.Discard(mark) // was peeked
		return bufio.NewReaderSize(&utf16Reader{in: in, order: order}, window), true, nil
	}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		in.Discard(3)
		return in, true, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return nil, false, &Error{Kind: KindEncoding, Text: "UTF-32 is not read; convert the report to UTF-8"}
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return fromUTF16(binary.LittleEndian, 2)
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return fromUTF16(binary.BigEndian, 2)
	case len(head) == 4 && opens(head[0]) && head[1] == 0 && head[2] != 0 && head[3] == 0:
		return fromUTF16(binary.LittleEndian, 0)
	case len(head) == 4 && head[0] == 0 && opens(head[1]) && head[2] == 0 && head[3] != 0:
		return fromUTF16(binary.BigEndian, 0)
	}
	return in, false, nil
}

// opens reports whether c may be the first character of XML or JSON.
func opens(c byte) bool { return c == '<' || c == '{' }

// utf16Reader turns UTF-16 into UTF-8. Half a surrogate pair, and a last odd byte, become
// U+FFFD.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
	rest  []byte // not yet returned
	small [utf8.UTFMax]byte
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	n := 0
	for {
		k := copy(p[n:], u.rest)
		n, u.rest = n+k, u.rest[k:]
		if len(u.rest) > 0 || n == len(p) || n > 0 && u.in.Buffered() < 4 {
			return n, nil
		}
		r, err := u.rune()
		if err != nil {
			return n, err
		}
		u.rest = utf8.AppendRune(u.small[:0], r)
	}
}

// rune reads one character.
func (u *utf16Reader) rune() (rune, error) {
	unit, err := u.in.Peek(2)
	if len(unit) < 2 {
		if len(unit) == 1 && err == io.EOF {
			u.in.Discard(1)
			return utf8.RuneError, nil
		}
		return 0, err
	}
	first := rune(u.order.Uint16(unit))
	u.in.Discard(2)
	if !utf16.IsSurrogate(first) {
		return first, nil
	}
	next, _ := u.in.Peek(2)
	if len(next) == 2 {
		if r := utf16.DecodeRune(first, rune(u.order.Uint16(next))); r != utf8.RuneError {
			u.in.Discard(2)
			return r, nil
		}
	}
	return utf8.RuneError, nil
}

// isSpace reports whether c is white space to XML and JSON.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// isNameStart reports whether c may begin an XML name. All bytes above ASCII may: which
// letters beyond it are allowed is not checked.
func isNameStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == ':' || c >= utf8.RuneSelf
}
