package policy

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"testing"
)

// ban keeps names of a package, or the whole package, out of all files but a few.
type ban struct {
	pkg     string   // import path
	names   []string // nil: the import itself
	except  []string // files that may, as patterns of path.Match
	instead string
}

// bans apply to non-test files of the root module.
var bans = []ban{
	{
		"time",
		[]string{"Now", "Since", "Until"},
		[]string{"clock/real.go", "cmd/*/elapsed.go", "interleave/bubble.go"},
		"ask a clock.Clock; a command measures elapsed time in its elapsed.go",
	},
	{
		"time",
		[]string{"Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"},
		[]string{"clock/real.go", "interleave/bubble.go"},
		"wait on a clock.Clock",
	},
	{"math/rand", nil, []string{"choice/random.go"}, "draw from a choice.Source"},
	{"math/rand/v2", nil, []string{"choice/random.go", "herd/rand.go"}, "draw from a choice.Source"},
	{"os", []string{"Exit"}, []string{"cmd/*/main.go"}, "return an error to main"},
	{"log", []string{"Fatal", "Fatalf", "Fatalln"}, nil, "return an error to main"},
}

// inBubbles are tests of code that runs in a bubble, where to sleep takes no time.
var inBubbles = []string{"hosted_test.go", "ordinary*_test.go", "interleave/bubble_test.go", "simhttp/*_test.go", "scenarios/sqlhttp/*_test.go"}

// testBans apply to every test, those of other modules included.
var testBans = []ban{
	{"time", []string{"Sleep"}, inBubbles, "advance a clock.Virtual, or wait for the event itself on a channel"},
}

// checkForbidden reports uses of banned names. It goes by the name under which a file
// imports a package, so a variable that hides this name is taken for the package.
func checkForbidden(files []*file) []string {
	var findings []string
	for _, f := range files {
		switch {
		case f.test:
			findings = append(findings, banned(f, testBans)...)
		case !f.nested:
			findings = append(findings, banned(f, bans)...)
		}
	}
	return findings
}

// banned returns what f uses against table.
func banned(f *file, table []ban) []string {
	table = slices.DeleteFunc(slices.Clone(table), func(b ban) bool { return b.excepts(f.path) })
	var findings []string
	pkgOf := map[string]string{} // import path by the name used in f
	for _, spec := range f.syntax.Imports {
		imported := importPath(spec)
		i := slices.IndexFunc(table, func(b ban) bool { return b.pkg == imported })
		switch {
		case i < 0:
		case table[i].names == nil:
			findings = append(findings, fmt.Sprintf("%s: import of %s; %s", f.at(spec.Pos()), imported, table[i].instead))
		case spec.Name == nil:
			pkgOf[path.Base(imported)] = imported
		case spec.Name.Name == ".":
			findings = append(findings, fmt.Sprintf("%s: %s imported without a name; import it as %s", f.at(spec.Pos()), imported, imported))
		default:
			pkgOf[spec.Name.Name] = imported
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		for _, b := range table {
			if pkgOf[x.Name] == b.pkg && slices.Contains(b.names, sel.Sel.Name) {
				findings = append(findings, fmt.Sprintf("%s: use of %s.%s; %s", f.at(sel.Pos()), b.pkg, sel.Sel.Name, b.instead))
			}
		}
		return true
	})
	return findings
}

// excepts reports whether b does not apply to the file p.
func (b ban) excepts(p string) bool {
	return slices.ContainsFunc(b.except, func(pattern string) bool {
		ok, err := path.Match(pattern, p)
		if err != nil {
			panic("policy: bad pattern " + pattern)
		}
		return ok
	})
}

func TestCheckForbidden(t *testing.T) {
	clock := "import \"time\"\n\nvar now, wait = time.Now, time.Sleep\n"
	exit := "import \"os\"\n\nfunc main() { os.Exit(1) }\n"
	elapsed := "import \"time\"\n\nvar start = time.Now()\n\nvar d = time.Since(start)\n"
	random := "import \"math/rand/v2\"\n\nvar r = rand.IntN\n"
	testRule(t, checkForbidden, []example{
		{"each in its one file", map[string]string{
			"clock/real.go":          "package clock\n\n" + clock,
			"choice/random.go":       "package choice\n\n" + random,
			"cmd/explore/main.go":    "package main\n\n" + exit,
			"cmd/explore/elapsed.go": "package main\n\n" + elapsed,
		}, nil},
		{"names that are no use of the package", map[string]string{
			"a.go": "package p\n\nimport \"time\"\n\nvar d = time.Second\n\ntype c struct{ t time.Time }\n\nfunc (c c) f(k interface{ Now() time.Time }) { _ = k.Now().After(c.t) }\n",
			"b.go": "package p\n\nimport \"os\"\n\nvar a = os.Args\n",
		}, nil},
		{"time", map[string]string{
			"a.go": "package p\n\n" + clock,
			"b.go": "package p\n\nimport t \"time\"\n\nfunc f() {\n\tt.AfterFunc(1, nil)\n\t<-t.After(1)\n\t_ = t.Until(t.Time{})\n}\n",
		}, []string{
			"a.go:5: use of time.Now; ask a clock.Clock; a command measures elapsed time in its elapsed.go",
			"a.go:5: use of time.Sleep; wait on a clock.Clock",
			"b.go:6: use of time.AfterFunc; wait on a clock.Clock",
			"b.go:7: use of time.After; wait on a clock.Clock",
			"b.go:8: use of time.Until; ask a clock.Clock; a command measures elapsed time in its elapsed.go",
		}},
		{"the other timers", map[string]string{
			"a.go": "package p\n\nimport \"time\"\n\nvar a, b, c, d = time.Tick, time.NewTimer, time.NewTicker, time.Since\n",
		}, []string{
			"a.go:5: use of time.Tick; wait on a clock.Clock",
			"a.go:5: use of time.NewTimer; wait on a clock.Clock",
			"a.go:5: use of time.NewTicker; wait on a clock.Clock",
			"a.go:5: use of time.Since; ask a clock.Clock; a command measures elapsed time in its elapsed.go",
		}},
		{"the exceptions are narrow", map[string]string{
			"clock/virtual.go":       "package clock\n\n" + elapsed,
			"cmd/explore/elapsed.go": "package main\n\nimport \"time\"\n\nvar w = time.Sleep\n",
			"model/elapsed.go":       "package model\n\nimport \"time\"\n\nvar n = time.Now\n",
		}, []string{
			"clock/virtual.go:5: use of time.Now; ask a clock.Clock; a command measures elapsed time in its elapsed.go",
			"clock/virtual.go:7: use of time.Since; ask a clock.Clock; a command measures elapsed time in its elapsed.go",
			"cmd/explore/elapsed.go:5: use of time.Sleep; wait on a clock.Clock",
			"model/elapsed.go:5: use of time.Now; ask a clock.Clock; a command measures elapsed time in its elapsed.go",
		}},
		{"dot import", map[string]string{
			"a.go": "package p\n\nimport . \"time\"\n\nvar n = Now\n",
		}, []string{"a.go:3: time imported without a name; import it as time"}},
		{"random", map[string]string{
			"choice/a.go": "package choice\n\n" + random,
			"model/a.go":  "package model\n\nimport r \"math/rand\"\n\nvar i = r.Int()\n",
		}, []string{
			"choice/a.go:3: import of math/rand/v2; draw from a choice.Source",
			"model/a.go:3: import of math/rand; draw from a choice.Source",
		}},
		{"exit", map[string]string{
			"cmd/explore/run.go": "package main\n\n" + exit,
			"flake/a.go":         "package flake\n\nimport \"log\"\n\nfunc f() { log.Fatalf(\"x\") }\n",
		}, []string{
			"cmd/explore/run.go:5: use of os.Exit; return an error to main",
			"flake/a.go:5: use of log.Fatalf; return an error to main",
		}},
		{"tests may do all but sleep", map[string]string{
			"a_test.go":            "package p\n\nimport (\n\t\"math/rand\"\n\t\"os\"\n\t\"time\"\n)\n\nvar a, b, c = time.Now, rand.Int, os.Exit\n",
			"b_test.go":            "package p\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n",
			"examples/x/go.mod":    "module x\n",
			"examples/x/x.go":      "package x\n\n" + clock,
			"examples/x/x_test.go": "package x\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n",
		}, []string{
			"b_test.go:5: use of time.Sleep; advance a clock.Virtual, or wait for the event itself on a channel",
			"examples/x/x_test.go:5: use of time.Sleep; advance a clock.Virtual, or wait for the event itself on a channel",
		}},
	})
}
