// Package rapidrun answers: how does rapid check a property where there is no
// test, as in a command or for each seed of a benchmark?
package rapidrun

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"exactlyone/internal/wholefile"
)

// Config says how to check.
type Config struct {
	Name   string // what the directory of fail files is called after
	Checks int    // executions until rapid is content
	Seed   uint64 // equal seeds draw the same
	Save   bool   // try the fail files of that name first, and write one
}

// Result is what came of it.
type Result struct {
	Failed bool
	File   string // the fail file written, "" if none was
}

// rapid knows only flags of the process, so one check runs at a time. Other
// checks of rapid must not run meanwhile.
var one sync.Mutex

// Check lets rapid check a property and shrink what fails. With Save it first
// tries what the files testdata/rapid/NAME/NAME-*.fail hold, and writes
// NAME-SEED.fail. The property is told whether an execution is drawn, or tried
// again from such a file; once one has failed, that means nothing. A property
// that ends its goroutine ends the check. A fail file that cannot be read is an
// error.
func Check(c Config, property func(t *rapid.T, drawn bool)) (Result, error) {
	one.Lock()
	defer one.Unlock()
	testing.Init() // rapid asks whether tests shall be short
	if !flag.Parsed() {
		if err := flag.CommandLine.Parse(nil); err != nil {
			return Result{}, err
		}
	}
	c.Name = fileName(c.Name)
	var files []string
	if c.Save {
		files = failFiles(c.Name)
	}
	again := 0
	if len(files) > 0 {
		c := c
		c.Checks, c.Save = 0, false
		r, err := check(c, c.Name, func(t *rapid.T) { again++; property(t, false) })
		if err != nil || r.Failed {
			return r, err
		}
	}
	name := ""
	if c.Save {
		name = c.Name // rapid tries the files once more
	}
	r, err := check(c, name, func(t *rapid.T) { again--; property(t, again < 0) })
	if err != nil || !c.Save {
		return r, err
	}
	for _, file := range failFiles(c.Name) {
		if !slices.Contains(files, file) {
			r.File = filepath.Join(filepath.Dir(file), fmt.Sprintf("%s-%d.fail", c.Name, c.Seed))
			return r, tidy(file, r.File)
		}
	}
	return r, nil
}

// check lets rapid check as a test of that name, which says where fail files are.
func check(c Config, name string, property func(*rapid.T)) (r Result, err error) {
	if testing.Short() {
		c.Checks *= 5 // which rapid takes away
	}
	for _, set := range [][2]string{
		{"checks", strconv.Itoa(c.Checks)},
		{"seed", strconv.FormatUint(max(c.Seed+1, 1), 10)}, // 0 would draw one
		{"nofailfile", strconv.FormatBool(!c.Save)},
		{"shrinktime", "12h"}, // a result must not depend on the time
		{"failfile", ""},
		{"log", "false"},
		{"v", "false"},
		{"debug", "false"},
		{"debugvis", "false"},
	} {
		f := flag.Lookup("rapid." + set[0])
		before := f.Value.String()
		if err := f.Value.Set(set[1]); err != nil {
			return r, fmt.Errorf("rapid: -%s: %w", f.Name, err)
		}
		defer func() { _ = f.Value.Set(before) }()
	}
	t := &tb{name: name}
	done := make(chan any)
	go func() {
		defer func() { done <- recover() }()
		rapid.Check(t, property)
	}()
	if r := <-done; r != nil {
		panic(r)
	}
	r.Failed = t.failed
	return r, t.err
}

// tidy moves a fail file of rapid's. Its name and its comments hold the time.
func tidy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	err = wholefile.Write(to, func(w io.Writer) error {
		lines := bufio.NewScanner(in)
		for lines.Scan() {
			if line := lines.Text(); !strings.HasPrefix(line, "#") {
				if _, err := fmt.Fprintln(w, line); err != nil {
					return err
				}
			}
		}
		return lines.Err()
	})
	return errors.Join(err, in.Close(), os.Remove(from))
}

// fileName is a name as rapid calls files after it.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' {
			return r
		}
		return '_'
	}, name)
}

func failFiles(name string) []string {
	files, _ := filepath.Glob(filepath.Join("testdata", "rapid", name, name+"-*.fail"))
	return files
}

// tb is a test that is none. What rapid says is for those who run tests, but for
// what keeps it from doing what it was asked to.
type tb struct {
	name   string
	failed bool
	err    error
}

func (t *tb) Helper()              {}
func (t *tb) Name() string         { return t.name }
func (t *tb) Log(...any)           {}
func (t *tb) Skipf(string, ...any) { runtime.Goexit() }
func (t *tb) Skip(...any)          { runtime.Goexit() }
func (t *tb) SkipNow()             { runtime.Goexit() }
func (t *tb) Error(...any)         { t.Fail() }
func (t *tb) Fatal(...any)         { t.FailNow() }
func (t *tb) FailNow()             { t.Fail(); runtime.Goexit() }
func (t *tb) Fail()                { t.failed = true }
func (t *tb) Failed() bool         { return t.failed }

func (t *tb) Logf(format string, args ...any) {
	what, ok := strings.CutPrefix(format, "[rapid] ignoring fail file: ")
	if ok || format == "[rapid] %v" { // the latter: it cannot be written
		t.err = errors.Join(t.err, fmt.Errorf("rapid: fail files of %s: %s", t.name, fmt.Sprintf(strings.TrimPrefix(what, "[rapid] "), args...)))
	}
}

func (t *tb) Errorf(format string, args ...any) {
	t.Fail()
	if !strings.HasPrefix(format, "[rapid] failed after") { // it panicked, or went another way
		t.err = errors.Join(t.err, fmt.Errorf(format, args...))
	}
}

func (t *tb) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}
