// Package market is the SDK of the Gantry market: addresses, instructions, decoded accounts kept up to date in memory,
// the protocol's formulas, money with types, and program errors that say what to do.
//
// It adds to the generated bindings (idl/bindings) what the interface description cannot say: which account belongs in
// which place, what a status means, and what follows from state.
package market
