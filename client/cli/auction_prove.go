package cli

import (
	"fmt"

	"github.com/gantry-market/gantry/client/audit"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// proveOmitted sends the proof of an omitted bid, which slashes the bond of the awarding keeper. If the chain cannot
// prove it any more, it prints why.
func (s *session) proveOmitted(v *view.View, mk market.Market, a *audit.Auction) (*sent, error) {
	key, err := s.wallet()
	if err != nil {
		return nil, err
	}
	now, err := s.now()
	if err != nil {
		return nil, err
	}
	why := "nothing that was found is a bid that the keeper left out"
	for _, c := range a.Violations {
		if c.Omitted == nil {
			continue
		}
		p, ok := omittedBid(v, mk, a, c.Omitted)
		if !ok {
			why = "the order, its auction or its lease is closed: the time to challenge the award is over"
			continue
		}
		if _, ok := p.Score(now); !ok {
			why = "the chain cannot show it: the time to challenge is over, the award was contested before, or a node has changed since before the close"
			continue
		}
		ixs, err := ix.ProveOmittedBid(p, key.PublicKey(), now)
		if err != nil {
			return nil, err
		}
		tx, err := s.send("prove_omitted_bid", ixs)
		if err != nil {
			return nil, err
		}
		return &tx, nil
	}
	return nil, refused("nothing was proven on chain: "+why, "what was found is above")
}

// omittedBid puts the accounts of a proof together; ok is false when one of them is closed.
func omittedBid(v *view.View, mk market.Market, a *audit.Auction, b *messages.Bid) (p market.OmittedBid, ok bool) {
	o, ok1 := v.Order(a.Order)
	x, ok2 := v.AuctionOf(a.Order)
	if !ok1 || !ok2 || x.WinnerCount == 0 || x.CloseAt != a.CloseAt {
		return p, false
	}
	l, ok3 := v.Lease(market.LeaseAddress(a.Order, x.Winners[0]))
	if !ok3 {
		return p, false
	}
	var bar *market.Node
	if n, named := v.Node(x.BarNode); named {
		bar = &n
	}
	if p, ok = sealedbid.Omitted(&mk, &o, &x, &l, bar, b, lookupNodes(v)); ok {
		p.Signer = sealedbid.AckSigner(b, x.Keeper, roles.Names{View: v}.Keys)
	}
	return p, ok
}

// proofLine says what a proof did.
func proofLine(tx *sent) string {
	return fmt.Sprintf("proven on chain: the keeper's bond is slashed   tx %s", tx.Signature)
}
