package pricing

import (
	"time"

	"github.com/gantry-market/gantry/sdk/market"
)

// BidInputs is what a sealed bid is made from.
type BidInputs struct {
	Costs  Costs
	FeeBPS uint16
	// UtilisationBPS is how much of the node's GPU time of the last day was leased, 0 to 10,000.
	UtilisationBPS uint16
	// Recent are the prices of leases of this GPU model that the chain shows, Others the asks of other active nodes.
	Recent []market.PricePerHour
	Others []market.PricePerHour
	// Reference is the market's reference price of the model; 0 when unknown.
	Reference market.PricePerHour
}

// minRecent is how many recent leases are needed to use their median.
const minRecent = 3

// Rate is what a GPU-hour of the model brings: the median price of recent leases, when there are at least three; else
// the median of the others' asks; else the reference price.
func (s BidInputs) Rate() market.PricePerHour {
	if len(s.Recent) >= minRecent {
		return median(s.Recent)
	}
	if len(s.Others) > 0 {
		return median(s.Others)
	}
	return s.Reference
}

// Bid is what the policy offers in a sealed auction.
//
// The winner is paid what the best losing bid sets, so that there is nothing to gain from bidding more than the job
// must bring, nor less. That is:
//
//	floor + utilisation × (rate − floor)       and never below floor
//
// The floor is what the hour costs (Costs.Floor), or the owner's own floor when that is higher. A machine that stands
// idle gains from every price above it. One that is always leased loses another customer at the market rate by taking
// this one. Utilisation is how likely that is. A policy with a fixed price bids it, but never below the floor.
func Bid(p Policy, s BidInputs) market.PricePerHour {
	floor := s.Costs.Floor(s.FeeBPS)
	switch v := p.(type) {
	case Fixed:
		return max(market.PricePerHour(v), floor)
	case FollowMarket:
		floor = max(floor, v.Floor)
	}
	rate := s.Rate()
	if rate <= floor {
		return floor
	}
	return floor + scale(rate-floor, uint64(min(s.UtilisationBPS, bps)))
}

// LeasedTime is the time for which one lease held GPUs of the node.
type LeasedTime struct {
	From, To time.Time // To is zero while it lasts
	GPUs     int
}

// Window is the time over which utilisation is measured; MinWindow is the shortest, for new machines.
const (
	Window    = 24 * time.Hour
	MinWindow = time.Hour
)

// Utilisation is how much of the node's GPU time was leased, in basis points: over the last day, or since the node was
// registered when that is less, but at least over an hour.
func Utilisation(work []LeasedTime, gpus int, registered, now time.Time) uint16 {
	window := min(max(now.Sub(registered), MinWindow), Window)
	from := now.Add(-window)
	var busy float64
	for _, w := range work {
		end := now
		if !w.To.IsZero() && w.To.Before(now) {
			end = w.To
		}
		begin := w.From
		if begin.Before(from) {
			begin = from
		}
		if end.After(begin) {
			busy += end.Sub(begin).Seconds() * float64(w.GPUs)
		}
	}
	all := window.Seconds() * float64(gpus)
	if gpus <= 0 || busy <= 0 {
		return 0
	}
	return uint16(min(busy/all, 1) * bps)
}
