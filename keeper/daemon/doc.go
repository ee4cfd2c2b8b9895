// Package daemon makes a keeper of its parts (Open, openParts) and runs each in a goroutine that Run owns. What is left
// to it is wiring, health, the clock, the seeds of committees, and the guard against a duplicate signer.
//
// A keeper may be killed at any moment. What it signed and voted for is in its store before any peer receives it, what
// it sends to the chain is in the transaction manager's store, and everything else is read again from the chain and
// from its peers.
package daemon
