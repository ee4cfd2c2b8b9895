package messages

import "strconv"

// Stream protocols; package p2p appends the version. The direction says who opens the stream.
const (
	// Challenge: keeper → node.
	Challenge = "/gantry/challenge"
	// Measure: keeper → node, asks to be told of the node's measurement; the answer is a stream of MeasureItem.
	Measure = "/gantry/measure/run"
	// MeasureOpen: keeper → node, draws what is opened of it.
	MeasureOpen = "/gantry/measure/open"
	// LeaseMeasure: customer → node, has the GPUs of a lease measured; the answer is a stream of MeasureItem.
	LeaseMeasure = "/gantry/lease/measure"
	// LeaseMeasureOpen: customer → node, draws what is opened of it.
	LeaseMeasureOpen = "/gantry/lease/measure-open"
	// LeaseAttest: customer → node, has the machine of a lease prove itself.
	LeaseAttest = "/gantry/lease/attest"
	// Line: keeper → node, checks what the node's line moves.
	Line = "/gantry/line"
	// Starts: anyone → node, asks how containers of an image have started there.
	Starts = "/gantry/starts"
	// Deploy: customer → node.
	Deploy = "/gantry/lease/deploy"
	// Status: customer → node.
	Status = "/gantry/lease/status"
	// Logs: customer → node; the answer is a stream of LogChunk.
	Logs = "/gantry/lease/logs"
	// LeaseUse: customer → node, asks what a lease's job uses now.
	LeaseUse = "/gantry/lease/use"
	// Shell: customer → node, a stream for SSH into a lease's container.
	Shell = "/gantry/lease/shell"
	// Ports: customer → node, a stream of connections to ports of a lease's container.
	Ports = "/gantry/lease/ports"
	// Suspend: customer → node, has a lease's container kept in the customer's bucket and ended.
	Suspend = "/gantry/lease/suspend"
	// GroupHello: node → node, between machines of one order, says how a lease is reached in the order's private network.
	GroupHello = "/gantry/group/hello"
	// GroupVisit: customer → node, lets a computer of the customer's into the private network of its order.
	GroupVisit = "/gantry/group/visit"
	// Guest: gateway → node, a stream into a lease's container, with what the lease's customer has granted.
	Guest = "/gantry/lease/guest"
	// Revoke: customer → node, makes void what was granted to gateways.
	Revoke = "/gantry/lease/revoke"
	// GatewayOpen: customer → gateway, brings a grant.
	GatewayOpen = "/gantry/gateway/open"
	// GatewayClose: customer → gateway, takes it back.
	GatewayClose = "/gantry/gateway/close"
	// GatewayAccount: customer → gateway, asks what it takes and what is left of what was paid.
	GatewayAccount = "/gantry/gateway/account"
	// GatewayPay: customer → gateway, brings the transaction that has paid.
	GatewayPay = "/gantry/gateway/pay"
	// GatewayOffer: anyone → gateway, asks what it takes and whether it has room.
	GatewayOffer = "/gantry/gateway/offer"
	// ReceiptOffer: customer → node, asks for a receipt signed by the node.
	ReceiptOffer = "/gantry/lease/receipt-offer"
	// ReceiptSigned: customer → node, returns the customer's signature.
	ReceiptSigned = "/gantry/lease/receipt-signed"
	// Statements: anyone in the market → keeper, asks for signed statements of a period.
	Statements = "/gantry/statements"
	// ManifestsOf: keeper → keeper, asks for the manifests that it knows of a period.
	ManifestsOf = "/gantry/manifests"
	// Blobs: anyone in the market → keeper, asks for a piece of a statement set or of a report's leaves.
	Blobs = "/gantry/blobs"
	// ProposalOf: keeper → keeper, asks for the proposal behind a root.
	ProposalOf = "/gantry/proposals"
	// BidCommit: node → keeper, a commitment before the auction's close.
	BidCommit = "/gantry/auction/commit"
	// BidReveal: node → keeper, price and salt after it.
	BidReveal = "/gantry/auction/reveal"
	// BidOutcome: node → keeper, asks for the outcome of a bid.
	BidOutcome = "/gantry/auction/outcome"
	// BidSet: anyone → keeper, asks for all bids of an auction; the answer is a stream of BidSetPart.
	BidSet = "/gantry/auction/bids"
	// ComplaintPut: anyone → keeper, brings what a customer complains of in an open dispute.
	ComplaintPut = "/gantry/complaint/put"
	// ComplaintGet: anyone → keeper, asks for it.
	ComplaintGet = "/gantry/complaint/get"
	// AnswerPut: anyone → keeper, brings the provider's signed side of an open dispute.
	AnswerPut = "/gantry/answer/put"
	// AnswerGet: anyone → keeper, asks for it.
	AnswerGet = "/gantry/answer/get"
	// Restart: node → keeper, says that the node's agent starts again.
	Restart = "/gantry/restart"
	// Boot: keeper → node, asks which process answers for the node's key.
	Boot = "/gantry/boot"
	// Boots: node → keeper, has it ask all processes with the node's key.
	Boots = "/gantry/boots"
	// Gateways: anyone in the market → keeper, asks which gateways are connected with it.
	Gateways = "/gantry/gateways"
	// Lookup: anyone in the market → keeper, asks for the addresses of a peer. Its messages are in sdk/p2p.
	Lookup = "/gantry/lookup"
)

// StatementsTopic is the gossip topic of signed check statements on the cluster with this domain in hex.
func StatementsTopic(domain string) string { return topic(domain, "statements") }

// ProposalsTopic is the gossip topic of report proposals.
func ProposalsTopic(domain string) string { return topic(domain, "proposals") }

// ManifestsTopic is the gossip topic of keepers' manifests.
func ManifestsTopic(domain string) string { return topic(domain, "manifests") }

// EquivocationsTopic is the gossip topic of equivocation proofs.
func EquivocationsTopic(domain string) string { return topic(domain, "equivocations") }

// BidsTopic is the gossip topic of commitments and reveals that a keeper has acknowledged.
func BidsTopic(domain string) string { return topic(domain, "bids") }

// topic names the major version only: gossip has no receiver to agree on a minor one with.
func topic(domain, name string) string {
	return "gantry/" + domain + "/" + name + "/" + strconv.Itoa(Version)
}
