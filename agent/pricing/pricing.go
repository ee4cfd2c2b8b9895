// Package pricing decides what a node asks: a fixed price, or one that follows the market.
package pricing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// ErrPolicy is the error of a price that cannot be read.
var ErrPolicy = errors.New("not a price")

// Snapshot is what a policy decides from.
type Snapshot struct {
	// Reference is the market's reference price of the node's GPU model; 0 when unknown.
	Reference market.PricePerHour
	// Others are the asks of other active nodes with the same model, in any order.
	Others []market.PricePerHour
	// Current is the node's own ask; 0 before it has one.
	Current market.PricePerHour
	// Leased says whether any GPU of the node is leased.
	Leased bool
	// Idle is how long the node has been without a lease.
	Idle time.Duration
}

// Observe reads a snapshot from a view: the model's reference price and the asks of active nodes with this model, all
// but one: the node's own.
func Observe(v *view.View, model uint16, except solana.PublicKey) Snapshot {
	var s Snapshot
	if m, ok := v.Model(model); ok {
		s.Reference = market.PricePerHour(m.ReferencePrice)
	}
	for _, n := range v.Nodes() {
		if n.Address != except && n.Spec.Model == model && n.State() == market.NodeActive {
			s.Others = append(s.Others, n.Ask())
		}
	}
	return s
}

// Policy decides the node's ask.
type Policy interface {
	// Ask is the price for a snapshot; 0 only when the snapshot has no price at all.
	Ask(Snapshot) market.PricePerHour
	// String is how the policy is written on the command line.
	String() string
}

// Fixed always asks the same.
type Fixed market.PricePerHour

// Ask implements [Policy].
func (f Fixed) Ask(Snapshot) market.PricePerHour { return market.PricePerHour(f) }

func (f Fixed) String() string { return market.PricePerHour(f).String() }

// FollowMarket asks the median of the comparable nodes (the reference price when there are none), a little more while
// it is leased and less the longer it idles, never below Floor. Steps below one per cent are not taken: each costs a
// transaction and makes the ask younger.
type FollowMarket struct{ Floor market.PricePerHour }

const (
	bps         = 10_000
	leasedBPS   = 200  // added while leased
	idleBPS     = 100  // taken off for each full hour without a lease
	idleMaxBPS  = 1500 // at most
	smallestBPS = 100
)

// Ask implements [Policy].
func (f FollowMarket) Ask(s Snapshot) market.PricePerHour {
	base := median(s.Others)
	if base == 0 {
		base = s.Reference
	}
	factor := uint64(bps)
	if s.Leased {
		factor += leasedBPS
	} else {
		factor -= min(uint64(max(0, s.Idle/time.Hour))*idleBPS, idleMaxBPS)
	}
	ask := scale(base, factor)
	ask = max(ask, f.Floor)
	if s.Current >= f.Floor && s.Current > 0 && near(ask, s.Current) {
		return s.Current
	}
	return ask
}

func (f FollowMarket) String() string {
	if f.Floor == 0 {
		return "auto"
	}
	return "auto:" + f.Floor.String()
}

// scale is price × factor / 10,000 without overflow for realistic prices.
func scale(p market.PricePerHour, factor uint64) market.PricePerHour {
	n := uint64(p)
	return market.PricePerHour(n/bps*factor + n%bps*factor/bps)
}

// near reports whether two prices differ by less than one per cent.
func near(a, b market.PricePerHour) bool {
	low, high := min(a, b), max(a, b)
	return high-low < scale(high, smallestBPS)
}

// median of prices; the lower one of two in the middle; 0 of none.
func median(prices []market.PricePerHour) market.PricePerHour {
	if len(prices) == 0 {
		return 0
	}
	p := slices.Clone(prices)
	slices.Sort(p)
	return p[(len(p)-1)/2]
}

// Parse reads a policy: a price such as 1.26, "auto", or "auto:FLOOR". Errors: ErrPolicy, market.ErrAmount.
func Parse(s string) (Policy, error) {
	v := strings.TrimSpace(s)
	if name, floor, has := strings.Cut(v, ":"); strings.EqualFold(name, "auto") {
		if !has {
			return FollowMarket{}, nil
		}
		p, err := market.ParsePrice(floor)
		if err != nil {
			return nil, fmt.Errorf("floor of %q: %w", s, err)
		}
		return FollowMarket{Floor: p}, nil
	}
	p, err := market.ParsePrice(v)
	if err != nil {
		return nil, err
	}
	if p == 0 {
		return nil, fmt.Errorf("%w: a price of 0 is refused by the market; give USDC per GPU-hour such as 1.26, or auto", ErrPolicy)
	}
	return Fixed(p), nil
}
