// Package scenarios asks: what do real writers get wrong, and what does it take
// to get it right?
//
// Each test file is one scenario: a small writer with one flaw, the shortest way
// to make the flaw show, and a corrected variant that bears every fault its
// client can meet, in memory, on SQLite, and with transactions side by side. One
// scenario of the set is not here: W08 needs a transaction that refuses
// everything after an error, and that the store in memory does not have.
package scenarios
