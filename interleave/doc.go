// Package interleave answers: in which order can these tasks take their steps,
// and is there one that goes wrong?
//
// A task is ordinary code that asks for what it wants done ([Tasks.Ask]) and
// parks; somebody else does it and hands the outcome back. So a task is a
// deterministic function of the outcomes it was given, its history, and
// [Tree] keeps one node per history with what the task asks next: the code
// runs once for each history, not once for each execution. States are
// therefore short vectors of numbers, and [Explore] searches them as a model
// checker does, although nobody wrote a model.
package interleave
