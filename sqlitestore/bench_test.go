package sqlitestore_test

import (
	"testing"

	"exactlyone"
	"exactlyone/clock"
	"exactlyone/model"
)

// BenchmarkTransaction is BEGIN, a lookup, an insert and COMMIT. Every
// sixteenth is followed by a DELETE, so that the content stays small.
func BenchmarkTransaction(b *testing.B) {
	lookup := exactlyone.StmtOp{Stmt: model.Select("jobs", model.Eq("title", "a"))}
	var inserts [16]exactlyone.StmtOp
	for i := range inserts {
		inserts[i].Stmt = job(string(rune('b'+i)), model.Set("n", i), model.Set("due", at(0)))
	}
	empty := exactlyone.StmtOp{Stmt: model.Delete("jobs")}
	for _, s := range stores {
		b.Run(s.name, func(b *testing.B) {
			w := open(b, s.open)
			n := 0
			for b.Loop() {
				w.op(begin)
				w.op(lookup)
				w.op(inserts[n%16])
				w.op(commit)
				if n++; n%16 == 0 {
					w.op(empty)
				}
			}
		})
	}
}

// BenchmarkRestore reads at two places in turn; each has one job more or less
// than the other.
func BenchmarkRestore(b *testing.B) {
	look := exactlyone.StmtOp{Stmt: model.Select("jobs", model.Eq("title", "a"))}
	for _, session := range []string{"committed", "session"} {
		for _, s := range stores {
			b.Run(session+"/"+s.name, func(b *testing.B) {
				w := open(b, s.open, job("a"))
				if session == "session" {
					w.op(begin)
				}
				places := [2]walk{*w}
				w.do(job("b"))
				places[1] = *w
				n := 0
				for b.Loop() {
					p := &places[n%2]
					w.backend.Do(p.shared, p.session, look, clock.Epoch)
					n++
				}
			})
		}
	}
}
