// Package bisect answers: which commit changed the rate at which a test fails, and which
// commit should the next run try?
//
// A bisection by halves needs a test that always fails after the change and never before.
// Here it may fail now and then on both sides, at rates that nobody knows: a Search keeps
// the posterior over commits and asks for the run that tells most. It does no running
// itself.
package bisect
