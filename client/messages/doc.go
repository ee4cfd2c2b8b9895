// Package messages defines what customers, agents and keepers send each other: every protocol id and topic name, and
// the messages.
//
// Every message is canonical CBOR with a version field. The sender is known from the connection: a peer's identity is
// the ed25519 key that is registered on chain (node key, keeper wallet, customer wallet).
package messages

// Version is the version of every message in this package; another one is refused. 2: work proofs are signed.
const Version = 2

// MaxMessage is the largest message, bytes. A work proof's product of side 512 is 1 MiB.
const MaxMessage = 5 << 20
