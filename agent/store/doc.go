// Package store keeps what an agent is held to: its leases, the receipts that it signed, and its
// bids.
//
// The rule is write first, act second: a state change is on disk before the process is started, the receipt is released
// or the transaction is sent. After kill -9 at any moment the agent reads here what it had promised.
//
// The entries are JSON in a file of internal/boltstore, which notices every changed byte. One process may open the file
// at a time.
package store
