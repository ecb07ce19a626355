package policy

import (
	"os"
	"testing"
)

// root is where the repository begins, seen from this package.
const root = "../.."

// rules are the checks on Go source. Each returns its findings, in the order of the files:
// "file:line: what is wrong; what to do instead".
var rules = []struct {
	name  string
	check func([]*file) []string
}{
	{"imports", checkImports},
	{"drivers", checkDrivers},
	{"forbidden", checkForbidden},
	{"size", checkSize},
	{"docs", checkDocs},
}

// TestRepository applies every rule to the repository as it stands.
func TestRepository(t *testing.T) {
	files, err := load(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no Go file found below %s", root)
	}
	for _, rule := range rules {
		t.Run(rule.name, func(t *testing.T) {
			for _, finding := range rule.check(files) {
				t.Error(finding)
			}
		})
	}
}
