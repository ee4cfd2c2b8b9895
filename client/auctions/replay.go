package auctions

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// Replay is a replayed auction.
type Replay struct {
	Order      string         `json:"order"`
	Keeper     string         `json:"keeper,omitempty"`
	OK         bool           `json:"ok"`
	Outcome    string         `json:"outcome"` // right, wrong or unknown
	Lives      int            `json:"lives"`
	Awards     []Award        `json:"awards"`
	Bids       []Bid          `json:"bids"`
	Violations []Violation    `json:"violations"`
	Doubts     []string       `json:"doubts"`
	Steps      []service.Step `json:"steps"`
	Proof      *service.Sent  `json:"proof,omitempty"`
}

// Award is an award of the auction.
type Award struct {
	Node  string `json:"node"`
	Bid   string `json:"bid"`
	Price string `json:"price"`
	Score uint64 `json:"score"`
	Tx    string `json:"transaction"`
}

// Violation is a broken rule, and who broke it.
type Violation struct {
	Who  string `json:"who"`
	What string `json:"what"`
}

// Rules are the market's rules as a replay holds an auction against them, with the nodes of a view.
func Rules(mk market.Market, v *view.View, sets []sealedbid.Set, bids []messages.Bid) audit.Replay {
	return audit.Replay{Domain: mk.Domain, Market: mk, Nodes: lookupNodes(v), Keys: roles.Names{View: v}.Keys, Sets: sets, Bids: bids}
}

// DescribeReplay describes an auction that was replayed with published bids.
func DescribeReplay(a *audit.Auction, sets []sealedbid.Set, explorer chain.Explorer) Replay {
	out := Replay{
		Order: a.Order.String(), OK: a.OK(), Outcome: string(a.Outcome()), Lives: a.Lives, Awards: []Award{}, Bids: describeBids(a, sets), Violations: []Violation{},
		Doubts: append([]string{}, a.Doubts...), Steps: service.DescribeSteps(a.Steps, explorer),
	}
	if !a.Keeper().IsZero() {
		out.Keeper = a.Keeper().String()
	}
	for _, w := range a.Awards {
		out.Awards = append(out.Awards, Award{w.Node.String(), w.Bid.String(), w.Price.String(), w.Score, w.Signature.String()})
	}
	for _, c := range a.Violations {
		out.Violations = append(out.Violations, Violation{c.Who, c.What})
	}
	return out
}

// Prove builds the proof of a bid that the awarding keeper has left out, which slashes the keeper's bond. payer sends it at a time of the
// cluster, unix seconds. Error: a service.Failure where the chain cannot prove any that was found.
func Prove(v *view.View, mk market.Market, a *audit.Auction, payer solana.PublicKey, now int64) ([]solana.Instruction, error) {
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
		return ix.ProveOmittedBid(p, payer, now)
	}
	return nil, service.Refused("nothing was proven on chain: "+why, "what was found is above")
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
