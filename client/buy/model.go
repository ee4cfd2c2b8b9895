package buy

import (
	"cmp"
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

// chooseModels names the models that are meant: keepers award the best machine of any of them. Where an order can name fewer, they are
// those whose free machines serve it at the lowest asks. Machines that work on one thing are alike: an order for several names one model.
// Without a maximum price, the reference price of the model with the lowest asks is it.
func (b *Buyer) chooseModels(ctx context.Context, t *terms, mk market.Market, v *view.View) error {
	models, err := service.ModelsFor(v, t.request.GPU, t.request.Compute)
	if err != nil {
		return err
	}
	if models, err = service.ModelsThatRun(models, t.request.GPU, t.image.needs); err != nil {
		return err
	}
	if len(models) > 1 {
		if models, err = b.bestModels(ctx, t, mk, models); err != nil {
			return err
		}
	}
	t.models = models
	t.askCUDA(models)
	t.args.Requirement.Models = modelIDs(models)
	if t.args.MaxPrice == 0 {
		t.args.MaxPrice, t.noPrice = market.PricePerHour(models[0].ReferencePrice), true
	}
	return nil
}

// askCUDA has the order ask for what the image needs on some models, unless the request says it. A simulated GPU runs no CUDA.
func (t *terms) askCUDA(models []market.Model) {
	if t.request.CUDA != "" || t.request.AllowSimulated {
		return
	}
	cuda := service.ImageCUDA(models, t.image.needs)
	t.args.Requirement.MinCuda, t.cudaByImage = uint16(cuda), cuda > 0
}

func modelIDs(models []market.Model) [market.MaxOrderModels]uint16 {
	ids := make([]uint16, len(models))
	for i, m := range models {
		ids[i] = m.Id
	}
	return market.Models(ids...)
}

// bestModels are those of several models that an order names, the one with the lowest asks first; where none can serve it, the
// one with the most machines that nearly could. A purchase that has begun keeps its own.
func (b *Buyer) bestModels(ctx context.Context, t *terms, mk market.Market, models []market.Model) ([]market.Model, error) {
	if begun := b.begun(t.request.Name, models); begun != nil {
		return begun, nil
	}
	now, err := b.client.Now(ctx)
	if err != nil {
		return nil, err
	}
	all, err := b.service.Snapshot(ctx, view.With(nodesOf(models)))
	if err != nil {
		return nil, err
	}
	type offers struct {
		market.Model
		ask uint64
		fit int
	}
	sorted := make([]offers, len(models))
	for i, m := range models {
		ask, fit := t.offersOf(mk, all, m, now)
		sorted[i] = offers{m, ask, fit}
	}
	slices.SortStableFunc(sorted, func(a, b offers) int { return cmp.Or(cmp.Compare(a.ask, b.ask), cmp.Compare(b.fit, a.fit)) })
	most := market.MaxOrderModels
	if t.args.Nodes > 1 {
		most = 1
	}
	out := make([]market.Model, min(len(sorted), most))
	for i := range out {
		out[i] = sorted[i].Model
	}
	return out, nil
}

// nodesOf are the filters for the nodes of some models.
func nodesOf(models []market.Model) []chain.Filter {
	out := make([]chain.Filter, len(models))
	for i, m := range models {
		out[i] = query.NodesOfModel(m.Id)
	}
	return out
}

// begun are the models of the last purchase of a name, if it is of some of these; first the one whose reference price is its own.
func (b *Buyer) begun(name string, models []market.Model) (found []market.Model) {
	if name == "" {
		return nil
	}
	last := -1
	for _, p := range b.purchases() {
		if p.Name != name || p.Args.Customer != b.customer || int(p.Attempt) < last {
			continue
		}
		var named []market.Model
		for _, m := range models {
			if market.TakesModel(&p.Args.Requirement, m.Id) {
				named = append(named, m)
			}
		}
		if len(named) == 0 {
			continue
		}
		if i := slices.IndexFunc(named, func(m market.Model) bool { return m.ReferencePrice == uint64(p.Args.MaxPrice) }); i > 0 {
			named[0], named[i] = named[i], named[0]
		}
		found, last = named, int(p.Attempt)
	}
	return found
}

// offersOf counts the machines of a model that could serve the order now, and returns the highest ask of the cheapest
// that are enough; the largest number where they are not.
func (t *terms) offersOf(mk market.Market, all *view.View, m market.Model, now int64) (ask uint64, fit int) {
	t.askCUDA([]market.Model{m})
	var asks []uint64
	t.nodes(mk, solana.PublicKey{}, all, []market.Model{m}, now, func(n market.Node, err error) {
		if err == nil {
			asks = append(asks, uint64(n.AskFor(t.args.Interruptible)))
		}
	})
	if len(asks) < int(t.args.Nodes) || t.args.Nodes == 0 {
		return math.MaxUint64, len(asks)
	}
	slices.Sort(asks)
	return asks[t.args.Nodes-1], len(asks)
}

// modelOf names the model of a lease's machine; where that is gone, all that it may have been.
func (d *deal) modelOf(l *market.Lease) string {
	if n, known, err := query.Find[market.Node](d.ctx, d.b.client, l.Node, d.b.client.WaitLevel()); err == nil && known {
		return d.r.modelNamed(n.Spec.Model)
	}
	return service.NamesOf(d.r.models)
}

// modelNamed is the name of one of the order's models.
func (t *terms) modelNamed(id uint16) string {
	if m := modelIn(t.models, id); m != nil {
		return m.ModelName()
	}
	return service.NamesOf(t.models)
}

// modelIn is the model with an id; nil where it is none of them.
func modelIn(models []market.Model, id uint16) *market.Model {
	for i := range models {
		if models[i].Id == id {
			return &models[i]
		}
	}
	return nil
}
