package ingest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// xmlScanner reads XML from a stream, element by element, in constant memory. It is several
// times as fast as encoding/xml, because it looks only at what is asked for, and it reads
// what reports hold and XML forbids: control characters and their references, bytes that are
// not UTF-8, ampersands that stand for themselves. Those become U+FFFD or stay as they are, and
// are counted. It knows no entities but the five of XML, and opens nothing.
//
// After a start element, attr and value read its attributes; what is left of them is skipped.
// Text is kept only where collect asks for it.
type xmlScanner struct {
	in  io.Reader
	buf []byte // buf[pos:] is what was read and not yet looked at
	pos int
	err error // of in; io.EOF at the end

	passed   int64  // line feeds before buf
	names    []byte // of the open elements, one after the other
	starts   []int  // where each begins in names
	inTag    bool   // attributes are left
	inValue  bool   // the value of an attribute is left; pos is at its quote
	empty    bool   // the element closed itself, its end is still to be reported
	closed   bool   // the end of the innermost element was reported
	doctype  bool   // there was a document type
	scratch  []byte // the latest value
	text     []byte // what was collected
	room     int    // how many bytes of text to collect yet
	invalid  int64  // characters that XML does not allow
	firstBad int64  // line of the first
}

// xmlToken is what next found.
type xmlToken uint8

const (
	xmlEOF xmlToken = iota
	xmlStart
	xmlEnd
)

const (
	xmlBuffer  = 64 << 10
	xmlMaxName = 4 << 10 // bytes of the name of an element or attribute
	xmlMaxDeep = 10_000  // elements within each other
)

// newXMLScanner begins to read a document. Unless the encoding is known to be UTF-8, the one
// that the XML declaration names is used.
func newXMLScanner(in *bufio.Reader, known bool) (*xmlScanner, error) {
	s := &xmlScanner{in: in, buf: make([]byte, 0, xmlBuffer)}
	s.need(len("<?xml "))
	for s.pos < len(s.buf) && isSpace(s.buf[s.pos]) { // not allowed, but harmless
		s.pos++
		s.need(len("<?xml "))
	}
	if known || !bytes.HasPrefix(s.buf[s.pos:], []byte("<?xml")) {
		return s, nil
	}
	s.need(xmlMaxName)
	declaration, _, _ := bytes.Cut(s.buf[s.pos:], []byte("?>"))
	name := declaredEncoding(declaration)
	table, ok := charset(name)
	if !ok {
		return nil, s.fail(KindEncoding, "encoding %q is not read; convert the report to UTF-8", name)
	}
	if table != nil {
		rest := bytes.Clone(s.buf[s.pos:])
		s.in = &charsetReader{in: io.MultiReader(bytes.NewReader(rest), in), table: table}
		s.buf, s.pos, s.err = s.buf[:0], 0, nil
	}
	return s, nil
}

// depth is the number of open elements, with the one whose end next has just reported.
func (s *xmlScanner) depth() int { return len(s.starts) }

// name returns the name of the innermost open element without its prefix. It is valid until
// the next call of next.
func (s *xmlScanner) name() []byte {
	return localName(s.names[s.starts[len(s.starts)-1]:])
}

func localName(name []byte) []byte {
	if i := bytes.LastIndexByte(name, ':'); i > 0 && i < len(name)-1 {
		return name[i+1:]
	}
	return name
}

// line is the number of the current line.
func (s *xmlScanner) line() int64 {
	return s.passed + int64(bytes.Count(s.buf[:s.pos], []byte("\n"))) + 1
}

// fail makes the error for a document that cannot be read.
func (s *xmlScanner) fail(kind ErrorKind, format string, args ...any) error {
	return &Error{Line: s.line(), Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// end makes the error for a document that ends within something.
func (s *xmlScanner) end(within string) error {
	if s.err != io.EOF {
		return s.err
	}
	s.pos = len(s.buf)
	return s.fail(KindTruncated, "the document ends within %s", within)
}

// need tries to have n bytes at hand, which must not exceed the buffer.
func (s *xmlScanner) need(n int) bool {
	for len(s.buf)-s.pos < n {
		if s.err != nil {
			return false
		}
		s.fill()
	}
	return true
}

// fill reads more, at the expense of what was already looked at.
func (s *xmlScanner) fill() {
	if s.pos > 0 {
		s.passed += int64(bytes.Count(s.buf[:s.pos], []byte("\n")))
		s.buf = s.buf[:copy(s.buf, s.buf[s.pos:])]
		s.pos = 0
	}
	n, err := s.in.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	if err != nil {
		s.err = err
	}
}

// collect discards the text kept so far and keeps up to limit bytes of what follows.
func (s *xmlScanner) collect(limit int) {
	s.text, s.room = s.text[:0], limit
}

// next reads to the next start or end of an element. The end of an element that closes itself
// is reported as well. In both cases name is that of the element.
func (s *xmlScanner) next() (xmlToken, error) {
	for s.inTag {
		if _, err := s.attr(); err != nil {
			return 0, err
		}
	}
	if s.empty {
		s.empty, s.closed = false, true
		return xmlEnd, nil
	}
	if s.closed {
		last := len(s.starts) - 1
		s.names, s.starts = s.names[:s.starts[last]], s.starts[:last]
		s.closed = false
	}
	for {
		if err := s.characters(); err != nil {
			return 0, err
		}
		if !s.need(2) {
			if s.pos < len(s.buf) {
				return 0, s.end("a tag")
			}
			if s.err != io.EOF {
				return 0, s.err
			}
			if s.depth() > 0 {
				return 0, s.end("the element " + string(s.name()))
			}
			return xmlEOF, nil
		}
		switch s.buf[s.pos+1] {
		case '/':
			return xmlEnd, s.endTag()
		case '?':
			if err := s.skipPast("?>", "a processing instruction"); err != nil {
				return 0, err
			}
		case '!':
			if err := s.markup(); err != nil {
				return 0, err
			}
		default:
			return xmlStart, s.startTag()
		}
	}
}

// readName reads a name, which begins at pos.
func (s *xmlScanner) readName() ([]byte, error) {
	s.need(xmlMaxName)
	rest := s.buf[s.pos:]
	i := 0
	for i < len(rest) && nameByte[rest[i]] {
		i++
	}
	switch {
	case i == len(rest) && i < xmlMaxName:
		return nil, s.end("a name")
	case i >= xmlMaxName:
		return nil, s.fail(KindNotAReport, "a name of more than %d bytes", xmlMaxName)
	case i == 0 || !isNameStart(rest[0]):
		return nil, s.fail(KindNotAReport, "unexpected %q, where a name must stand", rest[:1])
	}
	s.pos += i
	return rest[:i], nil
}

// nameByte marks the bytes that names are made of.
var nameByte = func() (t [256]bool) {
	for c := range t {
		b := byte(c)
		t[c] = isNameStart(b) || b == '-' || b == '.' || '0' <= b && b <= '9'
	}
	return t
}()

// startTag reads the name of an element.
func (s *xmlScanner) startTag() error {
	s.pos++
	name, err := s.readName()
	if err != nil {
		return err
	}
	if s.depth() == xmlMaxDeep {
		return s.fail(KindNotAReport, "more than %d elements within each other", xmlMaxDeep)
	}
	s.starts = append(s.starts, len(s.names))
	s.names = append(s.names, name...)
	s.inTag = true
	return nil
}

// endTag reads the end of an element.
func (s *xmlScanner) endTag() error {
	s.pos += 2
	name, err := s.readName()
	if err != nil {
		return err
	}
	if s.depth() == 0 {
		return s.fail(KindNotAReport, "</%s> closes no element", name)
	}
	if open := s.names[s.starts[len(s.starts)-1]:]; !bytes.Equal(name, open) {
		return s.fail(KindNotAReport, "</%s> where </%s> must stand", name, open)
	}
	if c, err := s.skipSpace(); err != nil || c != '>' {
		return s.orUnexpected(err, "an end tag")
	}
	s.pos++
	s.closed = true
	return nil
}

func (s *xmlScanner) orUnexpected(err error, within string) error {
	if err != nil {
		return err
	}
	return s.fail(KindNotAReport, "unexpected %q in %s", s.buf[s.pos:s.pos+1], within)
}

// skipSpace skips white space within a tag and returns the byte at which it ends.
func (s *xmlScanner) skipSpace() (byte, error) {
	for {
		for s.pos < len(s.buf) {
			if c := s.buf[s.pos]; !isSpace(c) {
				return c, nil
			}
			s.pos++
		}
		if !s.need(1) {
			return 0, s.end("a tag")
		}
	}
}

// attr returns the name of the next attribute, without its prefix; nil after the last. It is
// valid until the next call.
func (s *xmlScanner) attr() ([]byte, error) {
	if s.inValue {
		if _, _, err := s.value(0); err != nil {
			return nil, err
		}
	}
	if !s.inTag {
		return nil, nil
	}
	c, err := s.skipSpace()
	if err != nil {
		return nil, err
	}
	switch c {
	case '>':
		s.pos++
		s.inTag = false
		return nil, nil
	case '/':
		if !s.need(2) {
			return nil, s.end("a tag")
		}
		if s.buf[s.pos+1] != '>' {
			return nil, s.fail(KindNotAReport, `unexpected "/" in a tag`)
		}
		s.pos += 2
		s.inTag, s.empty = false, true
		return nil, nil
	}
	name, err := s.readName()
	if err != nil {
		return nil, err
	}
	if s.pos+1 < len(s.buf) && s.buf[s.pos] == '=' && (s.buf[s.pos+1] == '"' || s.buf[s.pos+1] == '\'') {
		s.pos++
	} else {
		name = append(s.scratch[:0], name...) // the buffer may move
		s.scratch = name
		if c, err := s.skipSpace(); err != nil || c != '=' {
			return nil, s.orUnexpected(err, "a tag")
		}
		s.pos++
		if c, err := s.skipSpace(); err != nil || c != '"' && c != '\'' {
			return nil, s.orUnexpected(err, "a tag, where a quoted value must stand")
		}
	}
	s.inValue = true
	return localName(name), nil
}

// value returns the value of the attribute that attr found: the first limit bytes of it, or a
// little more, and whether that is all. It is valid until the next call.
func (s *xmlScanner) value(limit int) (value []byte, whole bool, err error) {
	quote := s.buf[s.pos]
	s.pos++
	s.inValue = false
	if i := bytes.IndexByte(s.buf[s.pos:], quote); i >= 0 {
		piece := s.buf[s.pos : s.pos+i]
		if plain(piece) {
			s.pos += i + 1
			return piece[:wholeRunes(piece, limit)], len(piece) <= limit, nil
		}
		s.scratch, err = s.decode(s.scratch[:0], piece, limit+1, true)
		s.pos += i + 1
		return s.scratch, len(s.scratch) <= limit, err
	}
	s.scratch = s.scratch[:0]
	for {
		i := bytes.IndexByte(s.buf[s.pos:], quote)
		piece := s.buf[s.pos:]
		if i >= 0 {
			piece = piece[:i]
		} else if s.err == nil {
			piece = piece[:cutPoint(piece)]
		}
		if s.scratch, err = s.decode(s.scratch, piece, limit+1, true); err != nil {
			return nil, false, err
		}
		s.pos += len(piece)
		if i >= 0 {
			s.pos++
			return s.scratch, len(s.scratch) <= limit, nil
		}
		if s.err != nil {
			return nil, false, s.end("a quoted value")
		}
		s.fill()
	}
}

// characters reads text up to the next "<" or the end of the input.
func (s *xmlScanner) characters() error {
	for {
		i := bytes.IndexByte(s.buf[s.pos:], '<')
		piece := s.buf[s.pos:]
		if i >= 0 {
			piece = piece[:i]
		} else if s.err == nil {
			piece = piece[:cutPoint(piece)]
		}
		if err := s.take(piece, true); err != nil {
			return err
		}
		s.pos += len(piece)
		if i >= 0 || s.err != nil {
			return nil
		}
		s.fill()
	}
}

// take checks a piece of text, which begins at pos, and keeps it if that was asked for.
func (s *xmlScanner) take(piece []byte, references bool) error {
	if len(piece) == 0 {
		return nil
	}
	if s.depth() == 0 {
		if other := bytes.TrimLeft(piece, " \t\r\n\ufeff"); len(other) > 0 { // the mark begins the next of several documents
			s.pos += len(piece) - len(other)
			return s.fail(KindNotAReport, "text outside the root element")
		}
		return nil
	}
	before := len(s.text)
	var err error
	if s.text, err = s.decode(s.text, piece, before+s.room, references); err != nil {
		return err
	}
	s.room = max(0, s.room-(len(s.text)-before))
	return nil
}
