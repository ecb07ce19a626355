package policy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// module is the path of the root module, and so the import path of the root package.
const module = "exactlyone"

// file is one parsed Go file of the repository.
type file struct {
	path   string // relative to the repository, with slashes
	test   bool   // its name ends in _test.go
	nested bool   // belongs to a module of its own, such as an example
	lines  int
	fset   *token.FileSet
	syntax *ast.File
}

// pkg names the package of f as the import table does: its directory, or the module's path
// for the root package.
func (f *file) pkg() string {
	if dir := path.Dir(f.path); dir != "." {
		return dir
	}
	return module
}

// line returns the line of pos in f, counted from 1.
func (f *file) line(pos token.Pos) int {
	return f.fset.Position(pos).Line
}

// at returns pos as file:line.
func (f *file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.line(pos))
}

// load parses every Go file below fsys that the go command would see, in lexical order.
func load(fsys fs.FS) ([]*file, error) {
	var files []*file
	fset := token.NewFileSet()
	nested := map[string]bool{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p == ".":
			return nil
		case d.IsDir() && skipDir(d.Name()):
			return fs.SkipDir
		case d.IsDir():
			_, err := fs.Stat(fsys, path.Join(p, "go.mod"))
			nested[p] = err == nil || nested[path.Dir(p)]
			return nil
		case path.Ext(p) != ".go" || hidden(d.Name()):
			return nil
		}
		f, err := parse(fset, fsys, p)
		if err != nil {
			return err
		}
		f.nested = nested[path.Dir(p)]
		files = append(files, f)
		return nil
	})
	return files, err
}

// skipDir reports whether the go command ignores directories of this name.
func skipDir(name string) bool {
	return hidden(name) || name == "testdata" || name == "vendor"
}

// hidden reports whether the go command ignores files and directories of this name because
// of how it begins.
func hidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// parse reads and parses the file p of fsys.
func parse(fset *token.FileSet, fsys fs.FS, p string) (*file, error) {
	src, err := fs.ReadFile(fsys, p)
	if err != nil {
		return nil, err
	}
	syntax, err := parser.ParseFile(fset, p, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSuffix(string(src), "\n")
	return &file{
		path:   p,
		test:   strings.HasSuffix(p, "_test.go"),
		lines:  strings.Count(text, "\n") + 1,
		fset:   fset,
		syntax: syntax,
	}, nil
}

// importPath returns the path that spec names.
func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic("policy: the parser accepted the import path " + spec.Path.Value)
	}
	return p
}

// example is a small repository and what a rule must find in it.
type example struct {
	name    string
	sources map[string]string // text by path
	want    []string          // nil: the rule is kept
}

// testRule runs check over each example.
func testRule(t *testing.T, check func([]*file) []string, examples []example) {
	t.Helper()
	for _, ex := range examples {
		t.Run(ex.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for p, text := range ex.sources {
				fsys[p] = &fstest.MapFile{Data: []byte(text)}
			}
			files, err := load(fsys)
			if err != nil {
				t.Fatal(err)
			}
			if got := check(files); !slices.Equal(got, ex.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(ex.want, "\n\t"))
			}
		})
	}
}

// TestLoad states which files the rules see.
func TestLoad(t *testing.T) {
	fsys := fstest.MapFS{}
	for _, p := range []string{
		"a.go", "a_test.go", "cmd/x/main.go", "examples/shop/shop.go", "examples/shop/db/db.go",
		"testdata/t.go", ".ci/c.go", "_old/o.go", "vendor/v/v.go", "x/.#x.go", "x/_x.go", "x/x.txt",
	} {
		fsys[p] = &fstest.MapFile{Data: []byte("package p\n\nvar v int\n")}
	}
	fsys["go.mod"] = &fstest.MapFile{}
	fsys["examples/shop/go.mod"] = &fstest.MapFile{}

	files, err := load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s in %s, test %t, nested %t, %d lines", f.path, f.pkg(), f.test, f.nested, f.lines))
	}
	want := []string{
		"a.go in exactlyone, test false, nested false, 3 lines",
		"a_test.go in exactlyone, test true, nested false, 3 lines",
		"cmd/x/main.go in cmd/x, test false, nested false, 3 lines",
		"examples/shop/db/db.go in examples/shop/db, test false, nested true, 3 lines",
		"examples/shop/shop.go in examples/shop, test false, nested true, 3 lines",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}
