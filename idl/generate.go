// Package idl holds the market program's interface description, gantry_market.json, and the Go bindings generated from
// it in bindings. `make idl` rebuilds both from the program; continuous integration fails when they differ.
package idl

//go:generate go run ./internal/generate gantry_market.json bindings bindings
