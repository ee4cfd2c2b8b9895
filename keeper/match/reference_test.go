package match_test

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
)

// accounts are as a scan reads them.
type accounts struct {
	nodes     map[solana.PublicKey]*market.Node
	providers map[solana.PublicKey]*market.Provider
	models    map[uint16]*market.Model
}

func newAccounts() *accounts {
	return &accounts{
		nodes: map[solana.PublicKey]*market.Node{}, providers: map[solana.PublicKey]*market.Provider{}, models: map[uint16]*market.Model{},
	}
}

// scan is the reference: it asks the program's twin about every node and sorts what is left.
func (a *accounts) scan(q match.Query, now int64) []market.Candidate {
	o := &market.Order{Meta: market.Meta{Address: q.Order}}
	o.Status, o.AwardDeadline, o.Requirement, o.GpusPerNode, o.MaxPrice = uint8(market.OrderOpen), max(now, q.End), q.Requirement, q.GPUs, q.MaxPrice
	if q.Interruptible {
		o.Interruptible = 1
	}
	if q.RegisteredBefore != 0 {
		o.NodesWanted, o.CreatedAt = 2, q.RegisteredBefore
	}
	if q.Site != nil {
		o.NodesAwarded, o.Site = 1, *q.Site
	}
	var all []market.Candidate
	for key, n := range a.nodes {
		p, m := a.providers[n.Provider], a.models[n.Spec.Model]
		if p == nil || m == nil || slices.Contains(q.Except, key) || market.Awardable(&market.Market{}, o, n, p, m, now) != nil {
			continue
		}
		if q.Interruptible {
			n, _ = n.AsSpot()
		}
		if c, err := market.NewCandidate(q.Order, *n, now, o.LatestEnd()); err == nil {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, market.Candidate.Compare)
	if q.Requirement.SameSite != 0 && q.Site == nil {
		return cheapest(all, q.Nodes)
	}
	return all[:min(len(all), q.Nodes)]
}

// cheapest is the site with the least sum of scores.
func cheapest(sorted []market.Candidate, wanted int) []market.Candidate {
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
		equal := hi == bestHi && lo == bestLo
		if best == nil || hi < bestHi || hi == bestHi && lo < bestLo || equal && bytes.Compare(site[:], best[0].Node.Spec.Site[:]) < 0 {
			best, bestHi, bestLo = cs[:wanted], hi, lo
		}
	}
	return best
}
