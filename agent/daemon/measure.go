package daemon

import (
	"context"
	"errors"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/device"
	"github.com/gantry-market/gantry/agent/lease"
	"github.com/gantry-market/gantry/agent/measure"
	"github.com/gantry-market/gantry/internal/printable"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// errTerms: what the node is measured by is not known yet.
var errTerms = errors.New("the market or the node's GPU model is not known yet")

// openMeasure makes what has this node's GPUs measured.
func (a *Agent) openMeasure() (err error) {
	a.devices = device.New(a.machine.UUIDs(), a.machine.Inventory.Simulated)
	a.measured = a.simulation().falsifies(a.devices)
	a.measure, err = measure.New(measure.Options{
		Node: a.node, Domain: a.domain, Signer: a.key, Guest: a.guest, Member: a.mayChallenge, Instants: instants{a}, GPUs: a.measuredGPUs,
		Busy: a.leases.Live, Changed: a.chain.Changed, Leases: tenants{a}, Turn: a.apart,
		PeriodSecs: func() (uint32, bool) {
			p, ok := a.view.Params()
			return p.PeriodSecs, ok && p.PeriodSecs > 0
		},
		Now: a.clock.Now, Log: a.log.With().Str("part", "measure").Logger(),
	})
	return err
}

// runMeasure opens the GPUs before keepers ask for them, and has them measured.
func (a *Agent) runMeasure(ctx context.Context) error {
	if err := device.Open(ctx, a.devices); err != nil {
		a.log.Warn().Err(err).Msg("a GPU cannot be opened for measurements yet; it is tried again when keepers measure it")
	}
	return a.measure.Run(ctx)
}

// measuredGPUs are the node's devices, with what its model is measured by now. Error: errTerms.
func (a *Agent) measuredGPUs() ([]measure.GPU, error) {
	node, ok := a.view.Node(a.node)
	if !ok {
		return nil, errTerms
	}
	model, ok := a.view.Model(node.Spec.Model)
	if !ok {
		return nil, errTerms
	}
	out := make([]measure.GPU, len(a.measured))
	for i, d := range a.measured {
		out[i] = measure.GPU{Index: uint8(i), Profile: market.ProfileOf(model.Profile), Device: d}
	}
	return out, nil
}

// unmeasured waits until no measurement has a lease's GPUs, isMeasured says whether the lease's customer measures them. Leases are
// there before what measures.
func (a *Agent) unmeasured(ctx context.Context, of solana.PublicKey) error {
	return a.measure.Free(ctx, of)
}

func (a *Agent) isMeasured(of solana.PublicKey) bool { return a.measure.Measured(of) }

// tenants says what customers may have measured.
type tenants struct{ a *Agent }

// Customer implements measure.Leases.
func (t tenants) Customer(key solana.PublicKey) bool {
	g := t.a.guests.Load()
	return g != nil && g.leases(key)
}

// Tenancy implements measure.Leases.
func (t tenants) Tenancy(ctx context.Context, key, of solana.PublicKey) (measure.Tenancy, error) {
	has, err := t.a.leases.Tenancy(ctx, key, of)
	var refused *lease.RefusedError
	if errors.As(err, &refused) {
		err = p2p.Refuse(p2p.CodeRefused, "%s", printable.Text(refused.Why))
	}
	return measure.Tenancy{GPUs: has.GPUs, Until: has.StartsBy, Job: has.Job}, err
}

// Held implements measure.Leases.
func (t tenants) Held(of solana.PublicKey) bool { return t.a.leases.Held(of) }

// Ended implements measure.Leases.
func (t tenants) Ended(of solana.PublicKey) { t.a.leases.Wake(of) }

// instants finds instants by periods of the market's length.
type instants struct{ a *Agent }

func (i instants) Is(ctx context.Context, claimed instant.Instant) (bool, error) {
	p, ok := i.a.view.Params()
	if !ok || p.PeriodSecs == 0 {
		return false, errTerms
	}
	return measure.Blocks{Source: i.a.client.Blocks(chain.Confirmed), Domain: i.a.domain, PeriodSecs: p.PeriodSecs}.Is(ctx, claimed)
}
