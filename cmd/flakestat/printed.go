package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"

	"exactlyone/ingest"
	"exactlyone/internal/runner"
)

// printed takes what a run prints. If standard output is go test -json, all of it is spooled
// to a file, however long it is; of the text in it, and of any other output, a bounded part
// is kept.
type printed struct {
	path  string
	head  []byte // of standard output, until it is known what it is
	file  *os.File
	plain bool  // it is no go test -json
	err   error // of the file
	kept  *runner.Kept
	lines [2]lineWriter

	mu            sync.Mutex
	build, cached string // a line that says that nothing was tested
}

// maxHead is how much of the output tells what it is.
const maxHead = 256 << 10

func newPrinted(path string) *printed {
	o := &printed{path: path, kept: runner.NewKept(keptBytes)}
	o.lines[0].line, o.lines[1].line = o.line, o.line
	return o
}

// stdout and stderr are written to by one goroutine each; the lines of both meet in kept.
func (o *printed) stdout() io.Writer { return writerFunc(o.writeStdout) }
func (o *printed) stderr() io.Writer { return &o.lines[1] }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (o *printed) writeStdout(p []byte) (int, error) {
	_, _ = o.lines[0].Write(p)
	switch {
	case o.plain:
	case o.file != nil:
		_, o.err = o.file.Write(p)
	default:
		o.head = append(o.head, p...)
		if len(o.head) >= maxHead {
			o.decide()
		}
	}
	return len(p), o.err
}

// decide tells whether the output is go test -json.
func (o *printed) decide() {
	if ingest.Sniff(o.head) != ingest.GoTest {
		o.plain, o.head = true, nil
		return
	}
	if o.file, o.err = os.Create(o.path); o.err == nil {
		_, o.err = o.file.Write(o.head)
		o.head = nil
	}
}

// close ends the output.
func (o *printed) close() error {
	if !o.plain && o.file == nil {
		o.decide()
	}
	for i := range o.lines {
		o.lines[i].close()
	}
	if o.file != nil {
		o.err = errors.Join(o.err, o.file.Close())
	}
	return o.err
}

// events opens the go test -json that was printed; nil if it was none.
func (o *printed) events() func() (io.ReadCloser, error) {
	if o.file == nil {
		return nil
	}
	return func() (io.ReadCloser, error) { return os.Open(o.path) }
}

// text is the part that is kept.
func (o *printed) text() string { return o.kept.Text() }

// line takes one line: the text of an event, or what it is.
func (o *printed) line(line []byte) {
	if bytes.HasPrefix(line, []byte("{")) {
		var event struct{ Action, Output *string }
		if json.Unmarshal(line, &event) == nil && event.Action != nil {
			if event.Output != nil {
				_, _ = io.WriteString(o.kept, *event.Output)
			}
			return
		}
	}
	_, _ = o.kept.Write(line)
	o.note(strings.TrimSpace(string(line[:min(len(line), 500)])))
}

// building matches what compilers and test runners print when there is nothing to test.
var building = regexp.MustCompile(`^FAIL\s+\S+ \[(build|setup) failed\]$|` + // go test
	`^usage: go test|^go: (cannot find|go\.mod file not found|no such tool|unknown|module|errors parsing|updates to go\.mod)|` +
	`^error: could not compile |` + // cargo
	`COMPILATION ERROR|` + // maven
	`^Execution failed for task ':\S*compile|` + // gradle
	`^make(\[\d+\])?: \*\*\* \[[^\]]*\.(o|obj)\] Error`)

var fromCache = regexp.MustCompile(`^ok\s+\S+\s+\(cached\)`)

func (o *printed) note(line string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.build == "" && building.MatchString(line):
		o.build = line
	case o.cached == "" && fromCache.MatchString(line):
		o.cached = line
	}
}

// lineWriter hands on whole lines. One that is longer than a megabyte comes in pieces.
type lineWriter struct {
	part []byte
	line func([]byte)
}

const maxLine = 1 << 20

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			w.part = append(w.part, p...)
			if len(w.part) > maxLine {
				w.close()
			}
			break
		}
		if len(w.part) == 0 {
			w.line(p[:end])
		} else {
			w.part = append(w.part, p[:end]...)
			w.close()
		}
		p = p[end:]
	}
	return n, nil
}

func (w *lineWriter) close() {
	if len(w.part) > 0 {
		w.line(w.part)
		w.part = w.part[:0]
	}
}
