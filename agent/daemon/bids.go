package daemon

import (
	"context"
	"encoding/hex"
	"math/bits"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/bidding"
	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/sealedbid"
)

// The protocols of sealed auctions: the node asks, keepers answer.
var (
	commitProtocol  = toKeeper(messages.BidCommit)
	revealProtocol  = toKeeper(messages.BidReveal)
	outcomeProtocol = toKeeper(messages.BidOutcome)
)

func toKeeper(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, MaxRequest: messages.MaxBidRequest, MaxResponse: messages.MaxBidRequest}
}

// keeperNetwork implements bidding.Network.
type keeperNetwork struct{ node *p2p.Node }

func (k keeperNetwork) Commit(ctx context.Context, keeper solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error) {
	return p2p.Call[messages.BidRequest, messages.BidAnswer](ctx, k.node, keeper, commitProtocol, req)
}

func (k keeperNetwork) Reveal(ctx context.Context, keeper solana.PublicKey, req messages.BidRequest) (messages.BidAnswer, error) {
	return p2p.Call[messages.BidRequest, messages.BidAnswer](ctx, k.node, keeper, revealProtocol, req)
}

func (k keeperNetwork) Outcome(ctx context.Context, keeper solana.PublicKey, req messages.OutcomeRequest) (messages.SignedOutcome, error) {
	return p2p.Call[messages.OutcomeRequest, messages.SignedOutcome](ctx, k.node, keeper, outcomeProtocol, req)
}

func (a *Agent) newBidder(ctx context.Context) (*bidding.Bidder, error) {
	return bidding.New(bidding.Options{
		View: a.view, Store: a.store, Network: keeperNetwork{a.p2p}, Key: a.key, Node: a.node, Domain: a.domain,
		Price: func(o market.Order) market.PricePerHour {
			if !a.local && market.Isolation(o.Requirement.MinIsolation) < market.Sandbox {
				return 0 // its job may have no image, and would be refused
			}
			return a.bidPrice(ctx)
		}, Withholds: a.offer.Withholds, OnChange: a.writeBids, Log: a.log.With().Str("part", "bids").Logger(), Now: a.clock.Cautious,
	})
}

// bidPrice is what the pricing policy offers for an order.
func (a *Agent) bidPrice(ctx context.Context) market.PricePerHour {
	node, ok := a.view.Node(a.node)
	if !ok {
		return 0
	}
	if fault := a.fault(); fault != "" {
		a.log.Info().Str("fault", fault).Msg("node does not bid while a GPU has a fault")
		return 0
	}
	s, err := a.bidInputs(ctx, node)
	if err != nil {
		a.log.Warn().Err(err).Msg("node does not bid: its own leases cannot be read")
		return 0
	}
	return pricing.Bid(a.policy, s)
}

// bidInputs is what a bid is made from: the owner's costs, the node's leases of the last day, and what others ask and
// get.
func (a *Agent) bidInputs(ctx context.Context, node market.Node) (pricing.BidInputs, error) {
	v := a.others(ctx, node.Spec.Model)
	others := pricing.Observe(v, node.Spec.Model, node.Address)
	s := pricing.BidInputs{Costs: a.costs, Others: others.Others, Reference: others.Reference}
	if p, ok := a.view.Params(); ok {
		s.FeeBPS = p.FeeBps
	}
	now := a.clock.Now()
	for _, l := range v.Leases() {
		n, ok := v.Node(l.Node)
		if ok && l.Node != node.Address && n.Spec.Model == node.Spec.Model && now.Sub(time.Unix(l.AwardedAt, 0)) < pricing.Window {
			s.Recent = append(s.Recent, market.PricePerHour(l.Price))
		}
	}
	entries, err := a.store.Leases()
	if err != nil {
		return s, err
	}
	var work []pricing.LeasedTime
	for _, r := range entries {
		w := pricing.LeasedTime{From: r.AwardedAt, To: r.EndedAt, GPUs: bits.OnesCount64(r.GPUMask)}
		if w.To.IsZero() && !r.State.Live() {
			continue // over, and the store does not say since when
		}
		work = append(work, w)
	}
	s.UtilisationBPS = pricing.Utilisation(work, int(node.Spec.Gpus), time.Unix(node.RegisteredAt, 0), now)
	return s, nil
}

// maxBidsInFile is how many bids the file has.
const maxBidsInFile = 200

// writeBids keeps the file that `gantry-agent bids` reads, because the store has one user at a time.
func (a *Agent) writeBids(all []store.Bid) {
	out := make([]sealedbid.BidHistory, 0, len(all))
	for _, b := range all[max(0, len(all)-maxBidsInFile):] {
		out = append(out, historyOf(b))
	}
	if err := writeJSON(a.cfg.BidsPath(), out); err != nil {
		a.log.Warn().Err(err).Msg("the file of bids cannot be written")
	}
}

// ReadBids reads the file that a running agent keeps.
func ReadBids(path string) ([]sealedbid.BidHistory, error) {
	return readJSON[[]sealedbid.BidHistory](path)
}

func historyOf(b store.Bid) sealedbid.BidHistory {
	out := sealedbid.BidHistory{
		Order: solana.PublicKey(b.Order).String(), Node: solana.PublicKey(b.Node).String(), CloseAt: b.CloseAt, RevealUntil: b.RevealUntil,
		BidAt: b.At, Price: uint64(b.Price), MaxPrice: uint64(b.Max), Salt: hex.EncodeToString(b.Salt[:]),
		Commitment: hex.EncodeToString(b.Commitment[:]), Signature: solana.SignatureFromBytes(b.Signature).String(),
		Acks: []sealedbid.HistoryAck{}, Refusals: []sealedbid.HistoryOutcome{}, Over: b.Over, Note: b.Note,
	}
	for _, x := range b.Acks {
		out.Acks = append(out.Acks, sealedbid.HistoryAck{
			Keeper: solana.PublicKey(x.Keeper).String(), Stage: x.Stage, ReceivedAt: x.ReceivedAt, Signature: solana.SignatureFromBytes(x.Signature).String(),
		})
	}
	for _, x := range b.Refusals {
		if w, err := sealedbid.DescribeOutcome(solana.PublicKey(x.Keeper), x.Outcome, solana.SignatureFromBytes(x.Signature)); err == nil {
			out.Refusals = append(out.Refusals, w)
		}
	}
	if x := b.Outcome; x != nil {
		if w, err := sealedbid.DescribeOutcome(solana.PublicKey(x.Keeper), x.Outcome, solana.SignatureFromBytes(x.Signature)); err == nil {
			out.Outcome = &w
		}
	}
	return out
}
