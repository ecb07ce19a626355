// Package policy asks: does the source of this repository keep the rules it set itself?
//
// It holds nothing but tests. They parse every Go file and fail with file, line and what
// to write instead. The rules are:
//
//   - imports go one way, as the table in imports_test.go lists them, and the root package
//     reaches no SQL driver;
//   - time, chance and the end of the process each have one door (forbidden_test.go);
//   - files and functions stay short (size_test.go);
//   - packages and exported names are documented (docs_test.go);
//   - no file names a directory of the machine it was written on (paths_test.go).
//
// Each rule is itself tested with small sources that break it and others that keep it.
package policy
