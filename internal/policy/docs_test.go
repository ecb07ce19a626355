package policy

import (
	"fmt"
	"go/ast"
	"slices"
	"testing"
)

// checkDocs reports packages and exported names without a doc comment. Tests need none.
func checkDocs(files []*file) []string {
	var findings []string
	documented := map[string]bool{}
	for _, f := range files {
		if !f.test && f.syntax.Doc.Text() != "" {
			documented[f.pkg()] = true
		}
	}
	for _, f := range files {
		if f.test {
			continue
		}
		if !documented[f.pkg()] {
			documented[f.pkg()] = true // once is enough
			findings = append(findings, fmt.Sprintf("%s: package %s has no package comment; open it with the question the package answers",
				f.at(f.syntax.Package), f.pkg()))
		}
		for _, name := range undocumented(f.syntax) {
			findings = append(findings, fmt.Sprintf("%s: exported %s has no doc comment; state its contract, units and zero value",
				f.at(name.Pos()), name.Name))
		}
	}
	return findings
}

// wellKnown are methods whose contract the standard library states.
var wellKnown = []string{"Error", "Is", "String", "Unwrap"}

// undocumented returns the exported names that f declares without saying what they are:
// functions, methods of exported types, types, constants and variables. The well-known
// methods may go without.
func undocumented(f *ast.File) []*ast.Ident {
	var names []*ast.Ident
	for _, decl := range f.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			known := decl.Recv != nil && slices.Contains(wellKnown, decl.Name.Name)
			if decl.Name.IsExported() && onExported(decl) && !known && decl.Doc.Text() == "" {
				names = append(names, decl.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				names = append(names, undocumentedSpec(decl, spec)...)
			}
		}
	}
	return names
}

// undocumentedSpec is undocumented for one entry of decl. The comment above a group speaks
// for the constants and variables in it, never for types.
func undocumentedSpec(decl *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	own := !decl.Lparen.IsValid() && decl.Doc.Text() != ""
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && !own && spec.Doc.Text() == "" {
			return []*ast.Ident{spec.Name}
		}
	case *ast.ValueSpec:
		if decl.Doc.Text() != "" || spec.Doc.Text() != "" || spec.Comment.Text() != "" {
			return nil
		}
		var names []*ast.Ident
		for _, name := range spec.Names {
			if name.IsExported() {
				names = append(names, name)
			}
		}
		return names
	}
	return nil
}

// onExported reports whether fn is no method, or one of an exported type.
func onExported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return true
	}
	for t := fn.Recv.List[0].Type; ; {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}

func TestCheckDocs(t *testing.T) {
	const p = "// Package p is documented.\npackage p\n\n"
	testRule(t, checkDocs, []example{
		{"documented", map[string]string{
			"p/doc.go": p,
			"p/a.go":   "package p\n\n// F does.\nfunc F() {}\n\n// T is.\ntype T int\n\n// M does.\nfunc (t *T) M() {}\n\nfunc (t T) String() string { return \"\" }\n\n// C is.\nconst C = 1\n",
			"p/b.go":   "package p\n\n// Kinds of T.\nconst (\n\tA T = iota\n\tB\n)\n\nvar (\n\t// V is.\n\tV int\n\tW int // W is.\n)\n",
			"p/c.go":   "package p\n\ntype (\n\t// G is.\n\tG[K any] struct{}\n)\n\n// M does.\nfunc (g *G[K]) M() {}\n",
		}, nil},
		{"unexported", map[string]string{
			"a.go": p + "func f() {}\n\ntype t int\n\nfunc (t t) M() {}\n\nvar v, _ = 1, 2\n",
		}, nil},
		{"tests", map[string]string{
			"p/a_test.go": "package p\n\nfunc TestF() {}\n\ntype T int\n",
		}, nil},
		{"package comment", map[string]string{
			"a.go":              "// A comment apart.\n\npackage p\n",
			"q/a.go":            "package q\n",
			"q/b.go":            "//go:build linux\n\n//lint:ignore U1000 x\npackage q\n",
			"r/a.go":            "package r\n",
			"r/a_test.go":       "// Package r is documented in the wrong place.\npackage r\n",
			"examples/x/go.mod": "module x\n",
			"examples/x/x.go":   "package x\n",
		}, []string{
			"a.go:3: package exactlyone has no package comment; open it with the question the package answers",
			"examples/x/x.go:1: package examples/x has no package comment; open it with the question the package answers",
			"q/a.go:1: package q has no package comment; open it with the question the package answers",
			"r/a.go:1: package r has no package comment; open it with the question the package answers",
		}},
		{"functions and methods", map[string]string{
			"a.go": p + "func F() {}\n\n//go:noinline\nfunc String() {}\n\n// T is.\ntype T[K any] struct{}\n\nfunc (t *T[K]) M() {}\n",
		}, []string{
			"a.go:4: exported F has no doc comment; state its contract, units and zero value",
			"a.go:7: exported String has no doc comment; state its contract, units and zero value",
			"a.go:12: exported M has no doc comment; state its contract, units and zero value",
		}},
		{"types, constants and variables", map[string]string{
			"a.go": p + "type T int\n\n// Types of p.\ntype (\n\tU int\n)\n\nconst (\n\tA = 1\n\tb = 2\n)\n\nvar V, W int\n",
		}, []string{
			"a.go:4: exported T has no doc comment; state its contract, units and zero value",
			"a.go:8: exported U has no doc comment; state its contract, units and zero value",
			"a.go:12: exported A has no doc comment; state its contract, units and zero value",
			"a.go:16: exported V has no doc comment; state its contract, units and zero value",
			"a.go:16: exported W has no doc comment; state its contract, units and zero value",
		}},
	})
}
