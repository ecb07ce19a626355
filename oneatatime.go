package exactlyone

import (
	"runtime"
	"sync"
)

// single counts the checks of ordinary code under way. While there is one, one
// goroutine runs at a time in the whole program: those of the code under test then
// take turns in the same order each time, as when two want the only connection of a
// pool. It is not slower: what they do is learned one after another anyhow.
var single struct {
	sync.Mutex
	checks int
	before int
}

// oneAtATime lets one goroutine run at a time until end is called.
func oneAtATime() (end func()) {
	single.Lock()
	defer single.Unlock()
	if single.checks++; single.checks == 1 {
		single.before = runtime.GOMAXPROCS(1)
	}
	return func() {
		single.Lock()
		defer single.Unlock()
		if single.checks--; single.checks == 0 {
			runtime.GOMAXPROCS(single.before)
		}
	}
}
