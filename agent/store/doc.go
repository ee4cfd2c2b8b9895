// Package store keeps what an agent must not forget: its leases, the receipts
// it signed, the work it committed to, and its settings.
//
// The rule is write first, act second: a state change is on disk before the
// process is started, the receipt is released or the transaction is sent. After
// kill -9 at any moment the agent reads here what it had promised.
//
// The file is a bbolt database with a schema version. Every record is versioned
// JSON behind a SHA-256 checksum, so that a damaged byte is reported as
// [ErrCorrupt] and never read as a smaller guarantee. One process may open the
// file at a time.
package store
