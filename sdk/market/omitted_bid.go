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

// asked is what a keeper had to choose by. It is the twin of Asked.
type asked struct {
	since     int64 // from when on a better node must have stood
	healthAt  int64 // what was known of a node's health by then counts
	awardedAt int64
	maxPrice  uint64
	end       int64 // the latest end that the lease could have, short of extensions
}

// asked is by an order that is awarded.
func (o *Order) asked(since, awardedAt int64) asked {
	return asked{since: since, healthAt: o.AskedAt(), awardedAt: awardedAt, maxPrice: o.MaxPrice, end: o.LatestEnd()}
}

// askedByFailure is by a lease that failed and moved.
func (o *Order) askedByFailure(moved *Lease) asked {
	at := moved.AwardedAt
	return asked{
		since: satSub(moved.FailedAt, AwardViewSecs), healthAt: at, awardedAt: at, maxPrice: moved.AwardPrice,
		end: satAdd(satAdd(at, int64(o.StartSecs)), int64(moved.DurationSecs)),
	}
}

// scoreThroughout is the score of a price that a node asked or bid, at its worst until the award; ok is false when the
// node could not have been awarded all that time. It is the twin of score_throughout.
func scoreThroughout(o *Order, n Node, price PricePerHour, m *Model, site [16]byte, a asked) (score uint64, ok bool) {
	then, known := n.WorstThroughout(a.since, a.awardedAt)
	free, shown := n.FreeThroughout(a.since, a.awardedAt)
	held := n.State() == NodeActive && n.AvailableSince < a.since && shown && free >= o.GpusPerNode && n.HealthyThroughout(a.since, a.healthAt) && n.Covered() &&
		n.CoveredSince < a.since && m.Since < a.since && n.TermsAt < a.since && n.figuresBefore(a.since, asksForFigures(&o.Requirement)) &&
		price > 0 && uint64(price) <= a.maxPrice
	if !held || !known || suited(&o.Requirement, &then, m, o.GpusPerNode, site, a.since, a.end) != nil {
		return 0, false
	}
	score, err := Score(price, then.Reputation(a.since), then.GuaranteeUntil(a.end))
	return score, err == nil
}

// Score is the score of the omitted bid at its worst; ok is false when the program would refuse the proof at now. It is
// the twin of prove_omitted_bid's checks, but for the signatures, which ix.ProveOmittedBid verifies.
func (b OmittedBid) Score(now int64) (score uint64, ok bool) {
	o, a, l, n := &b.Order, &b.Auction, &b.Lease, b.Omitted.Node
	open := l.Lease.Score != 0 && l.Continues == 0 && o.Mode == ModeSealed && o.NodesWanted == 1 && o.AuctionClose == a.CloseAt &&
		a.Auction.Order == l.Order && a.Keeper == l.Lease.Keeper && a.AwardedAt == l.AwardedAt && now <= a.ChallengeUntil
	if !open || b.ReceivedAt > a.RevealUntil || n.Address == l.Lease.Node || n.Address == a.BarNode {
		return 0, false
	}
	since := satSub(a.CloseAt, AwardViewSecs)
	if !a.BarNode.IsZero() && !b.barStood(since) {
		return 0, false
	}
	score, ok = scoreThroughout(o, n, PricePerHour(b.Omitted.Bid.Price), &b.Model, o.siteWanted(n.Spec.Site), o.asked(since, l.AwardedAt))
	return score, ok && score < l.Lease.Score
}

// barStood reports whether the bar's node was the same from since to the award, but for its age.
func (b OmittedBid) barStood(since int64) bool {
	if b.Bar == nil || b.Bar.Address != b.Auction.BarNode {
		return false
	}
	_, ok := b.Bar.HeldThroughout(since, b.Lease.AwardedAt)
	return ok
}
