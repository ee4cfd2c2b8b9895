// Package messages defines what customers, agents and keepers send each other: every protocol id and topic name, and
// the messages.
//
// Every message is canonical CBOR with a version field. The sender is known from the connection: a peer's identity is
// the ed25519 key that is registered on chain (node key, keeper's signer, customer's wallet).
package messages

// Version and Minor are the version of everything that this program says to peers, written MAJOR.MINOR. Peers of another
// major version are refused; those of another minor one work: docs/adr/0019-protocol-versions.md. The Version field of a
// message is the major version. 3: statements carry figures, and no products are asked for; 4: the challenge of evidence
// names the node's account, and evidence has no product. The minor version was not set
// back to 0, so that protocols keep the number that they came with: 1, gateways; 2, use of volumes and notices of a restart; 3,
// ports of customers; 4, answers of confidential machines are signed by their guest; 5, grants to gateways for leases
// that go on elsewhere; 6, measurements; 7, what gateways ask for relaying; 8, checks
// of a node's line; 9, measurements of leases by their customers; 10, measurements of confidential machines are signed by
// their guest.
const (
	Version = 4
	Minor   = 10
)

// MaxMessage is the largest message, bytes.
const MaxMessage = 5 << 20

// MaxCustomerMessage is the largest message between a customer and the machine of its lease, bytes. It has room for every job
// of sdk/jobspec with its credentials.
const MaxCustomerMessage = 256 << 10
