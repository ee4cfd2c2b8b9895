// Package messages defines what customers, agents and keepers send each other: every protocol id and topic name, and
// the messages.
//
// Every message is canonical CBOR with a version field. The sender is known from the connection: a peer's identity is
// the ed25519 key that is registered on chain (node key, keeper wallet, customer wallet).
package messages

// Version and Minor are the version of everything that this program says to peers, written MAJOR.MINOR. Peers of another
// major version are refused; those of another minor one work: docs/adr/0019-protocol-versions.md. The Version field of a
// message is the major version. 3: statements carry figures, and no products are asked for. 3.1: checks of a node's line.
const (
	Version = 3
	Minor   = 1
)

// MaxMessage is the largest message, bytes.
const MaxMessage = 5 << 20
