package sealedbid

import (
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Omitted puts together what shows on chain that the awarding keeper left out a bid. bar is the node of the best losing
// bid that the keeper named, nil when there is none. ok is false when the bid has no reveal that the keeper
// acknowledged, or its node is not on chain. Whether the program would take the proof is for [market.OmittedBid.Score]
// to say.
func Omitted(mk *market.Market, o *market.Order, x *market.Auction, l *market.Lease, bar *market.Node, b *messages.Bid, look Lookup) (p market.OmittedBid, ok bool) {
	ack := FindAck(b.Acks, x.Keeper, records.AckReveal)
	n, provider, model, found := look(b.Node)
	if ack == nil || b.Reveal == nil || !found {
		return p, false
	}
	return market.OmittedBid{
		Market: *mk, Order: *o, Auction: *x, Lease: *l, Provider: *provider, Model: *model, Bar: bar, ReceivedAt: ack.ReceivedAt, Ack: ack.Signature,
		Omitted: market.SealedBid{Node: *n, Bid: AuctionOf(mk.Domain, o).Reveal(b.Node, *b.Reveal), Signature: b.Signature},
	}, true
}
