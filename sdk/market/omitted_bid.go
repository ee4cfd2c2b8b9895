package market

import (
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
	// Signer is the key that acknowledged; zero is the keeper's wallet.
	Signer solana.PublicKey
}

// scoreThroughout is the score of a price that a node asked or bid, at its worst from since to the award; ok is false
// when the node could not have been awarded all that time. It is the twin of score_throughout.
func scoreThroughout(o *Order, n Node, price PricePerHour, m *Model, since, awardedAt int64) (score uint64, ok bool) {
	then, known := n.WorstThroughout(since, awardedAt)
	free, shown := n.FreeThroughout(since, awardedAt)
	held := n.State() == NodeActive && n.AvailableSince < since && shown && free >= o.GpusPerNode && n.HealthyThroughout(since, o.AskedAt()) && n.Covered() &&
		n.CoveredSince < since && m.Since < since && n.TermsAt < since && n.figuresBefore(since, asksForFigures(&o.Requirement)) && price > 0 && uint64(price) <= o.MaxPrice
	if !held || !known || suited(&o.Requirement, &then, m, o.siteWanted(n.Spec.Site), since, o.LatestEnd()) != nil {
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
	score, ok = scoreThroughout(o, n, PricePerHour(b.Omitted.Bid.Price), &b.Model, since, l.AwardedAt)
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
