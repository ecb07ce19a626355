package ingest

import (
	"fmt"
	"io"
	"strconv"
)

// generator is a report made up while it is read, so that one of a gigabyte needs no disk and
// no memory.
type generator struct {
	part  func(b []byte, n int) []byte // appends the n-th part
	end   string
	n     int
	parts int
	rest  []byte
	buf   []byte
}

func (g *generator) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		switch {
		case g.n < g.parts:
			g.buf = g.part(g.buf[:0], g.n)
		case g.n == g.parts:
			g.buf = append(g.buf[:0], g.end...)
		default:
			return 0, io.EOF
		}
		g.rest = g.buf
		g.n++
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// junitReport is a JUnit file of n testcases, 120 bytes each: 9 million make a GiB. One in a
// thousand fails; each class has a thousand tests.
func junitReport(n int) io.Reader {
	return &generator{parts: n, end: "</testsuite>\n</testsuites>\n", part: func(b []byte, i int) []byte {
		if i == 0 {
			b = append(b, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"...)
		}
		if i%1000 == 0 {
			if i > 0 {
				b = append(b, "</testsuite>\n"...)
			}
			b = fmt.Appendf(b, "<testsuite name=\"org.example.harbour.Suite%05d\" tests=\"1000\" time=\"1.5\">\n", i/1000)
		}
		b = append(b, "  <testcase classname=\"org.example.harbour.Suite"...)
		b = appendPadded(b, i/1000, 5)
		b = append(b, "\" name=\"shipsTheNextParcelNumber"...)
		b = appendPadded(b, i, 8)
		if i%1000 == 999 {
			return append(b, "\" time=\"0.002\"><failure message=\"wrong berth\">at Order.java:3</failure></testcase>\n"...)
		}
		return append(b, "\" time=\"0.002\"></testcase>\n"...)
	}}
}

// goReport is a Go stream of n tests in packages of a thousand, about 600 bytes each: what
// go test -json writes for a test that passes.
func goReport(n int) io.Reader {
	return &generator{parts: n, part: func(b []byte, i int) []byte {
		head := func(action string, test bool) {
			b = append(b, `{"Time":"2026-11-30T17:17:11.500594592Z","Action":"`...)
			b = append(b, action...)
			b = append(b, `","Package":"example.test/harbour/p`...)
			b = appendPadded(b, i/1000, 5)
			if test {
				b = append(b, `","Test":"TestShips`...)
				b = appendPadded(b, i, 8)
			}
			b = append(b, '"')
		}
		line := func(before, after string) {
			head("output", true)
			b = append(b, `,"Output":"`...)
			b = append(b, before...)
			b = appendPadded(b, i, 8)
			b = append(b, after...)
			b = append(b, "\\n\"}\n"...)
		}
		if i%1000 == 0 {
			head("start", false)
			b = append(b, "}\n"...)
		}
		result := "pass"
		head("run", true)
		b = append(b, "}\n"...)
		line("=== RUN   TestShips", "")
		if i%1000 == 998 {
			result = "fail"
			line("    ship_test.go:12: parcel ", " is missing")
		}
		line("--- PASS: TestShips", " (0.00s)")
		head(result, true)
		b = append(b, ",\"Elapsed\":0.01}\n"...)
		if i%1000 == 999 {
			head("fail", false)
			b = append(b, ",\"Elapsed\":1.5}\n"...)
		}
		return b
	}}
}

// appendPadded appends n in decimal with leading zeros.
func appendPadded(b []byte, n, width int) []byte {
	for i, p := len(strconv.Itoa(n)), width; p > i; p-- {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(n), 10)
}
