package policy

import (
	"fmt"
	"go/ast"
	"strings"
	"testing"
)

const (
	maxFileLines = 500 // of every Go file
	maxFuncLines = 70  // of a function outside tests, from its first line to its last brace
)

// checkSize reports files and functions that a reader cannot take in at once.
func checkSize(files []*file) []string {
	var findings []string
	for _, f := range files {
		if f.lines > maxFileLines {
			findings = append(findings, fmt.Sprintf("%s:%d: file of %d lines, at most %d; split it by what its parts are about",
				f.path, maxFileLines+1, f.lines, maxFileLines))
		}
		if f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			name := ""
			switch n := n.(type) {
			case *ast.FuncDecl:
				name = n.Name.Name
			case *ast.FuncLit:
				name = "literal"
			default:
				return true
			}
			if lines := f.line(n.End()) - f.line(n.Pos()) + 1; lines > maxFuncLines {
				findings = append(findings, fmt.Sprintf("%s: function %s of %d lines, at most %d; name its parts and move them out",
					f.at(n.Pos()), name, lines, maxFuncLines))
			}
			return false // a literal within is part of the function around it
		})
	}
	return findings
}

func TestCheckSize(t *testing.T) {
	// fn is a function of n lines, file a file of n lines.
	fn := func(head string, n int) string {
		return head + " {\n" + strings.Repeat("\tg()\n", n-2) + "}\n"
	}
	file := func(n int) string {
		return "package p\n" + strings.Repeat("\n", n-1)
	}
	testRule(t, checkSize, []example{
		{"at the limit", map[string]string{
			"a.go":      file(500),
			"a_test.go": file(500),
			"b.go":      "package p\n\n" + fn("func f()", 70),
			"c.go":      "package p\n\n" + fn("var f = func()", 70),
			"d.go":      "package p\n\n" + strings.Repeat(fn("func _()", 70), 2),
		}, nil},
		{"long function in a test", map[string]string{
			"a_test.go": "package p\n\n" + fn("func f()", 71),
		}, nil},
		{"comment above a function", map[string]string{
			"a.go": "package p\n\n" + strings.Repeat("// f.\n", 10) + fn("func f()", 70),
		}, nil},
		{"long file", map[string]string{
			"a.go":              file(501),
			"a_test.go":         file(501),
			"b.go":              file(502) + "var unterminated int",
			"examples/x/go.mod": "module x\n",
			"examples/x/x.go":   file(501),
		}, []string{
			"a.go:501: file of 501 lines, at most 500; split it by what its parts are about",
			"a_test.go:501: file of 501 lines, at most 500; split it by what its parts are about",
			"b.go:501: file of 503 lines, at most 500; split it by what its parts are about",
			"examples/x/x.go:501: file of 501 lines, at most 500; split it by what its parts are about",
		}},
		{"long function", map[string]string{
			"a.go": "package p\n\n// f is long.\n" + fn("func f()", 71),
			"b.go": "package p\n\n" + fn("func (t T) m()", 80),
			"c.go": "package p\n\n" + fn("var f = func()", 71),
		}, []string{
			"a.go:4: function f of 71 lines, at most 70; name its parts and move them out",
			"b.go:3: function m of 80 lines, at most 70; name its parts and move them out",
			"c.go:3: function literal of 71 lines, at most 70; name its parts and move them out",
		}},
		{"a literal counts once, with its function", map[string]string{
			"a.go": "package p\n\nfunc f() {\n" + fn("g = func()", 71) + "}\n",
		}, []string{
			"a.go:3: function f of 73 lines, at most 70; name its parts and move them out",
		}},
	})
}
