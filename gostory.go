package exactlyone

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	gotoken "go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/cryptotest"

	"exactlyone/internal/wholefile"
)

// goStory is the environment variable that asks [Check] to write the story of a
// violation as a test in Go, beside the test that found it.
const goStory = "EXACTLYONE_GO_STORY"

// ReplayStory fails the test if a story, the JSON text of a [Trace], still breaks
// a property. If the code has changed so much that it does not go the way of the
// story any more, the test is skipped, and says from where on.
func ReplayStory(t testing.TB, sys System, story string) {
	t.Helper()
	if sys.Name == "" {
		sys.Name = t.Name()
	}
	sys.seed(t)
	trace, err := ReadTrace(strings.NewReader(story), "story")
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	again, err := Replay(sys, trace, 0, nil)
	if errors.Is(err, ErrDiverged) {
		t.Skipf("%v", err)
		return
	}
	if err != nil {
		t.Fatalf("%v", err)
		return
	}
	if again.Property != "" {
		var text strings.Builder
		_ = again.WriteText(&text, TextOptions{})
		t.Fatalf("the story breaks %s:\n%s", again.Property, text.String())
	}
}

// offerGoStory writes a story as a test in Go if that was asked for. The caller of
// Check is skip callers up.
func offerGoStory(t testing.TB, story *Trace, skip int) {
	t.Helper()
	if os.Getenv(goStory) == "" {
		return
	}
	file, err := writeGoStory(story, skip+1)
	if err != nil {
		t.Errorf("the story cannot be written as a test: %v", err)
		return
	}
	t.Logf("the story is written as a test in %s", file)
}

// writeGoStory writes a test that replays a story, and returns the name of its
// file. The test is the one in which Check was called, skip callers up, with that
// call replaced.
func writeGoStory(story *Trace, skip int) (string, error) {
	_, file, line, ok := runtime.Caller(skip + 1)
	if !ok {
		return "", errors.New("the caller of Check is not known")
	}
	src, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	name, text, err := goStoryOf(file, src, line, story)
	if err != nil {
		return "", err
	}
	to := filepath.Join(filepath.Dir(file), strings.ToLower(name)+"_test.go")
	return filepath.Base(to), wholefile.Write(to, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// goStoryOf is the name and the file of a test that replays a story, made of the
// file in which Check is called in some line.
func goStoryOf(file string, src []byte, line int, story *Trace) (name, text string, err error) {
	fset := gotoken.NewFileSet()
	parsed, err := parser.ParseFile(fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	at := func(p gotoken.Pos) int { return fset.Position(p).Offset }
	f, call := callOfCheck(fset, parsed, line)
	if call == nil {
		return "", "", fmt.Errorf("%s:%d: a call of Check as a statement of the test function itself was expected", filepath.Base(file), line)
	}
	name = f.Name.Name + "_Story"
	data, err := json.Marshal(story)
	if err != nil {
		return "", "", err
	}
	literal := "`" + string(data) + "`"
	if strings.Contains(string(data), "`") {
		literal = strconv.Quote(string(data))
	}
	arg := func(i int) string { return string(src[at(call.Args[i].Pos()):at(call.Args[i].End())]) }
	fun := string(src[at(call.Fun.Pos()):at(call.Fun.End())])
	body := "func " + name + string(src[at(f.Name.End()):at(call.Pos())]) +
		strings.TrimSuffix(fun, "Check") + "ReplayStory(" + arg(0) + ", " + arg(1) + ", " + literal + ")" +
		string(src[at(call.End()):at(f.End())])
	var out strings.Builder
	fmt.Fprintf(&out, "// A story that %s found: it breaks %s.\n// Written by exactlyone; keep it as long as it is worth keeping.\n\npackage %s\n\n", f.Name.Name, story.Property, parsed.Name.Name)
	for _, spec := range parsed.Imports {
		if usesImport(body, spec) {
			fmt.Fprintf(&out, "import %s\n", src[at(spec.Pos()):at(spec.End())])
		}
	}
	formatted, err := format.Source([]byte(out.String() + "\n" + body + "\n"))
	return name, string(formatted), err
}

// callOfCheck finds the function and the statement that calls Check in a line.
func callOfCheck(fset *gotoken.FileSet, file *ast.File, line int) (*ast.FuncDecl, *ast.CallExpr) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
			continue
		}
		for _, st := range f.Body.List {
			e, ok := st.(*ast.ExprStmt)
			if !ok || fset.Position(e.Pos()).Line > line || fset.Position(e.End()).Line < line {
				continue
			}
			if call, ok := e.X.(*ast.CallExpr); ok && len(call.Args) == 3 && calledName(call) == "Check" {
				return f, call
			}
		}
	}
	return nil, nil
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// usesImport says whether code names an import, going by the name that a package
// of that path most likely has.
func usesImport(code string, spec *ast.ImportSpec) bool {
	if spec.Name != nil {
		return spec.Name.Name == "." || strings.Contains(code, spec.Name.Name+".")
	}
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return false
	}
	name := path.Base(p)
	if version.MatchString(name) {
		name = path.Base(path.Dir(p))
	}
	return strings.Contains(code, name+".")
}

var version = regexp.MustCompile(`^v[0-9]+$`)

// seed lets crypto/rand be made deterministic for code that runs in a bubble, if
// the test allows it: one that runs beside others does not.
func (s *System) seed(t testing.TB) {
	real, ok := t.(*testing.T)
	if !ok {
		return
	}
	if p, err := s.prepared(); err != nil || !p.ordinary {
		return
	}
	defer func() { _ = recover() }() // it panics if the test is parallel
	cryptotest.SetGlobalRandom(real, 0)
	s.seeded = true
}
