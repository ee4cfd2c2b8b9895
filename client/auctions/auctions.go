// Package auctions shows sealed auctions: as the chain has them now, and replayed from the chain's history and the bids that
// keepers publish, with the proof of an award that was unjust.
package auctions

import (
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// Auction is the auction of an order.
type Auction struct {
	Order       string   `json:"order"`
	State       string   `json:"state"`
	CloseAt     int64    `json:"closeAt"`
	RevealUntil int64    `json:"revealUntil"`
	Deadline    int64    `json:"awardDeadline,omitempty"`
	Completable int64    `json:"completableAfter,omitempty"` // by any keeper, while the first one leaves awards out
	Stopped     bool     `json:"stopped,omitempty"`          // another keeper had to complete it
	MaxPrice    string   `json:"maxPricePerGpuHour,omitempty"`
	Keeper      string   `json:"keeper,omitempty"`
	BidsRoot    string   `json:"bidsRoot,omitempty"`
	Winners     []string `json:"winners"`
	Bar         string   `json:"bestLosingNode,omitempty"`
	BarScore    uint64   `json:"bestLosingScore,omitempty"`
	AwardedAt   int64    `json:"awardedAt,omitempty"`
	Challenge   int64    `json:"challengeUntil,omitempty"`
}

// state says where an auction is.
func state(a *market.Auction, orderOpen bool, now int64) string {
	switch {
	case a.WinnerCount > 0 && orderOpen:
		return "awarded in part"
	case a.WinnerCount > 0:
		return "awarded"
	case !orderOpen:
		return "over without an award"
	case now <= a.CloseAt:
		return "nodes commit to their bids"
	case now <= a.RevealUntil:
		return "nodes reveal their bids"
	}
	return "a keeper awards"
}

// Describe describes the auction of an order at a time of the cluster, unix seconds. Error: an order without one.
func Describe(v *view.View, order solana.PublicKey, now int64) (Auction, error) {
	a, ok := v.AuctionOf(order)
	if !ok {
		return Auction{}, service.Refused(fmt.Sprintf("order %s has no auction (any more)", order), "what happened in it: gantry auction replay "+order.String())
	}
	o, open := v.Order(order)
	out := Auction{
		Order: order.String(), CloseAt: a.CloseAt, RevealUntil: a.RevealUntil, Winners: []string{},
		State: state(&a, open && o.State() == market.OrderOpen, now),
	}
	if open {
		out.Deadline, out.MaxPrice, out.Stopped = o.AwardDeadline, market.PricePerHour(o.MaxPrice).String(), o.Stopped == 1
		if a.WinnerCount > 0 && o.State() == market.OrderOpen {
			out.Completable = a.CompletableAfter(o.AwardDeadline)
		}
	}
	if a.WinnerCount > 0 {
		out.Keeper, out.BidsRoot, out.AwardedAt, out.Challenge = a.Keeper.String(), fmt.Sprintf("%x", a.BidsRoot), a.AwardedAt, a.ChallengeUntil
		if !a.BarNode.IsZero() {
			out.Bar, out.BarScore = a.BarNode.String(), a.BarScore
		}
		for _, w := range a.Winners[:min(int(a.WinnerCount), len(a.Winners))] {
			out.Winners = append(out.Winners, w.String())
		}
	}
	return out, nil
}

// Scope is the scope of the auction of an order; of all when it is not named in full.
func Scope(text string) watch.Scope {
	order, err := solana.PublicKeyFromBase58(text)
	if err != nil {
		return view.Only(view.Kinds(market.KindAuction, market.KindOrder))
	}
	return view.With(nil, order, market.AuctionAddress(order))
}

// Bidders is the scope of what a replay of an order's auction looks at: the order, its auction and leases, keepers, and
// all nodes with their providers, of whom any may have bid.
func Bidders(order solana.PublicKey) watch.Scope {
	filters := append(view.Kinds(market.KindKeeper, market.KindNode), query.LeasesOfOrder(order))
	return view.With(filters, order, market.AuctionAddress(order))
}

// Find is the order that text names, by its address or the beginning of it. The order may be closed when the address is
// whole.
func Find(v *view.View, text string) (solana.PublicKey, error) {
	if key, err := solana.PublicKeyFromBase58(text); err == nil {
		return key, nil
	}
	var orders []solana.PublicKey
	for _, a := range v.Auctions() {
		orders = append(orders, a.Order)
	}
	return service.PickAddress(text, "auction", orders)
}
