package ingest

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// window is the size of the input buffer, in bytes: the format is told from that much, and a
// longer line of a Go stream is read as far as its first part.
const window = 256 << 10

// Read reads one report, tells its format by its content, and hands each attempt to sink as
// soon as it has ended. The name is for messages only.
//
// A report that cannot be read gives a Summary with Failed set and the same *Error as the
// error. Nothing of it counts then, although records may have been handed to sink before the
// fault was met: a caller that stores records must roll them back. Any other error comes from
// sink, and is returned as it is, or from r; nothing counts either. After a nil error, records of sessions
// that the Summary calls Cached must not be counted as runs.
//
// Read holds no document in memory. It keeps 8 bytes for each testcase of a JUnit, TAP or
// CTRF report, and for a Go stream what is needed for the tests that run at one time.
func Read(r io.Reader, name string, sink func(Record) error) (Summary, error) {
	out := &output{sum: Summary{Name: name}, sink: sink}
	err := out.read(r)
	out.sum.Warnings = out.warnings.sorted()
	if err == nil {
		return out.sum, nil
	}
	if out.refused != nil {
		return out.sum, out.refused
	}
	if damaged, text := damage(err); damaged != "" {
		err = &Error{Kind: damaged, Text: text}
	}
	var bad *Error
	if !errors.As(err, &bad) {
		return out.sum, fmt.Errorf("ingest: reading %s: %w", name, err)
	}
	bad.Name = name
	out.sum.Failed = bad
	return out.sum, bad
}

// damage tells whether err is about compressed data that is cut or broken.
func damage(err error) (ErrorKind, string) {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return KindTruncated, "the compressed data ends early"
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return KindEncoding, "the compressed data is damaged: " + err.Error()
	}
	return "", ""
}

// output collects what a reader of one format finds.
type output struct {
	sum      Summary
	sink     func(Record) error
	warnings warnings
	refused  error // of sink
}

// read tells the format and runs its reader.
func (o *output) read(r io.Reader) error {
	in, known, err := decode(r)
	if err != nil {
		return err
	}
	head, err := in.Peek(window)
	if err != nil && err != io.EOF {
		return err
	}
	format, problem := detect(head)
	if problem != nil {
		return problem
	}
	o.sum.Format = format
	switch format {
	case JUnit:
		return readJUnit(in, known, o)
	case TAP:
		return readTAP(in, o)
	case CTRF:
		return readCTRF(in, o)
	default:
		return readGoTest(in, o)
	}
}

// emit hands one record to the sink.
func (o *output) emit(r Record) error {
	o.sum.Records++
	o.refused = o.sink(r)
	return o.refused
}

// warn raises a warning met in a line.
func (o *output) warn(kind WarningKind, line int64) { o.warnTimes(kind, 1, line) }

// warnTimes raises a warning several times, the first of them in a line; 0 if it is about the
// whole.
func (o *output) warnTimes(kind WarningKind, times, line int64) {
	for i := range o.warnings {
		if o.warnings[i].Kind == kind {
			o.warnings[i].Count += times
			return
		}
	}
	o.warnings = append(o.warnings, Warning{Kind: kind, Count: times, Line: line})
}

// suiteFailed notes a suite that no failing test explains.
func (o *output) suiteFailed(suite string, why Reason) {
	o.sum.SuiteFailures = append(o.sum.SuiteFailures, SuiteFailure{suite, why})
}

type warnings []Warning

// sorted returns the warnings in order of their kind.
func (w warnings) sorted() []Warning {
	slices.SortFunc(w, func(a, b Warning) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return w
}

// skipLine reads to the end of the current line and returns the last byte before it that is
// no space; 0 if there is none.
func skipLine(in *bufio.Reader) (last byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		for i := len(part) - 1; i >= 0; i-- {
			if !isSpace(part[i]) {
				last = part[i]
				break
			}
		}
		if err != bufio.ErrBufferFull {
			return last, err
		}
	}
}
