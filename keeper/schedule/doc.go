// Package schedule is how the parts of a keeper do several things at a time and wait for them.
//
// A running keeper uses goroutines and the wall clock (System). A simulation gives its own Runner, which runs one thing at a
// time in virtual time, so that the same code does the same thing for the same seed. A part that takes a Runner must
// therefore not use bare goroutines, context.WithTimeout or time.Sleep for what it does, and blocks only in calls to the
// Runner or to what else it was given.
package schedule
