package market

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/idl/bindings"
)

// AwardViewSecs is how long before an order's creation everything about a better ask must have begun to hold.
const AwardViewSecs = 30

// BetterAsk is the proof of an unjust award: a node that should have been awarded instead, with the accounts that show
// it.
type BetterAsk struct {
	Market   Market
	Order    Order
	Lease    Lease
	Better   Node
	Provider Provider // of Better
	Model    Model    // of Better
}

// HeldThroughout is the node with the reputation, tier and guarantee that held from one unix second to another, both
// included; ok is false when it changed in between or is too long ago. A tier that lapsed meanwhile counts as lapsed.
// It is the twin of Node::record_throughout.
func (n Node) HeldThroughout(from, to int64) (then Node, ok bool) {
	switch {
	case n.RecordSince < from:
		n.Tier, n.EvidenceExpiry, n.KeysUntil = n.TierAt(to), math.MaxInt64, math.MaxInt64
		return n, true
	case n.PreviousSince < from && to < n.RecordSince:
		return n.with(n.Previous, n.PreviousGuarantee), true
	}
	return Node{}, false
}

// WorstThroughout is the node with a reputation, tier and guarantee that are no better than any that held from one unix
// second to another, both included; ok is false when that is too long ago. It is the twin of Node::worst_throughout.
func (n Node) WorstThroughout(from, to int64) (then Node, ok bool) {
	if then, ok = n.HeldThroughout(from, to); ok {
		return then, true
	}
	newer, older := n.Worst[0], n.Worst[1]
	begins := func(w bindings.WorstRecord) bool { return w.Since != 0 && w.Since < from }
	switch {
	case begins(newer):
		then = n.with(newer.Score, newer.Guarantee)
	case begins(older) && newer.Since <= to:
		then = worse(n.with(older.Score, older.Guarantee), n.with(newer.Score, newer.Guarantee), to)
	case begins(older):
		then = n.with(older.Score, older.Guarantee)
	default:
		return Node{}, false
	}
	if n.RecordSince <= to {
		n.Tier, n.EvidenceExpiry, n.KeysUntil = n.TierAt(to), math.MaxInt64, math.MaxInt64
		then = worse(then, n, to)
	}
	return then, true
}

// worse is the node with the worse of two records.
func worse(one, other Node, now int64) Node {
	then := other
	if one.Reputation(now) < other.Reputation(now) {
		then = one
	}
	then.UptimeBps, then.Tier = min(one.UptimeBps, other.UptimeBps), min(one.Tier, other.Tier)
	then.ChecksTotal = min(one.ChecksTotal, other.ChecksTotal)
	then.GuaranteedUntil, then.GuaranteeBps = min(one.GuaranteedUntil, other.GuaranteedUntil), min(one.GuaranteeBps, other.GuaranteeBps)
	return then
}

// with is the node with another record.
func (n Node) with(p bindings.ScoreRecord, g bindings.Guarantee) Node {
	n.UptimeBps, n.FeesCompleted, n.FeesFailed, n.Tier = p.UptimeBps, p.FeesCompleted, p.FeesFailed, p.Tier
	n.UpSecs, n.ChecksTotal = uint64(p.Days)*86_400, uint64(p.Checked) // in the record they are no finer
	n.RatingSum, n.RatingWeight = p.RatingSum, p.RatingWeight
	n.DisputeBps, n.DisputeLostAt = p.DisputeBps, p.DisputeLostAt
	n.EvidenceExpiry, n.KeysUntil = math.MaxInt64, math.MaxInt64 // the record's tier is what stood
	n.GuaranteedUntil, n.GuaranteeBps = g.Until, g.Bps
	return n
}

// MayHave is false when the node certainly never had a part of the order. It is the twin of Order::may_have.
func (o *Order) MayHave(node solana.PublicKey) bool {
	for i, bits := range awardBits(o.Address, node) {
		if o.AwardedNodes[i]&bits != bits {
			return false
		}
	}
	return true
}

// NoteAward notes that a node has a part of the order. It is the twin of Order::note_award.
func (o *Order) NoteAward(node solana.PublicKey) {
	for i, bits := range awardBits(o.Address, node) {
		o.AwardedNodes[i] |= bits
	}
}

// awardBits are a node's three bits in AwardedNodes, which another order does not give it.
func awardBits(order, node solana.PublicKey) (bits [2]uint64) {
	sum := sha256.Sum256(append(order[:], node[:]...))
	for _, b := range sum[:3] {
		bits[b>>6&1] |= 1 << (b & 63)
	}
	return bits
}

// UnservedBy reports whether the node declined the order or did not start it: it gets no part of it again. It is the twin of
// Order::was_unserved_by.
func (o *Order) UnservedBy(node solana.PublicKey) bool {
	return slices.Contains(o.Unserved(), Head(node))
}

// Head is what an address has in Order.UnservedBy.
func Head(node solana.PublicKey) uint64 { return binary.LittleEndian.Uint64(node[:8]) }

// Unserved are the heads of the nodes that declined the order or did not start it.
func (o *Order) Unserved() []uint64 {
	known := o.Order.UnservedBy[:]
	if i := slices.Index(known, 0); i >= 0 {
		known = known[:i]
	}
	return known
}

// NoteUnserved notes that a node declined it or did not start it. It is the twin of Order::note_unserved.
func (o *Order) NoteUnserved(node solana.PublicKey) {
	head := Head(node)
	if i := slices.IndexFunc(o.Order.UnservedBy[:], func(known uint64) bool { return known == 0 || known == head }); i >= 0 {
		o.Order.UnservedBy[i] = head
	}
}

// siteWanted is the site at which a better node would have had to stand. It is the twin of Order::site_wanted.
func (o *Order) siteWanted(own [16]byte) [16]byte {
	if o.NodesWanted > 1 {
		return o.Order.Site
	}
	return own
}

// Score is the worst score of the better node from before the order until the award; ok is false when the program would
// refuse the proof at now. It is the twin of prove_better_ask's checks.
func (b BetterAsk) Score(now int64) (score uint64, ok bool) {
	o, n, l := &b.Order, b.Better, &b.Lease
	moved := l.Continues == 1
	open := l.Contestable(now) && (o.Mode == ModeInstant || moved) && o.Redundant == 0
	passedOver := (o.NodesWanted == 1 && !moved || !o.MayHave(n.Address)) && !o.UnservedBy(n.Address)
	asked, site := o.asked(satSub(o.CreatedAt, AwardViewSecs), l.AwardedAt), o.siteWanted(n.Spec.Site)
	if moved {
		asked, site = o.askedByFailure(l), o.Order.Site
	}
	if !open || !passedOver || n.AskSince >= asked.since || n.Address == l.Lease.Node {
		return 0, false
	}
	score, ok = scoreThroughout(o, n, n.AskFor(o.Interruptible != 0), &b.Model, site, asked)
	return score, ok && score < l.Lease.Score
}
