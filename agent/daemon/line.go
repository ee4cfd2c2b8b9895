package daemon

import (
	"context"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/line"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/committee"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// openLine makes what has this node's line measured.
func (a *Agent) openLine() (err error) {
	a.line, err = line.New(line.Options{
		Node: a.node, Domain: a.domain, Member: a.mayChallenge, Draws: &draws{a: a}, Busy: a.leases.Live, Aside: a.aside,
		PeriodSecs: func() (uint32, bool) {
			p, ok := a.view.Params()
			return p.PeriodSecs, ok && p.PeriodSecs > 0
		},
		Now: a.clock.Now, Log: a.log.With().Str("part", "line").Logger(),
	})
	return err
}

// draws finds out who may measure the node's line.
type draws struct {
	a *Agent

	mu     sync.Mutex
	period records.Period // of seed
	seed   *committee.Seed
}

// Is implements line.Draws.
func (d *draws) Is(ctx context.Context, claimed instant.Instant) (bool, error) {
	return instants{d.a}.Is(ctx, claimed)
}

// Sits implements line.Draws, by the keepers' weights as this node reads them. Errors: errTerms, those of the chain.
func (d *draws) Sits(ctx context.Context, p records.Period, keeper solana.PublicKey) (bool, error) {
	params, ok := d.a.view.Params()
	if !ok || params.PeriodSecs == 0 {
		return false, errTerms
	}
	var weights map[solana.PublicKey]uint64
	d.a.view.Read(func(v *view.Accounts) { weights = v.Weights(int64(p+1) * int64(params.PeriodSecs)) })
	if r := committee.NewRoster(committee.Seed{}, weights); r.Everyone() {
		return r.Sits(d.a.node, keeper), nil
	}
	seed, err := d.seedOf(ctx, p, params.PeriodSecs)
	if err != nil {
		return false, err
	}
	return committee.NewRoster(seed, weights).Sits(d.a.node, keeper), nil
}

// seedOf looks the seed of a period's committees up, once.
func (d *draws) seedOf(ctx context.Context, p records.Period, secs uint32) (committee.Seed, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seed != nil && d.period == p {
		return *d.seed, nil
	}
	b, err := chain.FirstBlock(ctx, d.a.client.Blocks(chain.Finalized), committee.SeedAt(p, secs))
	if err != nil {
		return committee.Seed{}, err
	}
	seed := committee.NewSeed(d.a.domain, p, b.Slot, b.Hash)
	d.period, d.seed = p, &seed
	return seed, nil
}
