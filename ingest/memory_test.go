package ingest

import (
	"flag"
	"io"
	"runtime"
	"testing"
)

var gigabyte = flag.Bool("gigabyte", false, "read reports of a GiB and more in TestMemory: 9 million tests")

// TestMemory bounds the live heap while a report of 32 MiB is read. With -gigabyte it reads 9
// million tests of JUnit (1 GiB) and of Go (5 GiB) and bounds what memory the process takes:
//
//	go test -run TestMemory -v ./ingest -gigabyte
func TestMemory(t *testing.T) {
	for _, test := range []struct {
		name    string
		report  func(n int) io.Reader
		tests   int
		perTest uint64 // bytes that may stay for each test
	}{
		{"junit", junitReport, 280_000, 10},
		{"gotest", goReport, 55_000, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := test.tests
			if *gigabyte {
				n = 9_000_000
			}
			counted := &countingReader{in: test.report(n)}
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var live uint64
			every := n / 4
			records := 0
			sum, err := Read(counted, test.name, func(Record) error {
				if records++; records%every == 0 && !*gigabyte { // a collection would spoil what is measured then
					runtime.GC()
					runtime.ReadMemStats(&now)
					live = max(live, now.HeapAlloc-min(now.HeapAlloc, before.HeapAlloc))
				}
				return nil
			})
			if err != nil || sum.Records != int64(n) {
				t.Fatalf("read %d records, error %v; want %d", sum.Records, err, n)
			}
			if len(sum.Warnings) > 0 {
				t.Errorf("warnings %v, want none", sum.Warnings)
			}
			const fixed = 4 << 20
			if limit := fixed + uint64(n)*test.perTest; live > limit {
				t.Errorf("%d bytes live while %d tests are read, want at most %d", live, n, limit)
			}
			if *gigabyte {
				runtime.ReadMemStats(&now)
				t.Logf("%d tests, %d MiB: the process took %d MiB from the system", n, counted.n>>20, now.Sys>>20)
				if limit := uint64(200 << 20); now.Sys > limit {
					t.Errorf("want at most %d MiB", limit>>20)
				}
			}
		})
	}
}

type countingReader struct {
	in io.Reader
	n  int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}
