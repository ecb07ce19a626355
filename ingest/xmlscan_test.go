package ingest

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// ourTokens writes down what xmlScanner finds in a document: one line for each start with its
// attributes, each end, and the text between.
func ourTokens(r io.Reader) (lines []string, invalid int64, err error) {
	s, err := newXMLScanner(bufio.NewReaderSize(r, 16), true)
	if err != nil {
		return nil, 0, err
	}
	for {
		s.collect(1 << 20)
		token, err := s.next()
		if len(s.text) > 0 {
			lines = append(lines, fmt.Sprintf("text %q", s.text))
		}
		switch {
		case err != nil:
			return lines, s.invalid, err
		case token == xmlEOF:
			return lines, s.invalid, nil
		case token == xmlEnd:
			lines = append(lines, fmt.Sprintf("end %s", s.name()))
			continue
		}
		var line strings.Builder
		fmt.Fprintf(&line, "start %s", s.name())
		for {
			name, err := s.attr()
			if err != nil {
				return lines, s.invalid, err
			}
			if name == nil {
				break
			}
			fmt.Fprintf(&line, " %s=", name)
			value, whole, err := s.value(1 << 20)
			if err != nil {
				return lines, s.invalid, err
			}
			fmt.Fprintf(&line, "%q,%v", value, whole)
		}
		lines = append(lines, line.String())
	}
}

// stdTokens does the same with encoding/xml.
func stdTokens(r io.Reader) (lines []string, err error) {
	dec := xml.NewDecoder(r)
	dec.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	var text []byte
	depth := 0
	for {
		token, err := dec.Token()
		_, isText := token.(xml.CharData)
		_, isComment := token.(xml.Comment)
		_, isInstruction := token.(xml.ProcInst)
		if len(text) > 0 && !isText && !isComment && !isInstruction {
			lines = append(lines, fmt.Sprintf("text %q", text))
			text = nil
		}
		if err == io.EOF {
			return lines, nil
		}
		if err != nil {
			return lines, err
		}
		switch token := token.(type) {
		case xml.CharData:
			if depth > 0 {
				text = append(text, token...)
			} else if len(bytes.Trim(token, " \t\r\n\ufeff")) > 0 {
				return lines, errors.New("text outside the root")
			}
		case xml.Directive:
			return lines, errors.New("a directive")
		case xml.StartElement:
			depth++
			var line strings.Builder
			line.WriteString("start " + token.Name.Local)
			for _, a := range token.Attr {
				fmt.Fprintf(&line, " %s=%q,true", a.Name.Local, a.Value)
			}
			lines = append(lines, line.String())
		case xml.EndElement:
			depth--
			lines = append(lines, "end "+token.Name.Local)
		}
	}
}

// checkXML compares the two on a document. What encoding/xml reads, xmlScanner reads in the
// same way; what xmlScanner reads without any complaint, encoding/xml reads as well, but for
// the liberties listed here.
func checkXML(t *testing.T, doc string) {
	t.Helper()
	ours, invalid, err := ourTokens(strings.NewReader(doc))
	slow, invalidSlow, errSlow := ourTokens(iotest.OneByteReader(strings.NewReader(doc)))
	if diff := cmp.Diff(ours, slow); diff != "" || (err == nil) != (errSlow == nil) || invalid > 0 != (invalidSlow > 0) {
		t.Fatalf("%q read at once and byte by byte differ (%v, %v; %d, %d invalid):\n%s", doc, err, errSlow, invalid, invalidSlow, diff)
	}
	std, stdErr := stdTokens(strings.NewReader(doc))
	if err == nil && stdErr == nil {
		if diff := cmp.Diff(std, ours); diff != "" {
			t.Fatalf("%q: tokens (-encoding/xml +ours):\n%s", doc, diff)
		}
	}
	if stdErr == nil && err != nil && !strict(err) {
		t.Fatalf("%q: encoding/xml reads it, we say %v", doc, err)
	}
	if stdErr != nil && err == nil && invalid == 0 && !liberal(doc, stdErr) {
		t.Fatalf("%q: we read it without complaint, encoding/xml says %v", doc, stdErr)
	}
}

// strict tells where xmlScanner refuses what encoding/xml reads: text and CDATA outside the
// root, even if all of it is white space by reference, and names that are too long.
func strict(err error) bool {
	for _, text := range []string{"outside the root", "a name of more than", "within each other"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// liberal tells where xmlScanner reads what encoding/xml refuses.
func liberal(doc string, err error) bool {
	for _, text := range []string{
		"a directive",                         // a document type without entities is skipped
		"]]> not in CDATA",                    // text of a careless writer
		"unescaped < inside quoted string",    // as well
		`invalid sequence "--" not allowed`,   // in a comment
		"xml: unsupported version",            // of XML
		"encoding",                            // stated in a declaration within the document
		"invalid XML name",                    // which letters beyond ASCII may be in a name
		"expected element name after <",       // a name of colons
		"expected attribute name in element",  // as well
		"expected target name after <?",       // instructions are skipped unread
		"closed by </",                        // a prefix bound by xmlns=""
		"invalid characters between </",       // a colon in a name
		"unexpected EOF",                      // in an instruction of one question mark
		"expected name",                       // in an instruction
		"invalid processing instruction name", // in an instruction
	} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return strings.Contains(doc, ":")
}

var xmlPieces = []string{
	"<a>", "</a>", "<b x=\"1\" y='2'>", "</b>", "<c/>", "<d z=\"a&lt;b&#65;&#x42;&amp;\"/>", "<e\n\tw = 'q\"q' />",
	"text", " ", "\n", "\r\n", "\r", "&lt;", "&gt;", "&quot;", "&apos;", "&#10;", "&#x1F600;", "&#0;", "&#xFFFF;",
	"&nbsp;", "&", "& ", "&;", "&#;", "&#x;", "]]", "]]>", "<![CDATA[", "<![CDATA[x<y&amp;]]>", "]]]]><![CDATA[>",
	"<!-- c -->", "<!--", "-->", "<?pi x?>", "<?xml version=\"1.0\"?>", "<!DOCTYPE a>", "é", "☕", "\x1b", "\x00", "\xff", "\xe2\x98",
	"<", ">", "/", "\"", "'", "=", "<a", "x=\"", "</", "<a:b>", "</a:b>", "<failure message=\"", "\">", "\ufffe", "\ufeff",
}

// TestXMLAgainstStandard compares xmlScanner with encoding/xml on documents put together at
// random, most of them broken. It must meet many that are whole.
func TestXMLAgainstStandard(t *testing.T) {
	rnd := rand.New(rand.NewSource(1))
	read := 0
	for range 50_000 {
		var doc strings.Builder
		if rnd.Intn(4) > 0 {
			doc.WriteString("<r>")
		}
		for range rnd.Intn(8) {
			doc.WriteString(xmlPieces[rnd.Intn(len(xmlPieces))])
		}
		if rnd.Intn(4) > 0 {
			doc.WriteString("</r>")
		}
		checkXML(t, doc.String())
		if _, err := stdTokens(strings.NewReader(doc.String())); err == nil {
			read++
		}
	}
	if read < 5_000 {
		t.Errorf("encoding/xml read %d of the documents, want at least 5000 for the test to mean something", read)
	}
}

func FuzzXMLAgainstStandard(f *testing.F) {
	for _, piece := range xmlPieces {
		f.Add("<r>" + piece + "</r>")
	}
	f.Fuzz(func(t *testing.T, doc string) {
		if len(doc) < 1<<16 {
			checkXML(t, doc)
		}
	})
}

// TestXMLAcrossBuffers moves a document over the end of the buffer, so that each of its bytes
// is once the last one in it.
func TestXMLAcrossBuffers(t *testing.T) {
	const doc = "<b x='a&lt;&#x41;é☕\r\n'>t&amp;☕\r\n<![CDATA[c]]]]><![CDATA[>☕\r]]><!-- - -- --><c/></b>"
	want, _, err := ourTokens(strings.NewReader("<r>" + doc + "</r>"))
	if err != nil {
		t.Fatal(err)
	}
	for pad := range len(doc) + 8 {
		for _, fill := range []string{"<!--" + strings.Repeat("x", xmlBuffer-7-len(doc)-3+pad) + "-->", strings.Repeat(" ", xmlBuffer-len(doc)+pad)} {
			// The padding is text or a comment; text is cut off before comparing.
			got, _, err := ourTokens(strings.NewReader("<r>" + fill + doc + "</r>"))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(got[1], "text") {
				got = append(got[:1], got[2:]...)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("padded with %d bytes (-want +got):\n%s", len(fill), diff)
			}
		}
	}
}
