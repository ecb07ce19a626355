// Package exactlyone answers: does this code leave exactly one effect,
// whatever crashes, gets lost, repeats or expires?
//
// Describe your writer and its surroundings as a [System] and call [Check] in
// a test, or [Run] elsewhere. Every schedule of its requests, and every fault
// within the [Bounds], is tried; where a property is broken you get the
// smallest story that breaks it, saved as a file that the next run tries first.
//
// The writer stays ordinary code. It reaches its store, the clock and the
// network through what [Env] gives it; each of these parks the request until
// the scheduler has done what it asks for. Faults are only how the scheduler
// answers. Code that runs between two such steps is taken to be one step:
// interleavings of goroutines within it are not explored.
package exactlyone
