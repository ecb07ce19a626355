// Package herd answers: when many clients retry at once, how many calls do
// they make and how long does it take until all are done?
//
// It simulates on virtual time, in whole nanoseconds, event by event; of two
// events at one instant the one created first comes first. Three questions:
//
//   - [Race]: clients write one row under optimistic concurrency on a server
//     that answers any number of requests at once;
//   - [Crowd]: the same on a server of limited capacity, whose clients lose
//     patience;
//   - [Stack]: layers that each retry the layer below, down to a backend that
//     fails.
//
// Every repetition draws from a stream of its own, set by the seed and by what
// is repeated, so results do not depend on the number of workers.
package herd
