//go:build unix

package exactlyone_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"exactlyone"
	"exactlyone/sqlitestore"
)

// backends carry out statements.
var backends = []struct {
	name string
	open func(exactlyone.Store) (exactlyone.Backend, error)
}{{"memory", exactlyone.Memory}, {"sqlite", sqlitestore.Open}}

// onStore searches w on a store.
func onStore(t testing.TB, open func(exactlyone.Store) (exactlyone.Backend, error), writer string, size [4]int, o exactlyone.Options) *exactlyone.Result {
	t.Helper()
	o.Workers = 1
	r, err := exactlyone.Run(t.Context(), exactlyone.WSystemOn(open, writer), exactlyone.WBounds(size[0], size[1], size[2], size[3]), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWOnStores: w has the same states on tables, in memory and on SQLite, as on
// the store that was made for it.
func TestWOnStores(t *testing.T) {
	for _, b := range backends {
		if r := onStore(t, b.open, "key_atomic", [4]int{3, 1, 1, 1}, exactlyone.Options{}); r.Verdict != exactlyone.Holds || r.States != 7441 {
			t.Errorf("%s: %s, %d states, want 7441", b.name, r.Verdict, r.States)
		}
		for _, writer := range []string{"naive", "key_split", "key_atomic_nofence"} {
			r := onStore(t, b.open, writer, [4]int{2, 1, 1, 1}, exactlyone.Options{})
			if want := map[string]int{"naive": 4, "key_split": 8, "key_atomic_nofence": 9}[writer]; r.Verdict != exactlyone.Violated || len(r.Story.Steps) != want {
				t.Errorf("%s, %s: %s, %d steps, want %d", b.name, writer, r.Verdict, len(r.Story.Steps), want)
			}
		}
	}
}

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkStores is w on the store in memory and on SQLite: executions drawn at
// random for each second of processor time, set-up and the executions that are
// run again for real included, and the whole state space. What a statement does to
// a content is asked of the store once; "statements" are those carried out in one
// search, the way back to other contents included.
func BenchmarkStores(b *testing.B) {
	const executions = 100_000
	for _, s := range backends {
		for _, size := range [][4]int{{2, 1, 1, 1}, {3, 2, 2, 2}} {
			var last exactlyone.Backend
			open := func(st exactlyone.Store) (exactlyone.Backend, error) {
				b, err := s.open(st)
				last = b
				return b, err
			}
			statements := func(b *testing.B) {
				if c, ok := last.(interface {
					Counts() (statements, restores int)
				}); ok {
					n, _ := c.Counts()
					b.ReportMetric(float64(n), "statements")
				}
			}
			name := fmt.Sprintf("W(%d,%d,%d,%d)/%s", size[0], size[1], size[2], size[3], s.name)
			b.Run("random/"+name, func(b *testing.B) {
				before := cpu(b)
				for b.Loop() {
					onStore(b, open, "key_atomic", size, exactlyone.Options{Search: "random", Executions: executions})
				}
				b.ReportMetric(float64(b.N)*executions/(cpu(b)-before).Seconds(), "executions/cpu-s")
				statements(b)
			})
			b.Run("exhaustive/"+name, func(b *testing.B) {
				for b.Loop() {
					onStore(b, open, "key_atomic", size, exactlyone.Options{})
				}
				statements(b)
			})
		}
	}
}
