// Package daemon puts a keeper together: chain watcher, transaction manager, network, checks, reports, awards and crank,
// each in goroutines that Run owns.
//
// A keeper may be killed at any moment. What it signed and voted is in its store before anybody hears of it, what it
// sends is in the transaction manager's, and everything else is read again from the chain and from its peers.
package daemon
