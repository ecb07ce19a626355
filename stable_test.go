package exactlyone

import (
	"context"
	"fmt"
	"testing"

	"exactlyone/interleave"
)

// TestStable: stable keys tell the same states apart as keys, and are the same in
// every process, at any number of workers.
func TestStable(t *testing.T) {
	programs := uint64(100)
	if testing.Short() {
		programs = 10
	}
	for seed := range programs {
		p := newProgram(seed, 2+int(seed%3))
		var all [2]map[interleave.Key]interleave.Key
		for i, workers := range []int{1, 3} {
			tab, err := newTables(p.system(), p.bounds)
			if err != nil {
				t.Fatal(err)
			}
			for n := range i * 7 { // other numbers
				tab.values.ID(token(fmt.Sprint(n)))
			}
			w := newWorld(tab, reductions{true, true, true})
			all[i] = map[interleave.Key]interleave.Key{} // stable → not
			keys := map[interleave.Key]interleave.Key{}
			interleave.Explore(context.Background(), interleave.Config{Workers: workers, Memory: 1 << 20, Visit: func(v []uint32) {
				key, stable := w.Key(v), w.Stable(v)
				if other, ok := all[i][stable]; ok && other != key {
					t.Fatalf("one stable key for two states\n%s", p)
				}
				if other, ok := keys[key]; ok && other != stable {
					t.Fatalf("two stable keys for one state\n%s", p)
				}
				all[i][stable], keys[key] = key, stable
			}}, w)
			tab.close()
		}
		for k := range all[0] {
			if _, ok := all[1][k]; !ok {
				t.Fatalf("a stable key differs between searches\n%s", p)
			}
		}
	}
}
