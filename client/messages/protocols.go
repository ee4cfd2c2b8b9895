package messages

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
	// Blobs: anyone in the market → keeper, asks for a piece of a statement set or of a report's leaves.
	Blobs = "/gantry/blobs/1"
	// ProposalOf: keeper → keeper, asks for the proposal behind a root.
	ProposalOf = "/gantry/proposals/2"
	// BidCommit: node → keeper, a commitment before the auction's close.
	BidCommit = "/gantry/auction/commit/1"
	// BidReveal: node → keeper, price and salt after it.
	BidReveal = "/gantry/auction/reveal/1"
	// BidOutcome: node → keeper, asks for the outcome of a bid.
	BidOutcome = "/gantry/auction/outcome/1"
	// BidSet: anyone → keeper, asks for all bids of an auction; the answer is a stream of BidSetPart.
	BidSet = "/gantry/auction/bids/1"
	// ComplaintPut: anyone → keeper, brings what a customer complains of in an open dispute.
	ComplaintPut = "/gantry/complaint/put/1"
	// ComplaintGet: anyone → keeper, asks for it.
	ComplaintGet = "/gantry/complaint/get/1"
	// AnswerPut: anyone → keeper, brings the provider's signed side of an open dispute.
	AnswerPut = "/gantry/answer/put/1"
	// AnswerGet: anyone → keeper, asks for it.
	AnswerGet = "/gantry/answer/get/1"
	// Lookup: anyone in the market → keeper, asks for the addresses of a peer. Its messages are in client/p2p.
	Lookup = "/gantry/lookup/1"
)

// StatementsTopic is the gossip topic of signed check statements on the cluster with this domain in hex.
func StatementsTopic(domain string) string { return "gantry/" + domain + "/statements/1" }

// ProposalsTopic is the gossip topic of report proposals.
func ProposalsTopic(domain string) string { return "gantry/" + domain + "/proposals/2" }

// ManifestsTopic is the gossip topic of keepers' manifests.
func ManifestsTopic(domain string) string { return "gantry/" + domain + "/manifests/1" }

// EquivocationsTopic is the gossip topic of equivocation proofs.
func EquivocationsTopic(domain string) string { return "gantry/" + domain + "/equivocations/1" }

// BidsTopic is the gossip topic of commitments and reveals that a keeper has acknowledged.
func BidsTopic(domain string) string { return "gantry/" + domain + "/bids/1" }
