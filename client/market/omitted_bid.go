package market

import (
	"math/bits"

	"github.com/gagliardetto/solana-go"
)

// OmittedBid is a bid of a sealed auction whose reveal the awarding keeper acknowledged and left out, with the accounts
// that show it.
type OmittedBid struct {
	Market   Market
	Order    Order
	Auction  Auction
	Lease    Lease
	Omitted  SealedBid
	Provider Provider // of the omitted node
	Model    Model    // of the omitted node
	Bar      *Node    // of Auction.BarNode; nil when the keeper named no losing bid
	// ReceivedAt and Ack are the keeper's acknowledgement of the reveal.
	ReceivedAt int64
	Ack        solana.Signature
}

// scoreThroughout is the score of a price that a node asked or bid, at its worst from since to the award; ok is false
// when the node could not have been awarded all that time. It is the twin of score_throughout.
func scoreThroughout(mk *Market, o *Order, n Node, price PricePerHour, m *Model, since, awardedAt int64) (score uint64, ok bool) {
	then, known := n.WorstThroughout(since, awardedAt)
	free, shown := n.FreeThroughout(since, awardedAt)
	held := n.State() == NodeActive && n.AvailableSince < since && shown && free >= o.GpusPerNode && n.HealthyThroughout(since, o.AskedAt()) && n.Covered() &&
		n.CoveredSince < since && m.Since < since && n.TermsAt < since && price > 0 && uint64(price) <= o.MaxPrice
	if !held || !known || suited(&o.Requirement, &then, m, n.Spec.Site, since, o.LatestEnd()) != nil {
		return 0, false
	}
	score, err := Score(price, then.Reputation(since), then.GuaranteeAt(awardedAt))
	return score, err == nil
}

// Score is the score of the omitted bid at its worst; ok is false when the program would refuse the proof at now. It is
// the twin of prove_omitted_bid's checks, but for the signatures, which ix.ProveOmittedBid verifies.
func (b OmittedBid) Score(now int64) (score uint64, ok bool) {
	o, a, l, n := &b.Order, &b.Auction, &b.Lease, b.Omitted.Node
	open := l.Lease.Score != 0 && o.Mode == ModeSealed && o.NodesWanted == 1 && o.AuctionClose == a.CloseAt &&
		a.Auction.Order == l.Order && a.Keeper == l.Lease.Keeper && a.AwardedAt == l.AwardedAt && now <= a.ChallengeUntil
	if !open || b.ReceivedAt > a.RevealUntil || n.Address == l.Lease.Node || n.Address == a.BarNode {
		return 0, false
	}
	since := satSub(a.CloseAt, AwardViewSecs)
	if !a.BarNode.IsZero() && !b.barStood(since) {
		return 0, false
	}
	score, ok = scoreThroughout(&b.Market, o, n, PricePerHour(b.Omitted.Bid.Price), &b.Model, since, l.AwardedAt)
	return score, ok && score < l.Lease.Score
}

// barStood reports whether the bar's node was the same from since to the award, but for its age.
func (b OmittedBid) barStood(since int64) bool {
	if b.Bar == nil || b.Bar.Address != b.Auction.BarNode {
		return false
	}
	then, ok := b.Bar.HeldThroughout(since, b.Lease.AwardedAt)
	return ok && then.GuaranteeAt(since) == then.GuaranteeAt(b.Lease.AwardedAt)
}

// Harmed reports whether the customer paid more than it would have with the omitted bid, so that it gets a share: its
// associated stake-token account must exist then.
func (b OmittedBid) Harmed(score uint64) bool {
	hi, lo := bits.Mul64(b.Lease.Price, score)
	if b.Lease.Lease.Score == 0 || hi >= b.Lease.Lease.Score {
		return false
	}
	price, rest := bits.Div64(hi, lo, b.Lease.Lease.Score)
	if rest > 0 {
		price++
	}
	with, err := Cost(PricePerHour(price), b.Lease.Gpus, b.Order.DurationSecs)
	if err != nil {
		return false
	}
	paid, err := Cost(PricePerHour(b.Lease.Price), b.Lease.Gpus, b.Order.DurationSecs)
	return err == nil && paid > with
}
