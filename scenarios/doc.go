// Package scenarios asks: what do real writers get wrong, and what does it take
// to get it right?
//
// Each test file is one scenario: a small writer with one flaw, the shortest way
// to make the flaw show, and a corrected variant that bears every fault its
// client can meet, in memory and on SQLite. Two scenarios of the set, W08 and
// W11, need what only PostgreSQL does to a transaction, and are not here.
package scenarios
