package buy

import (
	"context"
	"math"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// chooseModel takes, of the models that are meant, the one whose free machines serve the order at the lowest ask; where
// none can, the one with the most machines that nearly could, whose refusal is then shown. An order is for one model, and
// a purchase that has begun keeps its own.
func (b *Buyer) chooseModel(ctx context.Context, t *terms, mk market.Market, v *view.View) error {
	models, err := service.ModelsNamed(v, t.request.GPU)
	if err != nil {
		return err
	}
	best := models[0]
	if len(models) > 1 {
		if best, err = b.bestModel(ctx, t, mk, models); err != nil {
			return err
		}
	}
	t.model, t.args.Requirement.Model = best, best.Id
	if t.args.MaxPrice == 0 {
		t.args.MaxPrice, t.noPrice = market.PricePerHour(best.ReferencePrice), true
	}
	return nil
}

// bestModel compares the offers of several models.
func (b *Buyer) bestModel(ctx context.Context, t *terms, mk market.Market, models []market.Model) (best market.Model, err error) {
	if begun, ok := b.begun(t.request.Name, models); ok {
		return begun, nil
	}
	now, err := b.client.Now(ctx)
	if err != nil {
		return best, err
	}
	filters := make([]chain.Filter, len(models))
	for i, m := range models {
		filters[i] = query.NodesOfModel(m.Id)
	}
	all, err := b.service.Snapshot(ctx, view.With(filters))
	if err != nil {
		return best, err
	}
	lowest, most := uint64(math.MaxUint64), -1
	for _, m := range models {
		ask, fit := t.offersOf(mk, all, m, now)
		if fit >= int(t.args.Nodes) {
			if ask < lowest {
				best, lowest = m, ask
			}
		} else if lowest == math.MaxUint64 && fit > most {
			best, most = m, fit
		}
	}
	return best, nil
}

// begun is the model of the last purchase of a name, if it is one of these.
func (b *Buyer) begun(name string, models []market.Model) (found market.Model, ok bool) {
	if name == "" {
		return found, false
	}
	last := -1
	for _, p := range b.purchases() {
		if p.Name != name || p.Args.Customer != b.customer || int(p.Attempt) < last {
			continue
		}
		if i := slices.IndexFunc(models, func(m market.Model) bool { return m.Id == p.Args.Requirement.Model }); i >= 0 {
			found, ok, last = models[i], true, int(p.Attempt)
		}
	}
	return found, ok
}

// offersOf counts the machines of a model that could serve the order now, and returns the highest ask of the cheapest
// that are enough.
func (t *terms) offersOf(mk market.Market, all *view.View, m market.Model, now int64) (ask uint64, fit int) {
	var asks []uint64
	t.nodes(mk, solana.PublicKey{}, all, m, now, func(n market.Node, err error) {
		if err == nil {
			asks = append(asks, uint64(n.AskFor(t.args.Interruptible)))
		}
	})
	slices.Sort(asks)
	if len(asks) >= int(t.args.Nodes) && t.args.Nodes > 0 {
		ask = asks[t.args.Nodes-1]
	}
	return ask, len(asks)
}
