package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, p := range []string{
		"b.xml", "a.json", "a.txt", "x/TEST-b.xml", "x/y/TEST-a.xml", "x/y/log.ndjson.gz", "x/.git/c.xml", "d.tap", "e[1].xml",
	} {
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		paths []string
		want  []string // with a question mark after those found in a directory
	}{
		{[]string{"-", "b.xml", "a.txt", "-"}, []string{"-", "b.xml", "a.txt"}},
		{[]string{"x", "x/TEST-b.xml"}, []string{"x/TEST-b.xml?", "x/y/TEST-a.xml?", "x/y/log.ndjson.gz?"}},
		{[]string{"."}, []string{"a.json?", "b.xml?", "d.tap?", "e[1].xml?", "x/TEST-b.xml?", "x/y/TEST-a.xml?", "x/y/log.ndjson.gz?"}},
		{[]string{"*.xml"}, []string{"b.xml", "e[1].xml"}},
		{[]string{"e[1].xml"}, []string{"e[1].xml"}},
		{[]string{"**/TEST-*.xml"}, []string{"x/TEST-b.xml", "x/y/TEST-a.xml"}},
		{[]string{"x/*/*.xml", "?.tap"}, []string{"x/y/TEST-a.xml", "d.tap"}},
		{[]string{filepath.Join(dir, "*.tap")}, []string{filepath.Join(dir, "d.tap")}},
	} {
		sources, err := Find(test.paths...)
		if err != nil {
			t.Errorf("Find(%q): %v", test.paths, err)
		}
		var got []string
		for _, s := range sources {
			p := filepath.ToSlash(s.Path)
			if s.Found {
				p += "?"
			}
			got = append(got, p)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("Find(%q) (-want +got):\n%s", test.paths, diff)
		}
	}
	for path, want := range map[string]string{
		"none.xml": "none.xml", "none/*.xml": "no file matches none/*.xml", "*.csv": "no file matches *.csv", "a[": "syntax error",
	} {
		if _, err := Find(path); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "ingest: ") {
			t.Errorf("Find(%q): error %v, want %q in it", path, err, want)
		}
	}
}

func TestOpen(t *testing.T) {
	const report = "1..1\nok 1 - a\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, report)
	z.Close()
	file := filepath.Join(t.TempDir(), "report") // the name says nothing
	if err := os.WriteFile(file, packed.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	read := func(path string, stdin []byte) (string, error) {
		r, err := Open(path, bytes.NewReader(stdin))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		c, err := Count(r, path)
		return strings.Join([]string{string(c.Format), string(c.Error)}, ""), err
	}
	if got, err := read(file, nil); got != "tap" || err != nil {
		t.Errorf("a compressed file: %s, %v", got, err)
	}
	if got, err := read("-", packed.Bytes()); got != "tap" || err != nil {
		t.Errorf("compressed standard input: %s, %v", got, err)
	}
	if got, err := read("-", []byte(report)); got != "tap" || err != nil {
		t.Errorf("standard input: %s, %v", got, err)
	}
	if got, err := read("-", nil); got != "empty" {
		t.Errorf("empty standard input: %s, %v", got, err)
	}
	for n := 2; n < packed.Len(); n++ {
		if got, err := read("-", packed.Bytes()[:n]); !strings.HasSuffix(got, "truncated") || !strings.Contains(err.Error(), "compressed data ends early") {
			t.Errorf("the first %d of %d compressed bytes: %s, %v", n, packed.Len(), got, err)
		}
	}
	damaged := bytes.Clone(packed.Bytes())
	damaged[len(damaged)-5] ^= 1
	if got, err := read("-", damaged); !strings.HasSuffix(got, "encoding") {
		t.Errorf("a wrong checksum: %s, %v", got, err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
}
