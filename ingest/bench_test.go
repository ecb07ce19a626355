package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"testing"
	"time"
)

// The structs into which the standard library decodes the same bytes: the fields that Read
// uses, and no more.
type (
	xmlSuite struct {
		Name      string    `xml:"name,attr"`
		Tests     int       `xml:"tests,attr"`
		Testcases []xmlCase `xml:"testcase"`
	}
	xmlCase struct {
		Class   string      `xml:"classname,attr"`
		Name    string      `xml:"name,attr"`
		Time    string      `xml:"time,attr"`
		Failure *xmlFailure `xml:"failure"`
		Skipped *struct{}   `xml:"skipped"`
	}
	xmlFailure struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
	jsonEvent struct {
		Time        time.Time
		Action      string
		Package     string
		Test        string
		Elapsed     float64
		Output      string
		FailedBuild string
	}
)

// BenchmarkRead compares Read with the decoders of the standard library on the same bytes,
// within one run: the metric "times-std" says how many times as fast Read is.
func BenchmarkRead(b *testing.B) {
	read := func(data []byte) int64 {
		sum, err := Read(bytes.NewReader(data), "bench", func(Record) error { return nil })
		if err != nil {
			b.Fatal(err)
		}
		return sum.Records
	}
	const tests = 20_000
	for _, bench := range []struct {
		name   string
		report func(n int) io.Reader
		std    func([]byte) int64
	}{
		{"junit", junitReport, decodeXML},
		{"gotest", goReport, decodeJSON},
	} {
		b.Run(bench.name, func(b *testing.B) {
			data, err := io.ReadAll(bench.report(tests))
			if err != nil {
				b.Fatal(err)
			}
			if got, std := read(data), bench.std(data); got != tests || std != tests {
				b.Fatalf("read %d tests, the standard library %d, want %d", got, std, tests)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				read(data)
			}
			ours := b.Elapsed() / time.Duration(b.N)
			start := time.Now()
			const rounds = 3
			for range rounds {
				bench.std(data)
			}
			b.ReportMetric(float64(time.Since(start)/rounds)/float64(ours), "times-std")
		})
	}
}

// decodeXML decodes suite by suite, as a program does that wants bounded memory.
func decodeXML(data []byte) (tests int64) {
	dec := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := dec.Token()
		if err != nil {
			return tests
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "testsuite" {
			var s xmlSuite
			if dec.DecodeElement(&s, &start) != nil {
				return -1
			}
			tests += int64(len(s.Testcases))
		}
	}
}

// decodeJSON decodes line by line.
func decodeJSON(data []byte) (tests int64) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var e jsonEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			return -1
		}
		if e.Test != "" && (e.Action == "pass" || e.Action == "fail") {
			tests++
		}
	}
	return tests
}
