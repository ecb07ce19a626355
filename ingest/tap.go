package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"strconv"
	"strings"
	"time"
)

// tap reads the Test Anything Protocol, versions 13 and 14
// (https://testanything.org/tap-version-14-specification.html). A subtest is indented by four
// spaces and its parent's point, which names it, comes last; so the points of a subtest are
// held until their parent is known. node-tap also writes the parent first, with a brace.
type tap struct {
	out     *output
	line    int64
	tests   identities
	levels  []*tapLevel // from the outermost to the innermost open one
	last    *tapPoint   // the latest point, which may get diagnostics yet
	yaml    int         // the indentation of the open YAML block; -1 if there is none
	bailed  bool
	started bool // a point or a plan was seen since the last version line
}

// tapLevel is one stream of points: the whole, or a subtest.
type tapLevel struct {
	name    string     // from the comment "# Subtest: name", for want of a parent
	parent  *tapPoint  // the point with the opening brace, if that came first
	held    []tapPoint // whose parent is not known yet
	planned int64      // -1 without a plan
	early   bool       // the plan came before the points
	points  int64
	failed  bool
}

// tapPoint is one result.
type tapPoint struct {
	depth       int   // of its level
	number      int64 // 0 if it has none
	name        string
	outcome     Outcome
	duration    time.Duration
	childFailed bool
	message     []byte // diagnostics
	open        bool   // an opening brace ends the line
}

// readTAP reads one or several streams, one after the other.
func readTAP(in *bufio.Reader, out *output) error {
	t := &tap{out: out, yaml: -1, levels: []*tapLevel{newLevel()}}
	out.sum.Sessions = []Session{{}}
	for !t.bailed {
		line, err := in.ReadSlice('\n')
		if len(line) == 0 && err != nil {
			if err != io.EOF {
				return err
			}
			break
		}
		t.line++
		if err == bufio.ErrBufferFull {
			line = bytes.Clone(line[:maxTAPLine])
			if _, err = skipLine(in); err != nil && err != io.EOF {
				return err
			}
		} else if err != nil && err != io.EOF {
			return err
		}
		if err := t.readLine(bytes.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	if err := t.endStream(); err != nil {
		return err
	}
	if n := t.tests.repeated(); n > 0 {
		out.warnTimes(WarnDuplicateTestcase, n, 0)
		out.sum.RepeatsUnclear = true
	}
	return nil
}

// maxTAPLine is how much is read of a line longer than window, in bytes.
const maxTAPLine = 64 << 10

func newLevel() *tapLevel { return &tapLevel{planned: -1} }

// readLine takes one line in.
func (t *tap) readLine(line []byte) error {
	text := bytes.TrimLeft(line, " ")
	indent := len(line) - len(text)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	if t.yaml >= 0 {
		if indent >= t.yaml {
			t.yamlLine(text, indent)
			return nil
		}
		t.yaml = -1 // it never ended; this line is none of it
	}
	if t.last != nil && indent > 4*t.last.depth && bytes.HasPrefix(text, []byte("---")) {
		t.yaml = indent
		return nil
	}
	if indent%4 != 0 {
		return nil
	}
	depth := indent / 4
	if depth > maxTAPDepth {
		return nil
	}
	text = bytes.TrimRight(text, " \t")
	if bytes.HasPrefix(text, []byte("Bail out!")) {
		t.bailed = true
		t.out.warn(WarnBailOut, t.line)
		t.out.suiteFailed("", ReasonBailOut)
		return nil
	}
	if _, ok := tapVersion(text); ok && depth == 0 && t.started {
		return t.endStream()
	}
	if planned, _, ok := tapPlan(text); ok {
		return t.plan(depth, planned)
	}
	if text[0] == '#' {
		return t.comment(depth, bytes.TrimSpace(text[1:]))
	}
	if string(text) == "}" {
		return t.closeBrace(depth)
	}
	if p, ok := parsePoint(text); ok {
		return t.point(depth, p)
	}
	return nil // what the program printed besides
}

// maxTAPDepth bounds how deep subtests may nest; what is indented further is no TAP.
const maxTAPDepth = 100

// level returns the open level of a depth. Deeper ones are opened, with subtests that have no
// points of their own between.
func (t *tap) level(depth int) *tapLevel {
	for len(t.levels) <= depth {
		t.levels = append(t.levels, newLevel())
	}
	return t.levels[depth]
}

// plan notes how many points a level says it has.
func (t *tap) plan(depth int, planned int64) error {
	if err := t.flush(); err != nil {
		return err
	}
	t.started = true
	l := t.level(depth)
	if l.planned >= 0 {
		t.out.warn(WarnPlanMismatch, t.line)
	}
	l.planned, l.early = planned, l.points == 0
	return nil
}

// comment reads a diagnostic, or the name of a subtest that is to come.
func (t *tap) comment(depth int, text []byte) error {
	name, ok := bytes.CutPrefix(text, []byte("Subtest: "))
	if !ok {
		t.diagnostic(text)
		return nil
	}
	if err := t.flush(); err != nil {
		return err
	}
	t.level(depth + 1).name = validName(unescapeTAP(name))
	return nil
}

// diagnostic adds a line to what the latest point says about its failure.
func (t *tap) diagnostic(text []byte) {
	p := t.last
	if p == nil || p.outcome != Fail || len(p.message) >= MaxMessage {
		return
	}
	if len(p.message) > 0 {
		p.message = append(p.message, '\n')
	}
	p.message = append(p.message, text...)
}

// yamlLine reads a line of the YAML block that describes the latest point.
func (t *tap) yamlLine(text []byte, indent int) {
	if indent == t.yaml && bytes.Equal(bytes.TrimSpace(text), []byte("...")) {
		t.yaml = -1
		return
	}
	if indent == t.yaml {
		if v, ok := bytes.CutPrefix(text, []byte("duration_ms:")); ok {
			if ms := seconds(string(bytes.TrimSpace(v))); ms != NoDuration {
				t.last.duration = ms / 1000
			}
			return
		}
	}
	t.diagnostic(text)
}

// point takes in a result. What is held of deeper levels is its subtests'.
func (t *tap) point(depth int, p tapPoint) error {
	if err := t.flush(); err != nil {
		return err
	}
	t.started = true
	p.depth = depth
	l := t.level(depth)
	l.points++
	l.failed = l.failed || p.outcome == Fail
	if p.name == "" {
		p.name = "#" + strconv.FormatInt(cmp.Or(p.number, l.points), 10)
	}
	t.last = &p
	return t.fold(depth, &p)
}

// flush hands on the latest point, about which no more is said.
func (t *tap) flush() error {
	p := t.last
	t.last, t.yaml = nil, -1
	switch {
	case p == nil:
		return nil
	case p.open:
		t.level(p.depth + 1).parent = p
		return nil
	}
	return t.deliver(p.depth, p)
}

// closeBrace ends the subtests of a point that ended with an opening brace.
func (t *tap) closeBrace(depth int) error {
	if err := t.flush(); err != nil {
		return err
	}
	if len(t.levels) > depth+1 && t.levels[depth+1].parent != nil {
		return t.fold(depth, nil)
	}
	return nil
}

// fold closes the levels below a depth. The points on the one just below belong to p, if p is
// given and no point with a brace claims them. Points without a parent keep the name of their
// subtest, if a comment gave it.
func (t *tap) fold(depth int, p *tapPoint) error {
	for i := len(t.levels) - 1; i > depth; i-- {
		l := t.levels[i]
		t.levels = t.levels[:i]
		owner := l.parent
		if owner == nil && i == depth+1 {
			owner = p
		}
		name := l.name
		if owner != nil {
			name = owner.name
			owner.childFailed = owner.childFailed || owner.outcome == Fail && l.failed
		}
		if l.planned >= 0 && l.planned != l.points {
			t.out.warn(WarnPlanMismatch, t.line)
		}
		for k := range l.held {
			child := &l.held[k]
			if name != "" {
				child.name = name + chainMark + child.name
			}
			if err := t.deliver(i-1, child); err != nil {
				return err
			}
		}
		if l.parent != nil {
			if err := t.deliver(i-1, l.parent); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliver hands out a point of the outermost level, and holds one of a subtest.
func (t *tap) deliver(depth int, p *tapPoint) error {
	if depth > 0 {
		t.levels[depth].held = append(t.levels[depth].held, *p)
		return nil
	}
	t.tests.add(hashBytes(0, []byte(p.name)))
	return t.out.emit(Record{
		Test:        Test{Name: p.name},
		Outcome:     p.outcome,
		Ordered:     true,
		ChildFailed: p.childFailed,
		Duration:    p.duration,
		Message:     strings.ToValidUTF8(string(p.message[:min(len(p.message), MaxMessage)]), "\ufffd"),
	})
}

// endStream ends a stream, at the end of the input or before another. One without a plan, or
// with fewer points than planned beforehand, has stopped before its end.
func (t *tap) endStream() error {
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.fold(0, nil); err != nil {
		return err
	}
	top := t.levels[0]
	t.levels[0], t.started = newLevel(), false
	if t.bailed || top.planned == top.points {
		return nil
	}
	t.out.warn(WarnPlanMismatch, t.line)
	if top.planned < 0 || top.early && top.points < top.planned {
		t.out.suiteFailed("", ReasonNoEnd)
	}
	return nil
}
