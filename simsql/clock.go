package simsql

import (
	"time"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// environment is what SQLite asks of the world on one connection: the time and
// random numbers. It lies in SQLite's own memory, just behind a copy of the
// default VFS, and is read there by functions that SQLite calls:
//
//	[ sqlite3_vfs, a copy with another xCurrentTimeInt64 | environment ]
type environment struct {
	now    int64 // milliseconds since noon of 24 November 4714 BC, as SQLite counts
	random uint64

	changes, total int64 // what changes() and total_changes() answer
}

const (
	vfsSize  = unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})
	vfsAlign = (vfsSize + 15) &^ 15

	julianUnixEpoch = 210866760000000 // milliseconds
)

// world is a VFS of its own name with an environment behind it.
type world struct {
	tls  *libc.TLS
	vfs  uintptr
	name string
}

func newWorld(name string) (*world, error) {
	w := &world{tls: libc.NewTLS(), name: name}
	sqlite3.Xsqlite3_initialize(w.tls)
	std := sqlite3.Xsqlite3_vfs_find(w.tls, 0)
	size := vfsAlign + unsafe.Sizeof(environment{})
	w.vfs = sqlite3.Xsqlite3_malloc64(w.tls, uint64(size))
	zName, err := libc.CString(name)
	if err != nil {
		return nil, err
	}
	v := w.at()
	*v = *(*sqlite3.Tsqlite3_vfs)(pointer(std))
	v.FzName, v.FpNext = zName, 0
	v.FxCurrentTimeInt64 = *(*uintptr)(unsafe.Pointer(&struct {
		f func(*libc.TLS, uintptr, uintptr) int32
	}{currentTime}))
	*w.env() = environment{}
	sqlite3.Xsqlite3_vfs_register(w.tls, w.vfs, 0)
	return w, nil
}

// pointer is an address in SQLite's memory, which the garbage collector does not
// move.
func pointer(p uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&p)) }

func (w *world) at() *sqlite3.Tsqlite3_vfs { return (*sqlite3.Tsqlite3_vfs)(pointer(w.vfs)) }

func (w *world) env() *environment { return envAt(w.vfs) }

func envAt(vfs uintptr) *environment { return (*environment)(pointer(vfs + vfsAlign)) }

func (w *world) setTime(t time.Time) { w.env().now = t.UnixMilli() + julianUnixEpoch }

// close frees the VFS. No connection may use it any more.
func (w *world) close() {
	sqlite3.Xsqlite3_vfs_unregister(w.tls, w.vfs)
	libc.Xfree(w.tls, w.at().FzName)
	sqlite3.Xsqlite3_free(w.tls, w.vfs)
	w.tls.Close()
}

func currentTime(_ *libc.TLS, vfs, now uintptr) int32 {
	*(*int64)(pointer(now)) = envAt(vfs).now
	return sqlite3.SQLITE_OK
}

// define makes a connection answer random(), randomblob(), changes() and
// total_changes() from its environment, and adds simsql_row.
func (w *world) define(db uintptr) error {
	for _, f := range []struct {
		name string
		args int32
		do   func(*libc.TLS, uintptr, int32, uintptr)
	}{
		{"random", 0, random},
		{"randomblob", 1, randomBlob},
		{"changes", 0, changes},
		{"total_changes", 0, totalChanges},
		{"simsql_row", -1, addRow},
	} {
		zName, err := libc.CString(f.name)
		if err != nil {
			return err
		}
		call := *(*uintptr)(unsafe.Pointer(&struct {
			f func(*libc.TLS, uintptr, int32, uintptr)
		}{f.do}))
		rc := sqlite3.Xsqlite3_create_function_v2(w.tls, db, zName, f.args, sqlite3.SQLITE_UTF8, w.vfs, call, 0, 0, 0)
		libc.Xfree(w.tls, zName)
		if rc != sqlite3.SQLITE_OK {
			return errInternal("cannot define " + f.name)
		}
	}
	return nil
}

// next is the next random number: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
func (e *environment) next() uint64 {
	e.random += 0x9e3779b97f4a7c15
	z := e.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func envOf(tls *libc.TLS, ctx uintptr) *environment {
	return envAt(sqlite3.Xsqlite3_user_data(tls, ctx))
}

func random(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	sqlite3.Xsqlite3_result_int64(tls, ctx, int64(envOf(tls, ctx).next()))
}

func randomBlob(tls *libc.TLS, ctx uintptr, _ int32, argv uintptr) {
	n := max(1, sqlite3.Xsqlite3_value_int64(tls, *(*uintptr)(pointer(argv))))
	if n > 1<<20 {
		sqlite3.Xsqlite3_result_error_toobig(tls, ctx)
		return
	}
	p := sqlite3.Xsqlite3_malloc64(tls, uint64(n))
	env, b := envOf(tls, ctx), unsafe.Slice((*byte)(pointer(p)), n)
	for i := range b {
		b[i] = byte(env.next())
	}
	sqlite3.Xsqlite3_result_blob(tls, ctx, p, int32(n), transient)
	sqlite3.Xsqlite3_free(tls, p)
}

// transient is SQLITE_TRANSIENT: SQLite makes a copy.
const transient = ^uintptr(0)

func changes(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	sqlite3.Xsqlite3_result_int64(tls, ctx, envOf(tls, ctx).changes)
}

func totalChanges(tls *libc.TLS, ctx uintptr, _ int32, _ uintptr) {
	sqlite3.Xsqlite3_result_int64(tls, ctx, envOf(tls, ctx).total)
}
