// Package daemon makes a keeper of its parts (Open, openParts) and runs each in a goroutine that Run owns. The package
// itself has the wiring, health, the clock, the seeds of committees, and the guard against a duplicate signer.
//
// A keeper may be killed at any moment. It stores what it signed and voted for before any peer receives it. The
// transaction manager stores what the keeper sends to the chain. The keeper reads everything else again from the chain
// and from its peers.
package daemon
