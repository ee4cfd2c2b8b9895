package buy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Pauses between tries to bring a job to its next machine, and to follow the chain.
const firstCarryPause, lastCarryPause = time.Second, 30 * time.Second

// errNotSeen: the purchase has not seen yet that its lease has moved.
var errNotSeen = errors.New("the lease that moved is not seen yet")

// Attending says which purchases a server attends.
type Attending struct {
	// Ours reports whether the server has bought under a name.
	Ours func(name string) bool
	// Moved is told of leases whose jobs were brought to another machine, with what their purchase says of inspections. Calls may
	// overlap.
	Moved func(inspect string, leases []service.Lease) error
}

// Attend follows the leases of detached purchases until ctx ends. Where a machine fails and keepers move a lease, it brings the job
// to the next one, as a command does that attends its purchase. A program that was away brings what it has missed. The order of the
// purchase is held only meanwhile, so that commands can work on it.
func (b *Buyer) Attend(ctx context.Context, a Attending) {
	var carrying sync.WaitGroup
	defer carrying.Wait()
	taken := map[solana.PublicKey]bool{} // leases, until this program ends
	for pause := firstCarryPause; ctx.Err() == nil; pause = min(2*pause, lastCarryPause) {
		if err := b.attend(ctx, a, taken, &carrying); err != nil && ctx.Err() == nil {
			b.log.Warn().Err(err).Dur("again in", pause).Msg("leases of purchases are not followed")
		}
		_ = wait.For(ctx, pause)
	}
}

func (b *Buyer) attend(ctx context.Context, a Attending, taken map[solana.PublicKey]bool, carrying *sync.WaitGroup) error {
	v, stop, err := b.service.Live(ctx, view.With([]chain.Filter{query.LeasesOf(b.customer)}))
	if err != nil {
		return err
	}
	defer stop()
	for {
		var moved []market.Lease
		if err := v.WaitFor(ctx, func(v *view.View) bool {
			moved = slices.DeleteFunc(v.LeasesOfCustomer(b.customer), func(l market.Lease) bool { return !carried(&l) || taken[l.Address] })
			return len(moved) > 0
		}); err != nil {
			return err
		}
		bought := b.purchases()
		for _, l := range moved {
			taken[l.Address] = true
			i := slices.IndexFunc(bought, func(p purchase.Purchase) bool { return p.Order == l.Order })
			if i < 0 || !bought[i].Detach || bought[i].Stage == purchase.Over || !a.Ours(bought[i].Name) {
				continue
			}
			carrying.Go(func() { b.carry(ctx, a, bought[i].Inspect, l) })
		}
	}
}

// carried reports whether a lease continues another, and can take its job.
func carried(l *market.Lease) bool { return l.Continues == 1 && l.State() <= market.LeaseRunning }

// carry brings a job to the machine that its lease has moved to, however often that has to be tried while the lease can take it.
func (b *Buyer) carry(ctx context.Context, a Attending, inspect string, l market.Lease) {
	log := b.log.With().Stringer("lease", l.Address).Stringer("order", l.Order).Logger()
	for pause := firstCarryPause; ; pause = min(2*pause, lastCarryPause) {
		leases, err := b.carryOnce(ctx, l)
		switch {
		case err == nil:
			log.Info().Msg("the job of a lease that moved is on its next machine")
			if err := a.Moved(inspect, leases); err != nil {
				log.Warn().Err(err).Msg("a lease that moved is not inspected")
			}
			return
		case ctx.Err() != nil:
			return
		case errors.Is(err, errJobRefused):
			log.Error().Err(err).Msg("the next machine of a lease does not take its job")
			return
		}
		log.Warn().Err(err).Dur("again in", pause).Msg("the job of a lease that moved is not on its next machine yet")
		if wait.For(ctx, pause) != nil {
			return
		}
		if cur, found, err := query.Find[market.Lease](ctx, b.client, l.Address, b.client.WaitLevel()); err == nil && (!found || !carried(&cur)) {
			log.Warn().Msg("a lease that moved is over before its job was on its machine")
			return
		}
	}
}

// carryOnce continues the purchase of a lease that moved. It returns the leases of its order.
func (b *Buyer) carryOnce(ctx context.Context, l market.Lease) ([]service.Lease, error) {
	out, err := b.resume(ctx, l.Order, false)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(out.Leases, func(have service.Lease) bool { return have.Address == l.Address.String() }) {
		return nil, fmt.Errorf("%w: order %s has %s", errNotSeen, l.Order, service.Plural(len(out.Leases), "other lease"))
	}
	return out.Leases, nil
}
