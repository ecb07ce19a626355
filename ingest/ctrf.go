package ingest

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"
)

// ctrf reads the Common Test Report Format (https://ctrf.io, specification 0.0 to 1.x). The
// document is read token by token, and its tests one by one; what this package does not count
// may be there or not.
type ctrf struct {
	out      *output
	dec      *json.Decoder
	tests    identities
	declared *ctrfSummary
	counted  ctrfSummary
}

// ctrfSummary is the summary of a report, as far as it is checked.
type ctrfSummary struct {
	Tests   *int64
	Passed  *int64
	Failed  *int64
	Skipped *int64
	Pending *int64
	Other   *int64
}

// ctrfTest is one entry of results.tests. Durations and times are in milliseconds, the times
// since 1970.
type ctrfTest struct {
	Name     string
	Status   string
	Duration *float64
	Start    float64
	Suite    ctrfSuite
	FilePath string
	Message  string
	Trace    string
	Retries  int64
	Flaky    bool
	Attempts []ctrfAttempt `json:"retryAttempts"`
}

// ctrfAttempt is one attempt at a test that was retried. Attempt 1 is the first.
type ctrfAttempt struct {
	Attempt  int64
	Status   string
	Duration *float64
	Start    float64
	Message  string
	Trace    string
}

// ctrfSuite is the chain of suites: a list of names, or one string in older reports.
type ctrfSuite string

// UnmarshalJSON reads either form.
func (s *ctrfSuite) UnmarshalJSON(data []byte) error {
	var names []string
	if json.Unmarshal(data, &names) == nil {
		*s = ctrfSuite(strings.Join(names, chainMark))
		return nil
	}
	return json.Unmarshal(data, (*string)(s))
}

// maxRetries bounds what a report may claim, so that a wrong number does not make up attempts
// without end.
const maxRetries = 1000

// readCTRF reads a whole document.
func readCTRF(in *bufio.Reader, out *output) error {
	c := &ctrf{out: out, dec: json.NewDecoder(in)}
	out.sum.Sessions = []Session{{}}
	found := false
	err := c.object(func(key string) error {
		if key != "results" {
			return c.skip()
		}
		found = true
		return c.object(c.results)
	})
	if err == nil {
		if _, after := c.dec.Token(); after == nil {
			err = c.fail("something follows the document")
		} else if after != io.EOF {
			err = after
		}
	}
	if err == nil && !found {
		err = c.fail(`the document has no "results"`)
	}
	if err != nil {
		return c.damage(err)
	}
	if c.declared != nil && !c.declared.agrees(&c.counted) {
		out.warn(WarnCountMismatch, 0)
	}
	if n := c.tests.repeated(); n > 0 {
		out.warnTimes(WarnDuplicateTestcase, n, 0)
		out.sum.RepeatsUnclear = true
	}
	return nil
}

func (c *ctrf) fail(text string) error { return &Error{Kind: KindNotAReport, Text: text} }

// damage tells what an error of encoding/json means for the report.
func (c *ctrf) damage(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return &Error{Kind: KindTruncated, Text: "the document ends early"}
	case errors.As(err, &syntax):
		return c.fail("no JSON: " + err.Error())
	case errors.As(err, &kind):
		return c.fail("a " + kind.Value + " where CTRF has a " + kind.Type.String() + " (" + kind.Field + ")")
	}
	return err
}

// object reads an object and calls value for each of its keys, to read what belongs to it.
func (c *ctrf) object(value func(key string) error) error {
	if err := c.open('{'); err != nil {
		return err
	}
	for c.dec.More() {
		token, err := c.dec.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		if err := value(key); err != nil {
			return err
		}
	}
	_, err := c.dec.Token()
	return err
}

// open reads the beginning of an object or an array.
func (c *ctrf) open(delim json.Delim) error {
	token, err := c.dec.Token()
	if err != nil {
		return err
	}
	if token != delim {
		return c.fail("expected " + delim.String() + " where the document has something else")
	}
	return nil
}

// skip reads a value and forgets it, part by part.
func (c *ctrf) skip() error {
	for depth := 0; ; {
		token, err := c.dec.Token()
		if err != nil {
			return err
		}
		if delim, ok := token.(json.Delim); ok {
			if delim == '{' || delim == '[' {
				depth++
			} else {
				depth--
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

// results reads what belongs to a key of the results.
func (c *ctrf) results(key string) error {
	switch key {
	case "summary":
		c.declared = new(ctrfSummary)
		return c.dec.Decode(c.declared)
	case "tests":
		if err := c.open('['); err != nil {
			return err
		}
		for c.dec.More() {
			var t ctrfTest
			if err := c.dec.Decode(&t); err != nil {
				return err
			}
			if err := c.test(&t); err != nil {
				return err
			}
		}
		_, err := c.dec.Token()
		return err
	}
	return c.skip()
}

// test hands out the attempts at one test.
func (c *ctrf) test(t *ctrfTest) error {
	suite := string(t.Suite)
	c.tests.add(hashBytes(hashBytes(hashBytes(0, []byte(suite)), []byte(t.FilePath)), []byte(t.Name)))
	c.counted.count(t.Status)
	last := Record{
		Test:     Test{Suite: suite, Class: t.FilePath, Name: t.Name},
		Duration: milliseconds(t.Duration),
		Time:     epoch(t.Start),
	}
	var ok bool
	if last.Outcome, ok = c.outcome(t.Status); !ok {
		return c.fail("a test with the status " + strings.ToValidUTF8(t.Status, "\ufffd") + "; expected passed, failed, skipped, pending or other")
	}
	if last.Outcome == Fail || last.Outcome == Unfinished {
		last.Message = joinMessage([]byte(t.Message), []byte(t.Trace), t.Status)
	}
	before, err := c.before(t, last)
	if err != nil {
		return err
	}
	for i, r := range append(before, last) {
		r.Attempt = i
		if i > 0 {
			c.out.warn(WarnRetriesPresent, 0)
		}
		if r.Outcome == Unfinished {
			c.out.warn(WarnUnfinishedTests, 0)
		}
		if err := c.out.emit(r); err != nil {
			return err
		}
	}
	return nil
}

// before returns the attempts before the last. An attempt that is not listed has failed, since
// only failures are retried. Reporters list all attempts, those before the last, or the
// retries; their numbers and the number of retries tell which.
func (c *ctrf) before(t *ctrfTest, last Record) ([]Record, error) {
	retries := t.Retries
	for _, a := range t.Attempts {
		retries = max(retries, a.Attempt-1)
	}
	if n := len(t.Attempts); t.Retries <= 0 && n > 0 && int64(n) == retries+1 && t.Attempts[n-1].Status != t.Status {
		retries++ // attempts 1 to n are listed, and the last of them was not the final one
	}
	if t.Flaky {
		retries = max(retries, 1)
	}
	if retries > maxRetries {
		return nil, c.fail("a test with more than 1000 retries")
	}
	before := make([]Record, max(0, retries))
	for i := range before {
		before[i] = Record{Test: last.Test, Outcome: Fail, Duration: NoDuration}
	}
	for _, a := range t.Attempts {
		if a.Attempt < 1 || a.Attempt > retries {
			continue // the final one, of which the test itself tells
		}
		outcome, ok := c.outcome(a.Status)
		if !ok {
			return nil, c.fail("an attempt with the status " + strings.ToValidUTF8(a.Status, "\ufffd") + "; expected passed, failed, skipped, pending or other")
		}
		r := &before[a.Attempt-1]
		r.Outcome, r.Duration, r.Time = outcome, milliseconds(a.Duration), epoch(a.Start)
		if outcome == Fail {
			r.Message = joinMessage([]byte(a.Message), []byte(a.Trace), a.Status)
		}
	}
	return before, nil
}

// outcome translates a status. "other" stands for a test that was interrupted.
func (c *ctrf) outcome(status string) (Outcome, bool) {
	switch status {
	case "passed":
		return Pass, true
	case "failed":
		return Fail, true
	case "skipped", "pending":
		return Skip, true
	case "other":
		return Unfinished, true
	}
	return Pass, false
}

func milliseconds(ms *float64) time.Duration {
	if ms == nil || !(*ms >= 0 && *ms < 1e12) {
		return NoDuration
	}
	return time.Duration(*ms * 1e6)
}

// epoch is a time in milliseconds since 1970; the zero time if there is none.
func epoch(ms float64) time.Time {
	if !(ms > 0 && ms < 1e14) {
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// count adds a test to the summary.
func (s *ctrfSummary) count(status string) {
	add := func(n **int64) {
		if *n == nil {
			*n = new(int64)
		}
		**n++
	}
	add(&s.Tests)
	switch status {
	case "passed":
		add(&s.Passed)
	case "failed":
		add(&s.Failed)
	case "skipped":
		add(&s.Skipped)
	case "pending":
		add(&s.Pending)
	case "other":
		add(&s.Other)
	}
}

// agrees reports whether each total that s declares is what was counted.
func (s *ctrfSummary) agrees(counted *ctrfSummary) bool {
	same := func(declared, counted *int64) bool {
		return declared == nil || counted == nil && *declared == 0 || counted != nil && *declared == *counted
	}
	return same(s.Tests, counted.Tests) && same(s.Passed, counted.Passed) && same(s.Failed, counted.Failed) &&
		same(s.Skipped, counted.Skipped) && same(s.Pending, counted.Pending) && same(s.Other, counted.Other)
}
