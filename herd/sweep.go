package herd

import (
	"context"
	"runtime"
	"sync"
)

// sweep runs jobs 0 to n-1 on so many workers (0 means one a core), in any
// order. Each worker has a function of its own, made by newWorker. It stops
// early when ctx ends; progress is called after each job, one call at a time.
func sweep(ctx context.Context, workers, n int, newWorker func() func(job int), progress func(done, total int)) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var mu sync.Mutex
	started, done := 0, 0
	take := func() (job int, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		if started == n || ctx.Err() != nil {
			return 0, false
		}
		started++
		return started - 1, true
	}
	finished := func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		if progress != nil {
			progress(done, n)
		}
	}
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			do := newWorker()
			for {
				job, ok := take()
				if !ok {
					return
				}
				do(job)
				finished()
			}
		})
	}
	wg.Wait()
}
