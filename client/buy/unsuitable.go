package buy

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// nodes tells each, for every node of some models, whether an order of these terms could be awarded to it now: nil, or why
// not. Awards may be paused: that is not a node's fault. order is the order's address, if it has one yet.
func (t *terms) nodes(mk market.Market, order solana.PublicKey, v *view.View, models []market.Model, now int64, each func(n market.Node, err error)) {
	mk.Paused = 0
	o := market.Order{Meta: market.Meta{Address: order}}
	o.Status, o.AwardDeadline = uint8(market.OrderOpen), now+1
	o.MaxPrice, o.GpusPerNode, o.Requirement = uint64(t.args.MaxPrice), t.args.GPUsPerNode, t.args.Requirement
	o.Requirement.Models = modelIDs(models)
	if t.args.Interruptible {
		o.Interruptible = 1
	}
	if o.MaxPrice == 0 {
		o.MaxPrice = models[0].ReferencePrice
	}
	suits := market.Awardable
	if t.args.Sealed { // the node bids a price of its own
		suits = market.Biddable
	}
	for _, n := range v.Nodes() {
		p, known := v.Provider(n.Provider)
		m := modelIn(models, n.Spec.Model)
		if !known || m == nil {
			continue
		}
		each(n, suits(&mk, &o, &n, &p, m, now))
	}
}
