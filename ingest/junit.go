package ingest

import (
	"bufio"
	"bytes"
	"strings"
	"time"
)

// junit reads JUnit XML. There is no standard for it; the dialects agree on nested testsuite
// elements with testcase elements in them, and differ in all else.
type junit struct {
	out    *output
	xml    *xmlScanner
	suites []suite // from the root inwards
	depth  int     // how many of suites are in use
	tests  identities
	test   testcase
	class  string // the latest
}

// suite is an open testsuite or testsuites element.
type suite struct {
	chain    string // the names of this and the enclosing suites
	hash     uint64 // of those names with their repetition indices
	host     string
	at       time.Time
	repeated bool // the name, or an enclosing one, has a repetition index
	declared [4]int64
	counted  suiteCounts
}

// maxIdentity is how long a name may be, in bytes. What is longer cannot be told apart from
// others in bounded memory, so the report is refused.
const maxIdentity = 1 << 20

// readJUnit reads a whole file, which may hold several documents one after the other.
func readJUnit(in *bufio.Reader, known bool, out *output) error {
	xml, err := newXMLScanner(in, known)
	if err != nil {
		return err
	}
	j := &junit{out: out, xml: xml}
	out.sum.Sessions = []Session{{}}
	if err := j.documents(); err != nil {
		return err
	}
	if n := j.tests.repeated(); n > 0 {
		out.warnTimes(WarnDuplicateTestcase, n, 0)
		out.sum.RepeatsUnclear = true
	}
	if xml.invalid > 0 {
		out.warnTimes(WarnInvalidCharacters, xml.invalid, xml.firstBad)
	}
	return nil
}

// documents reads all root elements.
func (j *junit) documents() error {
	roots := 0
	for {
		token, err := j.xml.next()
		switch {
		case err != nil:
			return err
		case token == xmlEOF && roots == 0:
			return j.xml.end("its prologue, before any element")
		case token == xmlEOF:
			return nil
		case token == xmlEnd:
			if j.depth > 0 {
				j.endSuite()
			}
			continue
		}
		name := string(j.xml.name())
		if j.xml.depth() == 1 {
			if name != "testsuites" && name != "testsuite" {
				return j.xml.fail(KindNotAReport, "the root element is <%s>; JUnit XML has <testsuites> or <testsuite>", name)
			}
			if roots++; roots == 2 {
				j.out.warn(WarnMultipleRoots, j.xml.line())
			}
		}
		switch name {
		case "testsuites", "testsuite":
			err = j.startSuite(name == "testsuite")
		case "testcase":
			err = j.testcase()
		default: // properties, system-out and the like
			err = j.skip()
		}
		if err != nil {
			return err
		}
	}
}

// skip reads to the end of the current element.
func (j *junit) skip() error {
	depth := j.xml.depth()
	for {
		token, err := j.xml.next()
		if err != nil {
			return err
		}
		if token == xmlEnd && j.xml.depth() == depth {
			return nil
		}
	}
}

// startSuite reads the attributes of a suite. The name of a testsuites element is that of the
// report, and no part of an identity.
func (j *junit) startSuite(named bool) error {
	s := j.push()
	for {
		name, err := j.xml.attr()
		if err != nil || name == nil {
			return err
		}
		switch string(name) {
		case "name":
			value, err := j.identity()
			if err != nil {
				return err
			}
			if named && len(value) > 0 {
				s.enter(value)
			}
		case "hostname":
			err = j.short(func(v []byte) { s.host = string(v) })
		case "timestamp":
			err = j.short(func(v []byte) { s.at = parseTime(v) })
		case "tests":
			err = j.short(func(v []byte) { s.declared[totalTests] = parseTotal(v) })
		case "failures":
			err = j.short(func(v []byte) { s.declared[totalFailures] = parseTotal(v) })
		case "errors":
			err = j.short(func(v []byte) { s.declared[totalErrors] = parseTotal(v) })
		case "skipped", "skip", "skips":
			err = j.short(func(v []byte) { s.declared[totalSkipped] = parseTotal(v) })
		}
		if err != nil {
			return err
		}
	}
}

// push makes a suite within the current one.
func (j *junit) push() *suite {
	if j.depth == len(j.suites) {
		j.suites = append(j.suites, suite{})
	}
	s := &j.suites[j.depth]
	*s = suite{declared: [4]int64{-1, -1, -1, -1}}
	if j.depth > 0 {
		outer := &j.suites[j.depth-1]
		s.chain, s.hash, s.host, s.at, s.repeated = outer.chain, outer.hash, outer.host, outer.at, outer.repeated
	}
	j.depth++
	return s
}

// enter adds a name to the chain of a suite.
func (s *suite) enter(name []byte) {
	s.hash = hashBytes(s.hash, name)
	plain := withoutIndex(name)
	s.repeated = s.repeated || len(plain) < len(name)
	if s.chain == "" {
		s.chain = string(plain)
	} else {
		s.chain += chainMark + string(plain)
	}
}

// chainMark stands between the names of nested suites and subtests.
const chainMark = " > "

// withoutIndex drops the suffix @stress-N, with which nextest numbers repetitions.
func withoutIndex(name []byte) []byte {
	const mark = "@stress-"
	i := bytes.LastIndex(name, []byte(mark))
	if i < 0 || i+len(mark) == len(name) {
		return name
	}
	for _, c := range name[i+len(mark):] {
		if c < '0' || c > '9' {
			return name
		}
	}
	return name[:i]
}

// endSuite checks the totals of the innermost suite and adds what it holds to the outer one.
func (j *junit) endSuite() {
	j.depth--
	s := &j.suites[j.depth]
	if !s.counted.agree(&s.declared) {
		j.out.warn(WarnCountMismatch, j.xml.line())
	}
	if j.depth > 0 {
		j.suites[j.depth-1].counted.addNested(&s.counted)
	}
}

// identity reads an attribute that is part of what identifies a test.
func (j *junit) identity() ([]byte, error) {
	value, whole, err := j.xml.value(maxIdentity)
	if err == nil && !whole {
		err = j.xml.fail(KindNotAReport, "a name of more than %d bytes", maxIdentity)
	}
	return value, err
}

// short reads an attribute of which the first bytes are enough.
func (j *junit) short(use func([]byte)) error {
	value, _, err := j.xml.value(256)
	if err == nil {
		use(value)
	}
	return err
}

// parseTime reads the time stamps that JUnit files hold: RFC 3339, or the same without a zone,
// which is taken as UTC. Others give the zero time.
func parseTime(v []byte) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
		if t, err := time.Parse(layout, string(v)); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// parseSeconds reads a duration. Some tools write it the way their user's language does:
// "1,204.317", "1.204,317" or "0,5".
func parseSeconds(v []byte) time.Duration {
	s := strings.TrimSpace(string(v))
	comma, point := strings.LastIndexByte(s, ','), strings.LastIndexByte(s, '.')
	switch {
	case comma < 0:
	case point > comma: // commas group thousands
		s = strings.ReplaceAll(s, ",", "")
	case point >= 0 || strings.Count(s, ",") == 1 && (len(s)-comma != 4 || strings.HasPrefix(s, "0,")): // a decimal comma
		s = strings.Replace(strings.ReplaceAll(s, ".", ""), ",", ".", 1)
	default:
		s = strings.ReplaceAll(s, ",", "")
	}
	return seconds(s)
}
