package market

import (
	"fmt"
	"math/bits"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/records"
	"github.com/gantry-market/gantry/idl/bindings"
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
	// ReceivedAt and Ack are the keeper's word that the reveal reached it.
	ReceivedAt int64
	Ack        solana.Signature
}

// scoreThroughout is the score of a price that a node asked or bid, at its worst from since to the award; ok is false when
// the node could not have been awarded all that time. It is the twin of score_throughout.
func scoreThroughout(mk *Market, o *Order, n Node, price PricePerHour, p *Provider, m *Model, since, awardedAt int64) (score uint64, ok bool) {
	then, known := n.AsThroughout(since, awardedAt)
	held := n.State() == NodeActive && n.AvailableSince < since && n.GpusFreedAt < since && p.Stake >= p.LockedStake &&
		p.CoveredSince < since && m.Since < since && price > 0 && uint64(price) <= o.MaxPrice
	if !held || !known || Satisfies(&o.Requirement, &then, m, o.GpusPerNode, n.Spec.Site, since, o.LatestEnd(&mk.Params)) != nil {
		return 0, false
	}
	score, err := Score(price, then.Reputation(since), then.GuaranteeAt(awardedAt))
	return score, err == nil
}

// Score is the score of the omitted bid at its worst; ok is false when the program would refuse the proof at now. It is the
// twin of prove_omitted_bid's checks, but for the signatures, which Prove verifies.
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
	score, ok = scoreThroughout(&b.Market, o, n, PricePerHour(b.Omitted.Bid.Price), &b.Provider, &b.Model, since, l.AwardedAt)
	return score, ok && score < l.Lease.Score
}

// barStood reports whether the bar's node was the same from since to the award, but for its age.
func (b OmittedBid) barStood(since int64) bool {
	if b.Bar == nil || b.Bar.Address != b.Auction.BarNode {
		return false
	}
	then, ok := b.Bar.AsThroughout(since, b.Lease.AwardedAt)
	return ok && then.GuaranteeAt(since) == then.GuaranteeAt(b.Lease.AwardedAt)
}

// Accounts creates the token accounts that the shares of a proof go to, where they are not there. They go before the proof:
// both do not fit one transaction.
func (b OmittedBid) Accounts(finder solana.PublicKey, score uint64) []solana.Instruction {
	mint := b.Market.StakeMint
	out := []solana.Instruction{CreateTokenAccount(finder, finder, mint)}
	if b.Harmed(score) {
		out = append(out, CreateTokenAccount(finder, b.Lease.Customer, mint))
	}
	return out
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

// Prove returns the instructions that belong together in this order: the checks of the node's and the keeper's signatures,
// and the proof; anyone may send them until the challenge window closes. The finder's associated stake-token account must
// exist, and the customer's, if it was harmed. Errors: ErrInstruction, wire.ErrSignature.
func (b OmittedBid) Prove(finder solana.PublicKey, now int64) ([]solana.Instruction, error) {
	score, ok := b.Score(now)
	if !ok {
		return nil, fmt.Errorf("%w: the bid of node %s proves nothing against this award", ErrInstruction, b.Omitted.Node.Address)
	}
	bid, err := b.Omitted.check(b.Order)
	if err != nil {
		return nil, err
	}
	ack := records.Ack{Stage: records.AckReveal, Commitment: b.Omitted.Bid.Commitment(), ReceivedAt: b.ReceivedAt}
	if err := ack.Verify(b.Lease.Keeper, b.Ack); err != nil {
		return nil, fmt.Errorf("%w: keeper's acknowledgement: %w", ErrInstruction, err)
	}
	message, err := ack.Encode()
	if err != nil {
		return nil, err
	}
	said, err := VerifySignature(b.Lease.Keeper, b.Ack, message[:])
	if err != nil {
		return nil, err
	}
	mint, keeper := b.Market.StakeMint, KeeperAddress(b.Lease.Keeper)
	var customer, bar solana.PublicKey
	if b.Harmed(score) {
		customer = TokenAddress(b.Lease.Customer, mint)
	}
	if b.Bar != nil {
		bar = b.Bar.Address
	}
	node := b.Omitted.Node
	ix, err := bindings.NewProveOmittedBidInstruction(bindings.Reveal{Price: b.Omitted.Bid.Price, Salt: b.Omitted.Bid.Salt},
		b.ReceivedAt, finder, MarketAddress(), b.Order.Address, b.Auction.Address, b.Lease.Address, node.Address, node.Provider,
		ModelAddress(node.Spec.Model), optional(bar), keeper, StakeVaultAddress(keeper), mint, optional(customer),
		TokenAddress(finder, mint), solana.SysVarInstructionsPubkey, solana.TokenProgramID)
	proof, err := finish(ix, err, bindings.Instruction_ProveOmittedBid)
	if err != nil {
		return nil, err
	}
	return []solana.Instruction{bid, said, proof}, nil
}
