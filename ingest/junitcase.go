package ingest

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// testcase is the testcase element being read. Its memory is used again for the next.
type testcase struct {
	name, class, oldClass []byte // oldClass is the attribute class
	hasClass              bool   // the attribute classname is there
	duration              time.Duration
	at                    time.Time
	marked                Outcome // by attributes: Skip, Fail, or Pass for neither

	failures, errors int
	skipped          bool
	warned           bool      // a warning element, which some count as a failure
	flakyEnd         bool      // a failure of type "flaky failure" stands beside failed attempts
	first            attempt   // the failure or error
	flaky            []attempt // failed attempts before a pass
	rerun            []attempt // failed attempts after the first failure
	message          []byte    // scratch
}

// attempt is one failed attempt.
type attempt struct {
	message  string
	duration time.Duration
	at       time.Time
}

// testcase reads a testcase element and hands out its attempts.
func (j *junit) testcase() error {
	c := &j.test
	*c = testcase{
		name: c.name[:0], class: c.class[:0], oldClass: c.oldClass[:0],
		flaky: c.flaky[:0], rerun: c.rerun[:0], message: c.message,
		duration: NoDuration,
	}
	if err := j.attributes(c); err != nil {
		return err
	}
	depth := j.xml.depth()
	for {
		token, err := j.xml.next()
		if err != nil {
			return err
		}
		if token == xmlEnd {
			if j.xml.depth() == depth {
				return j.finish(c)
			}
			continue
		}
		if err := j.part(c, string(j.xml.name())); err != nil {
			return err
		}
	}
}

// attributes reads the attributes of a testcase.
func (j *junit) attributes(c *testcase) error {
	for {
		name, err := j.xml.attr()
		if err != nil || name == nil {
			return err
		}
		var target *[]byte
		switch string(name) {
		case "name":
			target = &c.name
		case "classname":
			target, c.hasClass = &c.class, true
		case "class":
			target = &c.oldClass
		case "time":
			err = j.short(func(v []byte) { c.duration = parseSeconds(v) })
		case "timestamp":
			err = j.short(func(v []byte) { c.at = parseTime(v) })
		case "status", "result":
			err = j.short(func(v []byte) { c.marked = max(c.marked, statusOf(v)) })
		}
		if target != nil {
			var value []byte
			value, err = j.identity()
			*target = append((*target)[:0], value...)
		}
		if err != nil {
			return err
		}
	}
}

// statusOf reads the attributes status (CTest, Google Test) and result (Google Test), which
// say what other dialects say by an element.
func statusOf(v []byte) Outcome {
	switch strings.ToLower(string(v)) {
	case "notrun", "disabled", "skipped", "suppressed", "ignored":
		return Skip
	case "fail", "failed", "failure", "error":
		return Fail
	}
	return Pass
}

// part reads an element within a testcase.
func (j *junit) part(c *testcase, name string) error {
	var to *attempt
	switch name {
	case "failure", "error":
		if name == "failure" {
			c.failures++
		} else {
			c.errors++
		}
		if c.failures+c.errors > 1 {
			break // several are one failure; the first tells why
		}
		to = &c.first
	case "flakyFailure", "flakyError":
		c.flaky = append(c.flaky, attempt{})
		to = &c.flaky[len(c.flaky)-1]
	case "rerunFailure", "rerunError":
		c.rerun = append(c.rerun, attempt{})
		to = &c.rerun[len(c.rerun)-1]
	case "skipped", "disabled":
		c.skipped = true
	case "warning":
		c.warned = true
	}
	if to == nil {
		return j.skip()
	}
	return j.failure(c, to, name == "failure")
}

// failure reads an element that describes a failed attempt: what it says is in the attribute
// message, in the attribute type, in its text, or in a stackTrace within it.
func (j *junit) failure(c *testcase, to *attempt, final bool) error {
	to.duration = NoDuration
	var kind string
	c.message = c.message[:0]
	for {
		name, err := j.xml.attr()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		switch string(name) {
		case "message":
			var value []byte
			value, _, err = j.xml.value(MaxMessage)
			c.message = append(c.message, value...)
		case "type":
			err = j.short(func(v []byte) { kind = string(v) })
		case "time":
			err = j.short(func(v []byte) { to.duration = parseSeconds(v) })
		case "timestamp":
			err = j.short(func(v []byte) { to.at = parseTime(v) })
		}
		if err != nil {
			return err
		}
	}
	if final && kind == "flaky failure" {
		c.flakyEnd = true
	}
	text, err := j.failureText()
	if err != nil {
		return err
	}
	to.message = joinMessage(c.message, text, kind)
	return nil
}

// failureText collects the text of a failure up to its end.
func (j *junit) failureText() ([]byte, error) {
	depth := j.xml.depth()
	j.xml.collect(2 * MaxMessage)
	for {
		token, err := j.xml.next()
		if err != nil {
			return nil, err
		}
		switch name := j.xml.name(); {
		case token == xmlEnd && j.xml.depth() == depth:
			text := j.xml.text
			j.xml.collect(0)
			return text, nil
		case token == xmlStart && string(name) != "stackTrace":
			room := j.xml.room
			j.xml.room = 0
			if err := j.skip(); err != nil {
				return nil, err
			}
			j.xml.room = room
		}
	}
}

// joinMessage makes one message of what a failure says. A text that repeats the message
// stands alone.
func joinMessage(message, text []byte, kind string) string {
	message, text = bytes.TrimSpace(message), bytes.TrimSpace(text)
	var s string
	switch {
	case len(message) == 0 && len(text) == 0:
		s = kind
	case bytes.Contains(text, message):
		s = string(text)
	case len(text) == 0:
		s = string(message)
	default:
		s = string(message) + "\n" + string(text)
	}
	if len(s) > MaxMessage {
		s = strings.ToValidUTF8(s[:MaxMessage], "")
	}
	return s
}

// finish hands out the attempts of a testcase.
func (j *junit) finish(c *testcase) error {
	top := suite{} // of a testcase outside all suites
	s := &top
	if j.depth > 0 {
		s = &j.suites[j.depth-1]
	}
	class := c.class
	if !c.hasClass {
		class = c.oldClass
	}
	if !c.hasClass || len(class) == 0 {
		j.out.warn(WarnMissingClassname, j.xml.line())
	}
	j.tests.add(hashBytes(hashBytes(s.hash, class), c.name))
	plainClass := withoutIndex(class)
	r := Record{
		Test:     Test{Suite: s.chain, Class: j.intern(plainClass), Name: string(c.name)},
		Ordered:  s.repeated || len(plainClass) < len(class),
		Duration: c.duration,
		Time:     c.at,
		Host:     s.host,
	}
	if r.Time.IsZero() {
		r.Time = s.at
	}
	failed := c.failures+c.errors > 0
	skipped := !failed && (c.skipped || c.marked == Skip)
	s.counted.add(c, skipped)
	switch {
	case len(c.flaky) > 0:
		return j.retried(c, r, failed && !c.flakyEnd)
	case failed || len(c.rerun) > 0 || !skipped && c.marked == Fail:
		r.Outcome, r.Message = Fail, c.first.message
		if err := j.out.emit(r); err != nil {
			return err
		}
		return j.failedAttempts(c.rerun, r, 1)
	case skipped:
		r.Outcome = Skip
	}
	return j.out.emit(r)
}

// retried hands out a test that failed at first and passed in the end, or was given up.
func (j *junit) retried(c *testcase, last Record, failed bool) error {
	before := append(c.flaky, c.rerun...)
	if err := j.failedAttempts(before, last, 0); err != nil {
		return err
	}
	last.Attempt = len(before)
	if failed {
		last.Outcome, last.Message = Fail, c.first.message
	}
	j.out.warn(WarnRetriesPresent, j.xml.line())
	return j.out.emit(last)
}

// failedAttempts hands out failed attempts of a test, numbered from the given one.
func (j *junit) failedAttempts(attempts []attempt, r Record, number int) error {
	r.Outcome = Fail
	for _, a := range attempts {
		r.Attempt, r.Message, r.Duration = number, a.message, a.duration
		if !a.at.IsZero() {
			r.Time = a.at
		}
		if number > 0 {
			j.out.warn(WarnRetriesPresent, j.xml.line())
		}
		if err := j.out.emit(r); err != nil {
			return err
		}
		number++
	}
	return nil
}

// intern returns class as a string. Testcases of one class mostly follow each other.
func (j *junit) intern(class []byte) string {
	if j.class != string(class) {
		j.class = string(class)
	}
	return j.class
}

// Indices of the totals a suite declares.
const (
	totalTests = iota
	totalFailures
	totalErrors
	totalSkipped
)

// parseTotal reads a total; -1 if it is none.
func parseTotal(v []byte) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(string(v)), 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// suiteCounts is what a suite holds. Dialects differ in what they count as a failure or an
// error, so for these it is the smallest and the largest number that can be meant.
type suiteCounts struct {
	direct   int64 // testcases in the suite itself
	tests    int64 // and in those within it
	retries  int64
	failures span
	errors   span
	skipped  span
}

type span struct{ least, most int64 }

func (s *span) add(o span)        { s.least, s.most = s.least+o.least, s.most+o.most }
func (s span) holds(n int64) bool { return n < 0 || s.least <= n && n <= s.most }

// add counts a testcase.
func (n *suiteCounts) add(c *testcase, skipped bool) {
	n.direct++
	n.tests++
	attempts := int64(len(c.flaky) + len(c.rerun))
	n.retries += attempts
	failures, errors := int64(c.failures), int64(c.errors)
	if c.marked == Fail || c.warned {
		n.failures.most++
		n.errors.most++
	}
	n.failures.add(span{toInt(failures > 0 && errors == 0 && !c.flakyEnd), failures + attempts})
	n.errors.add(span{toInt(errors > 0 && failures == 0), errors + attempts})
	n.skipped.add(span{toInt(skipped && c.skipped), toInt(skipped || c.skipped)})
}

func toInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// addNested counts a suite within this one.
func (n *suiteCounts) addNested(o *suiteCounts) {
	n.tests += o.tests
	n.retries += o.retries
	n.failures.add(o.failures)
	n.errors.add(o.errors)
	n.skipped.add(o.skipped)
}

// agree reports whether the declared totals can be meant for what was counted. Some writers
// count nested suites in, some do not; some count retries as tests.
func (n *suiteCounts) agree(declared *[4]int64) bool {
	tests := declared[totalTests]
	return (tests < 0 || tests == n.direct || tests == n.tests || tests == n.tests+n.retries) &&
		n.failures.holds(declared[totalFailures]) && n.errors.holds(declared[totalErrors]) &&
		n.skipped.holds(declared[totalSkipped])
}
