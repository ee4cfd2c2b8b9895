// Package schedule decides when a keeper does what:
//   - the order in which keepers try the same thing (Rank, Stagger);
//   - how often they look for something to do (Every, OnChange);
//   - how they do several things at a time (Runner).
//
// The moment of a period at which nodes are asked for work is in sdk/market/instant.
//
// A running keeper uses goroutines and the wall clock (System). A simulation supplies its own Runner, which runs one
// task at a time in virtual time. The same code then does the same thing for the same seed. A component that takes a
// Runner must therefore not use bare goroutines, context.WithTimeout or time.Sleep for its work. It blocks only in
// calls to the Runner or to its other dependencies.
package schedule
