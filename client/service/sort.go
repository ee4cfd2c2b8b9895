package service

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/sdk/market"
)

// SortBy is what the answer to a search is sorted by, the best first.
type SortBy string

// Orders of answers. Nodes of which keepers have measured nothing are behind all others where a figure sorts, and nodes
// that are equal are in the order of awards.
const (
	SortAward     SortBy = ""           // as an order is awarded: by price and reputation
	SortTOPSPrice SortBy = "tops-price" // USDC for an hour of one TOPS that was measured
	SortGBsPrice  SortBy = "gbs-price"  // USDC for an hour of one GB/s of memory that was measured
	SortTOPS      SortBy = "tops"
	SortGBs       SortBy = "bandwidth"
	SortDown      SortBy = "down"
	SortUp        SortBy = "up"
)

// Sorts are the orders that can be asked for by name.
var Sorts = []string{string(SortTOPSPrice), string(SortGBsPrice), string(SortTOPS), string(SortGBs), string(SortDown), string(SortUp)}

// ParseSort reads an order; "award" or nothing is that of awards. Error: Failure.
func ParseSort(text string) (SortBy, error) {
	switch {
	case text == "" || text == "award":
		return SortAward, nil
	case slices.Contains(Sorts, text):
		return SortBy(text), nil
	}
	return "", Usage(fmt.Sprintf("answers cannot be sorted by %q", text), "sort by award, "+strings.Join(Sorts, ", "))
}

// key is what nodes are compared by, the least first.
func (by SortBy) key(n *market.Node) float64 {
	per := func(figure uint32) float64 {
		if figure == 0 {
			return math.Inf(1)
		}
		return float64(n.Ask()) / float64(figure)
	}
	switch by {
	case SortTOPSPrice:
		return per(n.Operations)
	case SortGBsPrice:
		return per(n.Bandwidth)
	case SortTOPS:
		return -float64(n.Operations)
	case SortGBs:
		return -float64(n.Bandwidth)
	case SortDown:
		return -float64(n.DownMbps)
	case SortUp:
		return -float64(n.UpMbps)
	case SortAward:
	}
	return 0
}

// sorted are the ranking's nodes in an order. They are shared, and not to be changed.
func (r *ranking) sorted(by SortBy) []rankedNode {
	if by == SortAward {
		return r.nodes
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if all, known := r.by[by]; known {
		return all
	}
	all := slices.Clone(r.nodes)
	slices.SortStableFunc(all, func(a, b rankedNode) int { return cmp.Compare(by.key(a.node), by.key(b.node)) })
	if r.by == nil {
		r.by = map[SortBy][]rankedNode{}
	}
	r.by[by] = all
	return all
}
