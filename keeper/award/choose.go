// Package award chooses the nodes for instant orders: the standing ask is the bid, the lowest score wins.
//
// The choice is a pure function of the accounts, with the program's own rules (order_award). So the program accepts the
// choice, and two keepers choose the same nodes. For a redundant order the hash of a block decides.
package award

import (
	"errors"
	"fmt"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/match"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Reasons for which an order is not awarded now.
var (
	ErrNotOpen   = errors.New("order is not open for instant awards")
	ErrPaused    = errors.New("awards are paused")
	ErrTooLate   = errors.New("award deadline has passed")
	ErrNoMatch   = errors.New("not enough nodes satisfy the order")
	ErrNotLoaded = errors.New("market or order is not known")
	ErrNotDrawn  = errors.New("the block that draws the order's nodes is not known yet")
)

// MaxAwards is how many awards of one order fit in a transaction.
const MaxAwards = 4

// modeInstant is the mode of orders that go to standing asks; orders of market.ModeSealed are awarded by package
// auction.
const modeInstant = 0

// Choose returns the nodes that an open order should go to now (unix seconds on the chain's clock), best first. An
// order over several nodes is all or nothing, so it gets either all that it still wants or none. The nodes of a redundant
// order are drawn.
// Errors: those above.
func Choose(v *view.Accounts, m *match.Matcher, order solana.PublicKey, now int64, draw Draw) ([]market.Candidate, error) {
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
	q := match.Query{
		Order: order, Requirement: o.Requirement, Interruptible: o.Interruptible != 0, GPUs: o.GpusPerNode, MaxPrice: o.MaxPrice, Nodes: int(o.NodesWanted - o.NodesAwarded),
		AskedAt: o.AskedAt(), End: o.LatestEnd(), UnservedBy: o.Unserved(), RegisteredBefore: o.RegisteredBefore(),
	}
	if o.NodesAwarded > 0 {
		q.Site = &o.Site
	}
	for lease := range v.LeasesOfOrder[order] {
		q.Except = append(q.Except, v.Leases[lease].Node) // an order has at most one lease on a node
	}
	if o.Redundant == 1 {
		return drawn(v, m, o, q, now, draw)
	}
	best := m.Best(q, now)
	if len(best) < q.Nodes {
		return nil, fmt.Errorf("%w: %d of %d", ErrNoMatch, len(best), q.Nodes)
	}
	return best, nil
}
