package interleave

import (
	"sync"
	"sync/atomic"
)

// together calls f for 0 to n-1, on so many workers at once, each of which
// takes the next number as soon as it can. A panic in f is one of the caller.
func together(workers, n int, f func(worker, i int)) {
	if workers = min(workers, n); workers <= 1 {
		for i := range n {
			f(0, i)
		}
		return
	}
	var wg sync.WaitGroup
	var taken atomic.Int64
	failed := make([]any, workers)
	for w := range workers {
		wg.Go(func() {
			ended := false
			defer func() {
				if failed[w] = recover(); failed[w] == nil && !ended {
					failed[w] = ErrGoexit
				}
			}()
			for i := int(taken.Add(1)) - 1; i < n; i = int(taken.Add(1)) - 1 {
				f(w, i)
			}
			ended = true
		})
	}
	wg.Wait()
	for _, r := range failed {
		if r != nil {
			panic(r) // the code under test is at fault; the caller reports it
		}
	}
}
