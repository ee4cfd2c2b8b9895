// Package messages defines what customers, agents and keepers send each other: every protocol id and topic name, and
// the messages.
//
// Every message is canonical CBOR with a version field. The sender is known from the connection: a peer's identity is
// the ed25519 key that is registered on chain (node key, keeper's signer, customer's wallet).
package messages

// Version and Minor are the version of everything that this program says to peers, written MAJOR.MINOR. Peers of another
// major version are refused; those of another minor one work: docs/adr/0019-protocol-versions.md. The Version field of a
// message is the major version.
const (
	Version = 1
	Minor   = 0
)

// MaxMessage is the largest message, bytes.
const MaxMessage = 5 << 20

// MaxCustomerMessage is the largest message between a customer and the machine of its lease, bytes. It has room for every job
// of sdk/jobspec with its credentials.
const MaxCustomerMessage = 256 << 10

// MaxDeploy is the largest request that brings a job, bytes: a customer's message, which may be sealed.
const MaxDeploy = MaxCustomerMessage + 4<<10
