package audit

import (
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// doubleBids looks for nodes that signed two bids for one auction.
func (a *Auction) doubleBids(r Replay, of sealedbid.Auction, sets []sealedbid.Set) {
	first := map[[32]byte]messages.Bid{}
	told := map[[32]byte]bool{}
	look := func(b messages.Bid) {
		key, ok := a.nodeKey(r, b.Node)
		if !ok || b.Reveal == nil || of.Check(&b, key) != nil {
			return
		}
		was, seen := first[b.Node]
		if !seen {
			first[b.Node] = b
			return
		}
		if was.Commitment != b.Commitment && !told[b.Node] {
			told[b.Node] = true
			a.violation(b.Node, "node", nil, "made two bids for this order, of %s and %s USDC per GPU-hour", market.PricePerHour(was.Reveal.Price), market.PricePerHour(b.Reveal.Price))
		}
	}
	for i := range sets {
		for j := range sets[i].Bids {
			look(sets[i].Bids[j].Bid)
		}
	}
	for _, b := range r.Bids {
		look(b)
	}
}
