package policy

import (
	"fmt"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// thirdParty in a row of the import table stands for every package of another module.
const thirdParty = "third-party packages"

// adapter is the row of a package that makes unmodified code park, or stands for a real
// store. Users import it from their tests; the root package never does.
var adapter = []string{"exactlyone", "interleave", "model", "clock", thirdParty}

// mayImport says which packages each package may import besides the standard library. Our
// own are named by directory, the root by the module's path; "/..." includes all below.
var mayImport = map[string][]string{
	"choice":     nil,
	"clock":      nil,
	"retry":      {"clock"},
	"herd":       {"retry"},
	"model":      {"clock", "retry"},
	"interleave": {"choice", "clock"},
	"props":      {"model"},
	"exactlyone": {"clock", "choice", "model", "interleave", "props", "retry", "stats", "internal/..."},

	"simsql":  adapter,
	"simhttp": adapter,
	"simpg":   adapter,

	"sqlitestore": adapter,

	"rapidsource": {"exactlyone", "choice", "internal/rapidrun", "pgregory.net/rapid"},

	"ingest": nil,
	"stats":  {"gonum.org/v1/gonum/..."},
	"bisect": {"stats"},
	"flake":  {"ingest", "stats", "modernc.org/sqlite/..."},

	"cmd/explore":   {"exactlyone", "herd", "retry", "simsql", "simhttp", "simpg", "sqlitestore", "rapidsource", "internal/...", "github.com/spf13/cobra", "golang.org/x/term"},
	"cmd/flakestat": {"bisect", "flake", "ingest", "stats", "internal/...", "github.com/spf13/cobra", "golang.org/x/term"},

	"scenarios":         nil,
	"scenarios/sqlhttp": nil,

	"internal/doctest":   {"github.com/google/go-cmp/cmp"},
	"internal/interrupt": nil,
	"internal/orders":    {"exactlyone", "model", "simhttp", "simsql"},
	"internal/policy":    nil,
	"internal/rapidrun":  {"internal/wholefile", "pgregory.net/rapid"},
	"internal/runner":    nil,
	"internal/wref":      nil,
	"internal/wholefile": nil,
}

// drivers are modules that hold an SQL driver.
var drivers = []string{
	"github.com/go-sql-driver/mysql",
	"github.com/jackc/pgx",
	"github.com/lib/pq",
	"github.com/mattn/go-sqlite3",
	"github.com/microsoft/go-mssqldb",
	"github.com/ncruces/go-sqlite3",
	"modernc.org/sqlite",
}

// checkImports compares the imports of non-test files with mayImport.
func checkImports(files []*file) []string {
	var findings []string
	unknown := map[string]bool{}
	for _, f := range files {
		if f.test || f.nested {
			continue
		}
		row, ok := mayImport[f.pkg()]
		if !ok && !unknown[f.pkg()] {
			unknown[f.pkg()] = true
			findings = append(findings, fmt.Sprintf("%s: nothing says what package %s may import; add it to the table mayImport of internal/policy",
				f.at(f.syntax.Package), f.pkg()))
		}
		if !ok {
			continue
		}
		for _, spec := range f.syntax.Imports {
			name, origin := resolve(importPath(spec))
			if allows(row, name, origin) {
				continue
			}
			may := strings.Join(append([]string{"the standard library"}, row...), ", ")
			instead := "declare the interface you need and let the caller supply it"
			if origin == foreign {
				instead = "write the few lines it takes, or move the code to an adapter"
			}
			findings = append(findings, fmt.Sprintf("%s: %s imports %s but may import only %s; %s",
				f.at(spec.Pos()), f.pkg(), name, may, instead))
		}
	}
	return findings
}

// origin says where an imported package comes from.
type origin int

const (
	standard origin = iota
	ours
	foreign
)

// resolve returns the name that the import table uses for an import path.
func resolve(imported string) (string, origin) {
	if imported == module {
		return module, ours
	}
	if dir, ok := strings.CutPrefix(imported, module+"/"); ok {
		return dir, ours
	}
	if first, _, _ := strings.Cut(imported, "/"); strings.Contains(first, ".") {
		return imported, foreign
	}
	return imported, standard
}

// allows reports whether a row of the import table lets a package import name.
func allows(row []string, name string, from origin) bool {
	if from == standard {
		return true
	}
	return slices.ContainsFunc(row, func(entry string) bool {
		if tree, ok := strings.CutSuffix(entry, "/..."); ok {
			return within(name, tree)
		}
		return entry == name || entry == thirdParty && from == foreign
	})
}

// within reports whether the import path name is tree or below it.
func within(name, tree string) bool {
	return name == tree || strings.HasPrefix(name, tree+"/")
}

// checkDrivers follows imports from the root package through the module and reports each
// SQL driver it meets. What other modules import in turn it cannot see.
func checkDrivers(files []*file) []string {
	type edge struct {
		f    *file
		pos  token.Pos
		path string
	}
	edges := map[string][]edge{}
	for _, f := range files {
		if f.test || f.nested {
			continue
		}
		for _, spec := range f.syntax.Imports {
			edges[f.pkg()] = append(edges[f.pkg()], edge{f, spec.Pos(), importPath(spec)})
		}
	}

	var findings []string
	chain := map[string]string{module: module} // how the root package reaches each package
	for queue := []string{module}; len(queue) > 0; queue = queue[1:] {
		for _, e := range edges[queue[0]] {
			name, from := resolve(e.path)
			if from == ours && chain[name] == "" {
				chain[name] = chain[queue[0]] + " -> " + name
				queue = append(queue, name)
			}
			isDriver := func(driver string) bool { return within(name, driver) }
			if from == foreign && slices.ContainsFunc(drivers, isDriver) {
				findings = append(findings, fmt.Sprintf("%s: the root package reaches the SQL driver %s (%s); import it in the test that opens the database",
					e.f.at(e.pos), name, chain[queue[0]]))
			}
		}
	}
	return findings
}

func TestCheckImports(t *testing.T) {
	testRule(t, checkImports, []example{
		{"standard library only", map[string]string{
			"choice/a.go": "package choice\n\nimport (\n\t\"fmt\"\n\t\"go/ast\"\n)\n",
			"clock/a.go":  "package clock\n\nimport \"time\"\n",
		}, nil},
		{"along the arrows", map[string]string{
			"a.go":                  "package exactlyone\n\nimport (\n\t\"exactlyone/choice\"\n\t\"exactlyone/internal/x/y\"\n)\n",
			"simsql/a.go":           "package simsql\n\nimport (\n\t\"exactlyone\"\n\t\"modernc.org/sqlite\"\n)\n",
			"stats/a.go":            "package stats\n\nimport \"gonum.org/v1/gonum/mathext\"\n",
			"cmd/explore/main.go":   "package main\n\nimport (\n\t\"exactlyone/simhttp\"\n\t\"github.com/spf13/cobra\"\n)\n",
			"cmd/flakestat/main.go": "package main\n\nimport \"exactlyone/flake\"\n",
		}, nil},
		{"tests and other modules are free", map[string]string{
			"choice/a_test.go":   "package choice\n\nimport \"exactlyone/model\"\n",
			"examples/x/go.mod":  "module x\n",
			"examples/x/main.go": "package main\n\nimport \"exactlyone/choice\"\n",
		}, nil},
		{"against the arrows", map[string]string{
			"clock/a.go": "package clock\n\nimport r \"exactlyone/retry\"\n",
			"model/a.go": "package model\n\nimport (\n\t\"fmt\"\n\t\"exactlyone/choice\"\n)\n",
		}, []string{
			"clock/a.go:3: clock imports retry but may import only the standard library; declare the interface you need and let the caller supply it",
			"model/a.go:5: model imports choice but may import only the standard library, clock, retry; declare the interface you need and let the caller supply it",
		}},
		{"the root imports an adapter", map[string]string{
			"a.go": "package exactlyone\n\nimport _ \"exactlyone/simsql\"\n",
		}, []string{
			"a.go:3: exactlyone imports simsql but may import only the standard library, clock, choice, model, interleave, props, retry, stats, internal/...; declare the interface you need and let the caller supply it",
		}},
		{"the two tools share nothing", map[string]string{
			"flake/a.go": "package flake\n\nimport \"exactlyone\"\n",
		}, []string{
			"flake/a.go:3: flake imports exactlyone but may import only the standard library, ingest, stats, modernc.org/sqlite/...; declare the interface you need and let the caller supply it",
		}},
		{"third-party is not the other tool", map[string]string{
			"simsql/a.go": "package simsql\n\nimport \"exactlyone/flake\"\n",
		}, []string{
			"simsql/a.go:3: simsql imports flake but may import only the standard library, exactlyone, interleave, model, clock, third-party packages; declare the interface you need and let the caller supply it",
		}},
		{"third-party", map[string]string{
			"ingest/a.go": "package ingest\n\nimport \"github.com/spf13/cobra\"\n",
			"stats/a.go":  "package stats\n\nimport \"gonum.org/v1/gonumx\"\n",
		}, []string{
			"ingest/a.go:3: ingest imports github.com/spf13/cobra but may import only the standard library; write the few lines it takes, or move the code to an adapter",
			"stats/a.go:3: stats imports gonum.org/v1/gonumx but may import only the standard library, gonum.org/v1/gonum/...; write the few lines it takes, or move the code to an adapter",
		}},
		{"not in the table", map[string]string{
			"fresh/a.go": "package fresh\n",
			"fresh/b.go": "package fresh\n\nimport \"exactlyone\"\n",
		}, []string{
			"fresh/a.go:1: nothing says what package fresh may import; add it to the table mayImport of internal/policy",
		}},
	})
}

func TestCheckDrivers(t *testing.T) {
	testRule(t, checkDrivers, []example{
		{"a driver in an adapter and in a test", map[string]string{
			"a.go":        "package exactlyone\n\nimport \"exactlyone/model\"\n",
			"a_test.go":   "package exactlyone\n\nimport _ \"modernc.org/sqlite\"\n",
			"model/a.go":  "package model\n\nimport \"database/sql\"\n",
			"simsql/a.go": "package simsql\n\nimport _ \"modernc.org/sqlite\"\n",
		}, nil},
		{"imported by the root", map[string]string{
			"a.go": "package exactlyone\n\nimport _ \"github.com/jackc/pgx/v5/stdlib\"\n",
		}, []string{
			"a.go:3: the root package reaches the SQL driver github.com/jackc/pgx/v5/stdlib (exactlyone); import it in the test that opens the database",
		}},
		{"reached through two packages", map[string]string{
			"a.go":             "package exactlyone\n\nimport \"exactlyone/internal/a\"\n",
			"internal/a/a.go":  "package a\n\nimport \"exactlyone/internal/db\"\n",
			"internal/db/a.go": "package db\n\nimport (\n\t\"exactlyone/internal/a\"\n\n\t_ \"modernc.org/sqlite\"\n)\n",
		}, []string{
			"internal/db/a.go:6: the root package reaches the SQL driver modernc.org/sqlite (exactlyone -> internal/a -> internal/db); import it in the test that opens the database",
		}},
	})
}

// TestImportTable guards the table itself: a misspelt entry would forbid what it means to
// allow, and a row that reaches itself would bless a cycle.
func TestImportTable(t *testing.T) {
	for _, pkg := range slices.Sorted(maps.Keys(mayImport)) {
		seen := map[string]bool{}
		for queue := slices.Clone(mayImport[pkg]); len(queue) > 0; queue = queue[1:] {
			name := queue[0]
			row, ok := mayImport[name]
			if name == thirdParty || strings.Contains(name, ".") || seen[name] {
				continue
			}
			if !ok {
				t.Errorf("a row reached from %s names %s, which has no row", pkg, name)
			}
			if name == pkg {
				t.Errorf("the rows let %s import itself", pkg)
			}
			seen[name] = true
			queue = append(queue, row...)
		}
	}
}
