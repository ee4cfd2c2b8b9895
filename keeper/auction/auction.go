// Package auction chooses the nodes for instant orders: the standing ask is the bid, the lowest score wins.
//
// The choice is a pure function of the accounts, with the program's own rules (order_award), so that what is chosen
// here is not refused there, and two keepers choose the same nodes.
package auction

import (
	"bytes"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/keeper/index"
)

// Reasons for which an order is not awarded now.
var (
	ErrNotOpen   = errors.New("order is not open for instant awards")
	ErrPaused    = errors.New("awards are paused")
	ErrTooLate   = errors.New("award deadline has passed")
	ErrNoMatch   = errors.New("not enough nodes satisfy the order")
	ErrNotLoaded = errors.New("market or order is not known")
)

// MaxAwards is how many awards of one order fit in a transaction.
const MaxAwards = 4

// modeInstant is the only order mode of this version.
const modeInstant = 0

// Choose returns the nodes that an open order should go to now (unix seconds on the chain's clock), best first. An
// order over several nodes is all or nothing, so it gets either all that it still wants or none.
// Errors: those above.
func Choose(v *index.View, order solana.PublicKey, now int64) ([]market.Candidate, error) {
	o, ok := v.Orders[order]
	if !ok || v.Market == nil {
		return nil, ErrNotLoaded
	}
	switch {
	case o.State() != market.OrderOpen || o.Mode != modeInstant || o.NodesAwarded >= o.NodesWanted:
		return nil, ErrNotOpen
	case v.Market.Paused&market.PauseAwards != 0:
		return nil, ErrPaused
	case now > o.AwardDeadline:
		return nil, ErrTooLate
	}
	var all []market.Candidate
	consider := func(key solana.PublicKey) {
		if c, ok := candidate(v, o, key, now); ok {
			all = append(all, c)
		}
	}
	if o.Requirement.Model != 0 {
		for key := range v.NodesOfModel[o.Requirement.Model] {
			consider(key)
		}
	} else {
		for key := range v.Nodes {
			consider(key)
		}
	}
	slices.SortFunc(all, market.Candidate.Compare)
	wanted := int(o.NodesWanted - o.NodesAwarded)
	if o.Requirement.SameSite != 0 && o.NodesAwarded == 0 {
		all = cheapestSite(all, wanted)
	}
	if len(all) < wanted {
		return nil, fmt.Errorf("%w: %d of %d", ErrNoMatch, len(all), wanted)
	}
	return all[:wanted], nil
}

// candidate checks one node as the program will.
func candidate(v *index.View, o *market.Order, key solana.PublicKey, now int64) (market.Candidate, bool) {
	n, ok := v.Nodes[key]
	if !ok {
		return market.Candidate{}, false
	}
	p, hasProvider := v.Providers[n.Provider]
	m, hasModel := v.Models[n.Spec.Model]
	if !hasProvider || !hasModel || market.Awardable(v.Market, o, n, p, m, now) != nil {
		return market.Candidate{}, false
	}
	for lease := range v.LeasesOfNode[key] {
		if v.Leases[lease].Order == o.Address {
			return market.Candidate{}, false // one lease of an order on a node
		}
	}
	c, err := market.NewCandidate(o.Address, *n, now)
	return c, err == nil
}

// cheapestSite keeps the candidates of the site where the order costs least. sorted is best first.
func cheapestSite(sorted []market.Candidate, wanted int) []market.Candidate {
	bySite := map[[16]byte][]market.Candidate{}
	for _, c := range sorted {
		bySite[c.Node.Spec.Site] = append(bySite[c.Node.Spec.Site], c)
	}
	var best []market.Candidate
	var bestHi, bestLo uint64
	for site, cs := range bySite {
		if len(cs) < wanted {
			continue
		}
		var hi, lo uint64
		for _, c := range cs[:wanted] {
			var carry uint64
			lo, carry = bits.Add64(lo, c.Score, 0)
			hi += carry
		}
		less := best == nil || hi < bestHi || (hi == bestHi && lo < bestLo)
		if !less && hi == bestHi && lo == bestLo {
			less = bytes.Compare(site[:], best[0].Node.Spec.Site[:]) < 0
		}
		if less {
			best, bestHi, bestLo = cs, hi, lo
		}
	}
	return best
}
