// Package messages defines what customers, agents and keepers say to each other: stream and topic names, and the
// messages on them.
//
// Every message is canonical CBOR with a version field. Who is speaking is known from the connection: a peer's
// identity is the ed25519 key that is registered on chain (node key, keeper wallet, customer wallet).
package messages

// Version is the version of every message in this package; another one is refused. 2: work proofs are signed.
const Version = 2

// Stream protocols. The direction says who opens the stream.
const (
	// Challenge: keeper → node.
	Challenge = "/gantry/challenge/1"
	// Deploy: customer → node.
	Deploy = "/gantry/lease/deploy/1"
	// Status: customer → node.
	Status = "/gantry/lease/status/1"
	// Logs: customer → node; the answer is a stream of LogChunk.
	Logs = "/gantry/lease/logs/1"
	// ReceiptOffer: customer → node, asks for a receipt signed by the node.
	ReceiptOffer = "/gantry/lease/receipt-offer/1"
	// ReceiptSigned: customer → node, returns the customer's signature.
	ReceiptSigned = "/gantry/lease/receipt-signed/1"
	// Statements: anyone in the market → keeper, asks for signed statements of a period.
	Statements = "/gantry/statements/1"
	// ManifestsOf: keeper → keeper, asks for the manifests that it knows of a period.
	ManifestsOf = "/gantry/manifests/1"
	// Blobs: anyone in the market → keeper, asks for a piece of a set of statements or of a report's leaves.
	Blobs = "/gantry/blobs/1"
)

// MaxMessage is the largest message, bytes. A work proof's product of side 512 is 1 MiB.
const MaxMessage = 5 << 20

// StatementsTopic is the gossip topic of signed check statements on the cluster with this domain in hex.
func StatementsTopic(domain string) string { return "gantry/" + domain + "/statements/1" }

// ProposalsTopic is the gossip topic of report proposals.
func ProposalsTopic(domain string) string { return "gantry/" + domain + "/proposals/2" }

// ManifestsTopic is the gossip topic of keepers' manifests.
func ManifestsTopic(domain string) string { return "gantry/" + domain + "/manifests/1" }

// EquivocationsTopic is the gossip topic of equivocation proofs.
func EquivocationsTopic(domain string) string { return "gantry/" + domain + "/equivocations/1" }
