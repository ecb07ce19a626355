package ingest

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// maxReference is the length of the longest reference that is known as one, in bytes, from the
// ampersand to the semicolon.
const maxReference = 32

// plain reports whether a piece of text stands for itself: all its characters are allowed, and
// it has neither references nor carriage returns.
func plain(piece []byte) bool {
	return bytes.IndexByte(piece, '&') < 0 && validChars(piece, false)
}

// validChars reports whether piece is UTF-8 and each character is one that XML 1.0 allows.
// Carriage returns are valid, but only if so asked.
func validChars(piece []byte, returns bool) bool {
	const (
		highs = 0x8080808080808080
		space = 0x2020202020202020
	)
	for len(piece) > 0 {
		if len(piece) >= 8 {
			// Eight bytes at once. A byte below 0x20 borrows, which sets a high bit; the
			// lowest such byte cannot be missed.
			w := binary.LittleEndian.Uint64(piece)
			if (w|(w-space))&highs == 0 {
				piece = piece[8:]
				continue
			}
		}
		size, ok := validChar(piece, returns)
		if !ok {
			return false
		}
		piece = piece[size:]
	}
	return true
}

// validChar looks at the first character of piece.
func validChar(piece []byte, returns bool) (size int, ok bool) {
	switch c := piece[0]; {
	case c >= utf8.RuneSelf:
		r, size := utf8.DecodeRune(piece)
		return size, validRune(r) && (r != utf8.RuneError || size > 1)
	case c >= ' ' || c == '\n' || c == '\t':
		return 1, true
	default:
		return 1, c == '\r' && returns
	}
}

// validRune reports whether XML 1.0 allows a character.
func validRune(r rune) bool {
	switch {
	case r < ' ':
		return r == '\t' || r == '\n' || r == '\r'
	case r < 0xd800:
		return true
	case r < 0xe000:
		return false
	}
	return r != 0xfffe && r != 0xffff && r <= utf8.MaxRune
}

// cutPoint returns how much of a piece of text, of which more is to come, can be looked at
// now: no character, reference or line end may be cut in two.
func cutPoint(piece []byte) int {
	n := len(piece)
	for i := n - 1; i >= 0 && i >= n-utf8.UTFMax; i-- {
		if utf8.RuneStart(piece[i]) {
			if !utf8.FullRune(piece[i:]) {
				n = i
			}
			break
		}
	}
	if n > 0 && piece[n-1] == '\r' {
		n--
	}
	from := max(0, n-maxReference)
	if i := bytes.LastIndexByte(piece[from:n], '&'); i >= 0 && bytes.IndexByte(piece[from+i:n], ';') < 0 {
		n = from + i
	}
	return n
}

// decode appends what a piece of text, which begins at pos, says to dst until that has limit
// bytes or a few more; the rest is only checked. References are resolved if so asked. What XML
// does not allow is counted.
func (s *xmlScanner) decode(dst, piece []byte, limit int, references bool) ([]byte, error) {
	amp := references && bytes.IndexByte(piece, '&') >= 0
	if !amp && validChars(piece, true) && (len(dst) >= limit || bytes.IndexByte(piece, '\r') < 0) {
		if room := limit - len(dst); room > 0 {
			dst = append(dst, piece[:wholeRunes(piece, room)]...)
		}
		return dst, nil
	}
	for at := 0; at < len(piece); {
		r, size, ok := character(piece[at:], references)
		if !ok && piece[at] == '&' && size > 1 && s.doctype {
			s.pos += at
			return dst, s.fail(KindDoctype, "%s is an entity of a document type, which is not read", piece[at:at+size])
		}
		if !ok {
			if s.invalid == 0 {
				s.firstBad = s.line() + int64(bytes.Count(piece[:at], []byte("\n")))
			}
			s.invalid++
			if piece[at] == '&' && r != utf8.RuneError {
				size = 1 // the ampersand stands for itself, and so does what follows
			}
		}
		if len(dst) < limit {
			dst = utf8.AppendRune(dst, r)
		}
		at += size
	}
	return dst, nil
}

// character reads the character, reference or line end at the start of piece. If XML does not
// allow it, what stands for it is returned: U+FFFD, or the ampersand of an unknown reference,
// with the size of the whole.
func character(piece []byte, references bool) (r rune, size int, ok bool) {
	switch c := piece[0]; {
	case c == '&' && references:
		r, size, known := reference(piece)
		if !known {
			return '&', size, false
		}
		if !validRune(r) {
			return utf8.RuneError, size, false
		}
		return r, size, true
	case c == '\r':
		if len(piece) > 1 && piece[1] == '\n' {
			return '\n', 2, true
		}
		return '\n', 1, true
	}
	if size, ok := validChar(piece, true); !ok {
		return utf8.RuneError, size, false
	}
	r, size = utf8.DecodeRune(piece)
	return r, size, true
}

// wholeRunes returns the length of the shortest prefix of piece that has n bytes and cuts no
// character in two.
func wholeRunes(piece []byte, n int) int {
	if n >= len(piece) {
		return len(piece)
	}
	for n < len(piece) && !utf8.RuneStart(piece[n]) {
		n++
	}
	return n
}

// reference reads the reference at the start of piece. One that is not known has the size of
// its text, or 1 if it is no reference at all.
func reference(piece []byte) (r rune, size int, known bool) {
	end := bytes.IndexByte(piece[:min(len(piece), maxReference)], ';')
	if end < 2 {
		return 0, 1, false
	}
	size = end + 1
	switch name := string(piece[1:end]); {
	case name == "lt":
		return '<', size, true
	case name == "gt":
		return '>', size, true
	case name == "amp":
		return '&', size, true
	case name == "quot":
		return '"', size, true
	case name == "apos":
		return '\'', size, true
	case name[0] == '#':
		digits, base := name[1:], 10
		if len(digits) > 0 && digits[0] == 'x' {
			digits, base = digits[1:], 16
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if n > utf8.MaxRune {
			return 0, size, true // a number, but of no character: as forbidden as 0
		}
		return rune(n), size, err == nil
	case isNameStart(name[0]):
		for i := range len(name) {
			if !nameByte[name[i]] {
				return 0, 1, false
			}
		}
		return 0, size, false
	}
	return 0, 1, false
}
