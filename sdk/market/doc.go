// Package market has the types and rules of the Gantry market: decoded accounts, addresses, enums, money with types,
// the program's formulas and checks, events, and program errors with advice. It does no input or output; instructions
// are built in package ix, accounts are read in packages query and view.
//
// It adds to the generated bindings (idl/bindings) what the interface description cannot say: what a status means, and
// what follows from state.
package market
