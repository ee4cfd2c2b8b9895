// Package messages defines what customers, agents and keepers send each other: every protocol id and topic name, and
// the messages.
//
// Every message is canonical CBOR with a version field. The sender is known from the connection: a peer's identity is
// the ed25519 key that is registered on chain (node key, keeper wallet, customer wallet).
package messages

// Version and Minor are the version of everything that this program says to peers, written MAJOR.MINOR. Peers of another
// major version are refused; those of another minor one work: docs/adr/0019-protocol-versions.md. The Version field of a
// message is the major version. 2: work proofs are signed. 2.1: gateways. 2.2: use of volumes, notices of a restart. 2.3:
// ports of customers. 2.4: answers of confidential machines are signed by their guest. 2.5:
// grants to gateways for leases that go on elsewhere. 2.6: measurements. 2.7: what gateways ask for relaying.
// 2.8: measurements of leases by their customers.
const (
	Version = 2
	Minor   = 8
)

// MaxMessage is the largest message, bytes. A work proof's product of side 512 is 1 MiB.
const MaxMessage = 5 << 20
