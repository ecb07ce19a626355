// Package model answers: what do clients, servers and stores say to each other
// when an operation must leave exactly one effect?
//
// It has the port through which a writer reaches its tables ([Store], [Tx],
// [Stmt]), what travels between client and server ([Request], [Answer]), the
// client's retry loop ([Client]) with its four key sources, and four writers
// to compare: [Naive], [KeySplit] and [KeyAtomic] with and without its fence.
// All of it is ordinary code that would run in production as it stands: it
// knows no scheduler, and it never asks for the time but through a
// [exactlyone/clock.Clock].
package model
