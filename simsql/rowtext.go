package simsql

import (
	"database/sql/driver"
	"encoding/hex"
	"strconv"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// rowText collects the rows of a table as text. SQLite hands each row to a function
// of ours, simsql_row, since rows that come out through the driver take several
// times as long.
type rowText struct {
	lines []string
	dates []driver.Value // those that may be times
	buf   []byte
}

// reading are the rowTexts of the workers, by their VFS.
var reading sync.Map

// addRow is simsql_row.
func addRow(tls *libc.TLS, ctx uintptr, n int32, argv uintptr) {
	found, ok := reading.Load(sqlite3.Xsqlite3_user_data(tls, ctx))
	if !ok {
		sqlite3.Xsqlite3_result_null(tls, ctx)
		return
	}
	r := found.(*rowText)
	r.buf = append(r.buf[:0], '(')
	for i := range n {
		if i > 0 {
			r.buf = append(r.buf, ", "...)
		}
		r.add(tls, *(*uintptr)(pointer(argv + uintptr(i)*unsafe.Sizeof(argv))))
	}
	r.lines = append(r.lines, string(append(r.buf, ')')))
	sqlite3.Xsqlite3_result_null(tls, ctx)
}

// add appends a value as literal does.
func (r *rowText) add(tls *libc.TLS, value uintptr) {
	switch sqlite3.Xsqlite3_value_type(tls, value) {
	case sqlite3.SQLITE_INTEGER:
		v := sqlite3.Xsqlite3_value_int64(tls, value)
		r.buf = strconv.AppendInt(r.buf, v, 10)
		if mayBeTime(v) {
			r.dates = append(r.dates, v)
		}
	case sqlite3.SQLITE_FLOAT:
		r.buf = append(r.buf, literal(sqlite3.Xsqlite3_value_double(tls, value))...)
	case sqlite3.SQLITE_TEXT:
		p := sqlite3.Xsqlite3_value_text(tls, value)
		text := bytesAt(p, sqlite3.Xsqlite3_value_bytes(tls, value))
		r.buf = append(r.buf, '\'')
		for _, c := range text {
			if c == '\'' {
				r.buf = append(r.buf, '\'')
			}
			r.buf = append(r.buf, c)
		}
		r.buf = append(r.buf, '\'')
		if looksLikeTime(text) {
			r.dates = append(r.dates, string(text))
		}
	case sqlite3.SQLITE_BLOB:
		p := sqlite3.Xsqlite3_value_blob(tls, value)
		blob := bytesAt(p, sqlite3.Xsqlite3_value_bytes(tls, value))
		r.buf = append(hex.AppendEncode(append(r.buf, "x'"...), blob), '\'')
		if looksLikeTime(blob) {
			r.dates = append(r.dates, string(blob))
		}
	default:
		r.buf = append(r.buf, "NULL"...)
	}
}

// bytesAt is n bytes of SQLite's memory.
func bytesAt(p uintptr, n int32) []byte {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(pointer(p)), n)
}

// rows performs a statement that calls simsql_row for each row.
func (w *worker) rows(text string) (*rowText, error) {
	r := &rowText{}
	reading.Store(w.world.vfs, r)
	defer reading.Delete(w.world.vfs)
	return r, w.exec(text)
}
