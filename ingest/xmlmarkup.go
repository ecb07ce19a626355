package ingest

import "bytes"

// markup reads what begins with "<!": a comment, a CDATA section or a document type.
func (s *xmlScanner) markup() error {
	s.need(len("<![CDATA["))
	rest := s.buf[s.pos:]
	switch {
	case bytes.HasPrefix(rest, []byte("<!--")):
		s.pos += len("<!--")
		return s.skipPast("-->", "a comment")
	case bytes.HasPrefix(rest, []byte("<![CDATA[")):
		if s.depth() == 0 {
			return s.fail(KindNotAReport, "a CDATA section outside the root element")
		}
		s.pos += len("<![CDATA[")
		return s.cdata()
	case bytes.HasPrefix(rest, []byte("<!DOCTYPE")):
		if s.depth() > 0 {
			return s.fail(KindNotAReport, "a document type within an element")
		}
		s.pos += len("<!DOCTYPE")
		return s.documentType()
	case len(rest) < len("<![CDATA[") && (bytes.HasPrefix([]byte("<![CDATA["), rest) ||
		bytes.HasPrefix([]byte("<!DOCTYPE"), rest) || bytes.HasPrefix([]byte("<!--"), rest)):
		return s.end("a tag")
	}
	return s.fail(KindNotAReport, `unexpected "<!"`)
}

// skipPast skips everything up to and including the mark.
func (s *xmlScanner) skipPast(mark, within string) error {
	for {
		if i := bytes.Index(s.buf[s.pos:], []byte(mark)); i >= 0 {
			s.pos += i + len(mark)
			return nil
		}
		if s.err != nil {
			return s.end(within)
		}
		s.pos = max(s.pos, len(s.buf)-len(mark)+1)
		s.fill()
	}
}

// cdata reads the content of a CDATA section as text.
func (s *xmlScanner) cdata() error {
	for {
		i := bytes.Index(s.buf[s.pos:], []byte("]]>"))
		piece := s.buf[s.pos:]
		switch {
		case i >= 0:
			piece = piece[:i]
		case s.err != nil:
			return s.end("a CDATA section")
		default:
			piece = piece[:max(0, len(piece)-2)]
			piece = piece[:cutPoint(piece)]
		}
		if err := s.take(piece, false); err != nil {
			return err
		}
		s.pos += len(piece)
		if i >= 0 {
			s.pos += len("]]>")
			return nil
		}
		s.fill()
	}
}

// documentType skips a document type, and refuses one that declares entities: they are the
// way in which a small document grows without bound or reads other files.
func (s *xmlScanner) documentType() error {
	s.doctype = true
	brackets := 0
	for s.need(1) {
		switch c := s.buf[s.pos]; c {
		case '"', '\'':
			s.pos++
			if err := s.skipPast(string(rune(c)), "a document type"); err != nil {
				return err
			}
			continue
		case '[':
			brackets++
		case ']':
			brackets--
		case '<':
			s.need(len("<!ENTITY"))
			rest := s.buf[s.pos:]
			if bytes.HasPrefix(rest, []byte("<!ENTITY")) {
				return s.fail(KindDoctype, "a document type that declares entities is refused")
			}
			if bytes.HasPrefix(rest, []byte("<!--")) {
				s.pos += len("<!--")
				if err := s.skipPast("-->", "a document type"); err != nil {
					return err
				}
				continue
			}
			if bytes.HasPrefix(rest, []byte("<?")) {
				if err := s.skipPast("?>", "a document type"); err != nil {
					return err
				}
				continue
			}
		case '>':
			if brackets <= 0 {
				s.pos++
				return nil
			}
		}
		s.pos++
	}
	return s.end("a document type")
}
