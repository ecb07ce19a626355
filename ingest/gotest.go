package ingest

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// goStream reads the output of go test -json. Packages run side by side, so events of several
// sessions are interlaced, each in its own order. Only the tests that run at one time are
// remembered.
type goStream struct {
	out      *output
	line     int64
	sessions map[string]*goSession // the latest of each package
	latest   *goSession            // the one of the event before
	free     []*openTest           // for reuse
	scratch  []byte
}

// goSession is one test process.
type goSession struct {
	suite  string
	index  int // in Summary.Sessions
	ended  bool
	failed bool // this one or an earlier one of the package
	tests  map[string]*openTest
	opened int64 // tests opened so far

	failedTest bool   // a test failed, which explains that the package does
	build      Reason // ReasonBuild or ReasonSetup once the output says so
	crash      Reason // ReasonPanic or ReasonTimeout once the output says so
}

// openTest is a test that has started and not ended.
type openTest struct {
	name        string
	number      int64 // in order of start
	childFailed bool
	waiting     bool // paused, and not yet continued
	log         tail
}

// readGoTest reads a whole stream.
func readGoTest(in *bufio.Reader, out *output) error {
	g := &goStream{out: out, sessions: map[string]*goSession{}}
	for {
		line, err := in.ReadSlice('\n')
		if len(line) == 0 {
			if err != io.EOF {
				return err
			}
			return g.close()
		}
		g.line++
		if err == bufio.ErrBufferFull {
			err = g.longLine(in, line)
		} else if err == nil || err == io.EOF {
			err = g.wholeLine(line, err == io.EOF)
		}
		if err != nil {
			return err
		}
	}
}

// wholeLine reads a line that fits into the buffer.
func (g *goStream) wholeLine(line []byte, last bool) error {
	var e event
	if e.parse(line, false) {
		return g.event(&e)
	}
	g.noise(line, last)
	return nil
}

// longLine reads a line of which only the first part is at hand.
func (g *goStream) longLine(in *bufio.Reader, part []byte) error {
	var e event
	isEvent := e.parse(part, true)
	if isEvent { // before the buffer is overwritten
		if err := g.event(&e); err != nil {
			return err
		}
	}
	blank := len(bytes.TrimSpace(part)) == 0
	start := skipSpace(part, 0)
	object := !blank && part[start] == '{'
	end, err := skipLine(in)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case isEvent && end == '}', blank && end == 0:
	case object && err == io.EOF && end != '}':
		g.out.warn(WarnTruncatedLine, g.line)
	case !isEvent:
		g.ignore()
	}
	return nil
}

// noise notes a line that is no event.
func (g *goStream) noise(line []byte, last bool) {
	line = bytes.TrimLeft(line, " \t\r\n")
	switch {
	case len(line) == 0:
	case last && line[0] == '{':
		g.out.warn(WarnTruncatedLine, g.line)
	default:
		g.ignore()
	}
}

func (g *goStream) ignore() {
	g.out.sum.IgnoredLines++
	g.out.warn(WarnNonEventLines, g.line)
}

// event takes one event in.
func (g *goStream) event(e *event) error {
	if e.action == actionBuild || e.action == otherAction {
		return nil
	}
	s := g.session(e.pkg)
	if e.action == actionStart || s == nil || s.ended && e.action != actionOutput {
		var err error
		if s, err = g.start(e.pkg, s); err != nil {
			return err
		}
	}
	if len(e.test) == 0 {
		return g.packageEvent(s, e)
	}
	name := g.text(e.test)
	if bytes.HasPrefix(name, []byte("Benchmark")) {
		g.out.warn(WarnBenchmarksIgnored, g.line)
		if e.action == actionOutput {
			s.noteCrash(e.output)
		}
		return nil
	}
	switch e.action {
	case actionRun:
		return g.run(s, name)
	case actionPause, actionCont:
		if t := s.tests[string(name)]; t != nil {
			t.waiting = e.action == actionPause
		}
	case actionOutput:
		s.output(name, e.output)
	case actionPass:
		return g.end(s, name, Pass, e)
	case actionFail:
		return g.end(s, name, Fail, e)
	case actionSkip:
		return g.end(s, name, Skip, e)
	}
	return nil
}

// text returns what a JSON string says: raw itself, if nothing in it is escaped.
func (g *goStream) text(raw []byte) []byte {
	for _, c := range raw {
		if c == '\\' || c >= 0x80 {
			g.scratch = unquote(g.scratch[:0], raw, math.MaxInt)
			return g.scratch
		}
	}
	return raw
}

// session returns the latest session of a package, or nil.
func (g *goStream) session(pkg []byte) *goSession {
	pkg = g.text(pkg)
	if g.latest == nil || g.latest.suite != string(pkg) {
		if s := g.sessions[string(pkg)]; s != nil {
			g.latest = s
		} else {
			return nil
		}
	}
	return g.latest
}

// start begins a session of a package, after the one before.
func (g *goStream) start(pkg []byte, before *goSession) (*goSession, error) {
	s := &goSession{suite: string(g.text(pkg)), index: len(g.out.sum.Sessions), tests: map[string]*openTest{}}
	g.out.sum.Sessions = append(g.out.sum.Sessions, Session{Suite: s.suite})
	if before != nil {
		if !before.ended {
			if err := g.endSession(before, ReasonNoEnd); err != nil {
				return nil, err
			}
		}
		s.suite, s.failed = before.suite, before.failed
		g.out.sum.Sessions[s.index] = Session{Suite: s.suite, MayBeRetry: before.failed}
	}
	g.sessions[s.suite], g.latest = s, s
	return s, nil
}

// run begins a test.
func (g *goStream) run(s *goSession, name []byte) error {
	if t := s.tests[string(name)]; t != nil { // it began twice and has ended never
		if err := g.unfinished(s, t); err != nil {
			return err
		}
	}
	var t *openTest
	if n := len(g.free); n > 0 {
		t, g.free = g.free[n-1], g.free[:n-1]
		t.childFailed, t.waiting = false, false
		t.log.reset()
	} else {
		t = new(openTest)
	}
	t.name, t.number = string(name), s.opened
	s.opened++
	s.tests[t.name] = t
	return nil
}

// end ends a test. A result without a run event counts as well.
func (g *goStream) end(s *goSession, name []byte, outcome Outcome, e *event) error {
	t := s.tests[string(name)]
	if t == nil {
		t = &openTest{name: string(name)}
	} else {
		delete(s.tests, t.name)
	}
	r := Record{
		Test:     Test{Suite: s.suite, Name: t.name},
		Outcome:  outcome,
		Session:  s.index,
		Ordered:  true,
		Duration: seconds(string(e.elapsed)),
	}
	if at, err := time.Parse(time.RFC3339Nano, string(e.time)); err == nil {
		r.Time = at
	}
	if outcome == Fail {
		r.ChildFailed, r.Message = t.childFailed, t.log.text()
		s.failed, s.failedTest = true, true
		s.failParent(name)
	}
	g.free = append(g.free, t)
	return g.out.emit(r)
}

// failParent tells the nearest running ancestor of a test that failed. A subtest's own name
// may hold slashes, so the ancestor is the longest prefix that is running.
func (s *goSession) failParent(name []byte) {
	for {
		i := bytes.LastIndexByte(name, '/')
		if i < 0 {
			return
		}
		name = name[:i]
		if t := s.tests[string(name)]; t != nil {
			t.childFailed = true
			return
		}
	}
}

// unfinished hands out a test that began and will not end.
func (g *goStream) unfinished(s *goSession, t *openTest) error {
	delete(s.tests, t.name)
	g.out.warn(WarnUnfinishedTests, g.line)
	r := Record{
		Test:     Test{Suite: s.suite, Name: t.name},
		Outcome:  Unfinished,
		Session:  s.index,
		Ordered:  true,
		Waiting:  t.waiting,
		Duration: NoDuration,
		Message:  t.log.text(),
	}
	g.free = append(g.free, t)
	return g.out.emit(r)
}

// packageEvent takes in an event about the package as a whole.
func (g *goStream) packageEvent(s *goSession, e *event) error {
	switch e.action {
	case actionOutput:
		g.packageOutput(s, e.output)
	case actionPass, actionSkip:
		why := Reason("")
		if len(s.tests) > 0 {
			why = cmp.Or(s.crash, ReasonExit)
		}
		return g.endSession(s, why)
	case actionFail:
		why := s.build
		if why == "" && len(e.failedBuild) > 0 {
			why = ReasonBuild
		}
		if why == "" && (!s.failedTest || len(s.tests) > 0) {
			why = cmp.Or(s.crash, ReasonExit)
		}
		return g.endSession(s, why)
	}
	return nil
}

// packageOutput looks for what go test tells about a package in words only.
func (g *goStream) packageOutput(s *goSession, raw []byte) {
	g.scratch = unquote(g.scratch[:0], raw, 1<<10)
	text := string(g.scratch)
	info := &g.out.sum.Sessions[s.index]
	switch {
	case strings.HasPrefix(text, "ok  \t"+s.suite+"\t(cached)"):
		info.Cached = true
		g.out.warn(WarnCachedResults, g.line)
	case strings.HasPrefix(text, "FAIL\t"+s.suite+" [build failed]"):
		s.build = ReasonBuild
	case strings.HasPrefix(text, "FAIL\t"+s.suite+" [setup failed]"):
		s.build = ReasonSetup
	case strings.HasPrefix(text, "-test.shuffle "):
		if seed, err := strconv.ParseInt(strings.TrimSpace(text[len("-test.shuffle "):]), 10, 64); err == nil {
			info.Seed = seed
		}
	default:
		s.noteCrash(raw)
	}
}

// endSession hands out the tests that have not ended and notes why the suite failed, if
// there is a reason.
func (g *goStream) endSession(s *goSession, why Reason) error {
	s.ended = true
	open := make([]*openTest, 0, len(s.tests))
	for _, t := range s.tests {
		open = append(open, t)
	}
	slices.SortFunc(open, func(a, b *openTest) int { return cmp.Compare(a.number, b.number) })
	for _, t := range open {
		if err := g.unfinished(s, t); err != nil {
			return err
		}
	}
	s.tests = nil
	if why != "" {
		s.failed = true
		g.out.suiteFailed(s.suite, why)
	}
	return nil
}

// close ends the sessions that the stream left open, in order of their start.
func (g *goStream) close() error {
	var open []*goSession
	for _, s := range g.sessions {
		if !s.ended {
			open = append(open, s)
		}
	}
	slices.SortFunc(open, func(a, b *goSession) int { return cmp.Compare(a.index, b.index) })
	for _, s := range open {
		if err := g.endSession(s, ReasonNoEnd); err != nil {
			return err
		}
	}
	return nil
}
