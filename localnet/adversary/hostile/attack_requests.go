package hostile

import (
	"context"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/libp2p/go-libp2p/core/host"

	"github.com/gantry-market/gantry/sdk/messages"
)

// requests sends well-formed requests of every protocol, as fast as they are answered.
func requests(ctx context.Context, a *attacker, to target, t *tally) {
	i := 0
	a.connected(ctx, to, t, 5*time.Millisecond, func(h host.Host) error {
		all := a.wellFormed(to)
		i++
		r := all[i%len(all)]
		return ask(ctx, h, to, r.protocol, r.raw, t)
	})
}

// request is one that a target reads.
type request struct {
	protocol string
	raw      []byte
}

// wellFormed are requests of every protocol of a target, with contents that are new each time.
func (a *attacker) wellFormed(to target) []request {
	const v = messages.Version
	node := key32()
	if len(a.Nodes) > 0 {
		node = a.Nodes[0]
	}
	period := a.period()
	bid := messages.BidRequest{Version: v, Order: key32(), CloseAt: time.Now().Unix() + 5, Bid: messages.Bid{Node: node, Commitment: key32()}}
	lease := messages.LeaseRequest{Version: v, Lease: a.Lease}
	bodies := map[string]any{
		messages.Statements:    messages.StatementsRequest{Version: v, Period: period - 2},
		messages.ManifestsOf:   messages.ManifestsRequest{Version: v, Period: period - 2},
		messages.Blobs:         messages.BlobRequest{Version: v, Kind: messages.BlobLeaves, Period: period - 3, Digest: key32()},
		messages.ProposalOf:    messages.ProposalRequest{Version: v, Period: period - 2, Root: key32()},
		messages.BidCommit:     bid,
		messages.BidReveal:     bid,
		messages.BidOutcome:    messages.OutcomeRequest{Version: v, Order: key32(), Node: node, Commitment: key32()},
		messages.BidSet:        messages.BidSetRequest{Version: v, Order: key32()},
		messages.ComplaintPut:  messages.ComplaintUpload{Version: v, Lease: key32(), Data: junk(64 << 10)},
		messages.ComplaintGet:  messages.ComplaintRequest{Version: v, Lease: key32()},
		messages.AnswerPut:     messages.AnswerUpload{Version: v, Lease: key32()},
		messages.AnswerGet:     messages.AnswerRequest{Version: v, Lease: key32()},
		messages.Challenge:     messages.ChallengeRequest{Version: v, Kind: messages.CheckInventory, Node: node, Period: period, Nonce: key32()},
		messages.Deploy:        messages.DeployRequest{Version: v, Lease: key32(), Job: messages.JobSpec{Version: v, Command: []string{"true"}}},
		messages.Status:        lease,
		messages.Logs:          messages.LogsRequest{Version: v, Lease: a.Lease},
		messages.LeaseUse:      lease,
		messages.Suspend:       messages.SuspendRequest{Version: v, Lease: a.Lease, Attempt: [16]byte{1}},
		messages.Shell:         lease,
		messages.Ports:         messages.PortsRequest{Version: v, Lease: a.Lease, Ports: []uint16{22, 80}},
		messages.ReceiptOffer:  lease,
		messages.ReceiptSigned: messages.SignedReceipt{},
	}
	grant := a.grant(to)
	bodies[messages.Measure] = messages.MeasureRequest{Version: v, Node: node, Period: period, Slot: 1, BlockHash: key32()}
	bodies[messages.MeasureOpen] = messages.MeasureOpenRequest{Version: v, Node: node, Period: period, Challenge: key32()}
	bodies[messages.LeaseMeasure] = messages.LeaseMeasureRequest{Version: v, Lease: a.Lease, Nonce: key32(), Beside: true}
	bodies[messages.LeaseMeasureOpen] = messages.LeaseMeasureOpenRequest{Version: v, Lease: a.Lease, Nonce: key32(), Challenge: key32()}
	bodies[messages.LeaseAttest] = messages.AttestRequest{Version: v, Lease: a.Lease, Nonce: key32(), SlotHash: key32(), Expiry: time.Now().Unix() + 30}
	bodies[messages.Line] = a.lineRequest()
	bodies[messages.Starts] = messages.StartsRequest{Version: v, Image: key32()}
	bodies[messages.Guest] = messages.GuestRequest{Version: v, Grant: grant}
	bodies[messages.GroupVisit] = messages.GroupVisitRequest{Version: v, Lease: a.Lease, Key: key32(), Begin: true}
	bodies[messages.GroupHello] = messages.GroupHelloRequest{Version: v, From: key32(), To: a.Lease, Key: key32(), Port: 1}
	bodies[messages.Revoke] = messages.RevokeRequest{Version: v, Lease: a.Lease, Until: time.Now().UnixMilli()}
	bodies[messages.Restart] = messages.RestartNotice{Version: v, Node: node, Secs: messages.MaxRestartSecs}
	bodies[messages.Boot] = messages.BootRequest{Version: v, Nonce: key32()}
	bodies[messages.Boots] = messages.BootsRequest{Version: v, Nonce: key32()}
	bodies[messages.GatewayOpen] = messages.GatewayOpenRequest{Version: v, Grant: grant, Moves: make([]byte, 64)}
	bodies[messages.GatewayClose] = messages.GatewayCloseRequest{Version: v, Lease: a.Lease}
	bodies[messages.GatewayAccount] = messages.GatewayAccountRequest{Version: v, Lease: a.Lease}
	bodies[messages.GatewayOffer] = messages.GatewayOfferRequest{Version: v}
	bodies[messages.Gateways] = messages.GatewaysRequest{Version: v}
	invented := key32()
	payer := solana.PublicKey(key32())
	if len(a.Key) > 0 { // strangers have none
		payer = a.Key.PublicKey()
	}
	bodies[messages.GatewayPay] = messages.GatewayPayRequest{Version: v, Customer: payer, Number: 1, Signature: [64]byte(append(invented[:], node[:]...))}
	var out []request
	for _, p := range to.protocols() {
		body, ok := bodies[p]
		if p == messages.Lookup {
			node := key32()
			body, ok = map[int][]byte{1: node[:]}, true
		}
		if ok {
			out = append(out, request{p, frame(envelope(v, body))})
		}
	}
	return out
}
