package ingest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Source is a report to read.
type Source struct {
	Path string // "-" is standard input

	// Found says that the file was met in a directory and not named: it may well be no
	// report, and then is nothing to complain about.
	Found bool
}

// Find expands what a user names: files, "-" for standard input, directories, of which the
// files that may be reports are taken (.xml, .json, .jsonl, .ndjson, .tap, .log, also with
// .gz), and patterns, in which "**" stands for any number of directories. A path comes once,
// where it is first met; what a directory or a pattern holds is sorted. A path that does not
// exist and a pattern that matches nothing are errors, joined into one, beside which the
// other sources are returned.
func Find(paths ...string) ([]Source, error) {
	var sources []Source
	var errs []error
	known := map[string]bool{}
	add := func(p string, found bool) {
		if !known[p] {
			known[p] = true
			sources = append(sources, Source{p, found})
		}
	}
	for _, p := range paths {
		if p == "-" {
			add(p, false)
			continue
		}
		info, err := os.Stat(p)
		switch {
		case err == nil && info.IsDir():
			files, err := under(p, mayBeReport)
			if err != nil {
				errs = append(errs, fmt.Errorf("ingest: listing %s: %w", p, err))
			}
			for _, f := range files {
				add(f, true)
			}
		case err == nil:
			add(p, false)
		case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(p, "*?["):
			files, err := glob(p)
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("ingest: pattern %s: %w", p, err))
			case len(files) == 0:
				errs = append(errs, fmt.Errorf("ingest: no file matches %s", p))
			}
			for _, f := range files {
				add(f, false)
			}
		default:
			errs = append(errs, fmt.Errorf("ingest: %w", err))
		}
	}
	return sources, errors.Join(errs...)
}

// mayBeReport goes by the ending of a name.
func mayBeReport(name string) bool {
	switch filepath.Ext(strings.TrimSuffix(name, ".gz")) {
	case ".xml", ".json", ".jsonl", ".ndjson", ".tap", ".log":
		return true
	}
	return false
}

// under returns the regular files below a directory whose path is wanted, sorted. Hidden
// directories are left out.
func under(dir string, wanted func(string) bool) ([]string, error) {
	var files []string
	var unread error // the first directory that could not be read
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && p == dir:
			return err
		case err != nil:
			if unread == nil {
				unread = err
			}
			return fs.SkipDir
		case d.IsDir() && p != dir && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !d.IsDir() && wanted(p):
			if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() {
				files = append(files, p)
			}
		}
		return nil
	})
	slices.Sort(files)
	if err == nil {
		err = unread
	}
	return files, err
}

// glob returns the files that match a pattern, sorted.
func glob(pattern string) ([]string, error) {
	pattern = filepath.ToSlash(pattern)
	parts := strings.Split(pattern, "/")
	for _, part := range parts {
		if _, err := path.Match(part, ""); err != nil {
			return nil, err
		}
	}
	fixed := 0 // how many parts at the front are plain names
	for fixed < len(parts)-1 && !strings.ContainsAny(parts[fixed], "*?[") {
		fixed++
	}
	dir := strings.Join(parts[:fixed], "/")
	switch {
	case fixed == 0:
		dir = "."
	case dir == "":
		dir = "/"
	}
	files, err := under(filepath.FromSlash(dir), func(p string) bool {
		rest, err := filepath.Rel(filepath.FromSlash(dir), p)
		return err == nil && matches(parts[fixed:], strings.Split(filepath.ToSlash(rest), "/"))
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return files, err
}

// matches reports whether a path matches a pattern, part by part.
func matches(pattern, parts []string) bool {
	if len(pattern) == 0 {
		return len(parts) == 0
	}
	if pattern[0] == "**" {
		for i := range parts {
			if matches(pattern[1:], parts[i:]) {
				return true
			}
		}
		return false
	}
	if len(parts) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], parts[0])
	return err == nil && ok && matches(pattern[1:], parts[1:])
}

// Open opens a report for reading: a file, or stdin for "-". What gzip has compressed is told
// by its content and decompressed.
func Open(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == "-" {
		return decompress(io.NopCloser(stdin))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("ingest: %w", err)
	}
	return decompress(f)
}

// report is an open report, compressed or not.
type report struct {
	io.Reader
	io.Closer
}

func decompress(f io.ReadCloser) (io.ReadCloser, error) {
	in := bufio.NewReaderSize(f, 64<<10)
	magic, err := in.Peek(2)
	if err != nil && err != io.EOF {
		f.Close()
		return nil, fmt.Errorf("ingest: %w", err)
	}
	if !bytes.Equal(magic, []byte("\x1f\x8b")) {
		return report{in, f}, nil
	}
	return report{&gunzip{in: in}, f}, nil
}

// gunzip decompresses from the first Read on, so that a damaged header is an error of the
// report and not of opening it.
type gunzip struct {
	in  io.Reader
	out *gzip.Reader
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.out == nil {
		out, err := gzip.NewReader(g.in)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return 0, err
		}
		g.out = out
	}
	return g.out.Read(p)
}
