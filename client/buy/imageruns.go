package buy

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/starts"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// runsTime bounds all that a quote does to learn of an image, its registry included.
const runsTime = 10 * time.Second

// Runs says how an image has started on the best of some offers, within seconds; nil where that cannot be asked. Error: of a name that is
// not an image's.
func (l *Latencies) Runs(ctx context.Context, image string, offers []service.Offer) (*service.ImageRuns, error) {
	ctx, cancel := context.WithTimeout(ctx, runsTime)
	defer cancel()
	digest, err := digestOf(ctx, image)
	switch {
	case err != nil && classify(err).Code == service.CodeUsage:
		return nil, err
	case err != nil || len(offers) == 0 || l.open(ctx) != nil:
		return nil, nil //nolint:nilerr // what is not known keeps nobody from a quote
	}
	asked, err := l.s.Offers(ctx, digest, offers[:min(len(offers), starts.Purchase.Most)], starts.Purchase)
	if err != nil {
		return nil, nil //nolint:nilerr // the same
	}
	return service.RunsOf(asked), nil
}

// fitting are nodes that an order could be awarded to.
type fitting struct {
	nodes  []market.Node
	models []market.Model
	now    int64
}

// best are the first of them as awards have them.
func (f *fitting) best(most int) []service.Offer {
	slices.SortStableFunc(f.nodes, func(a, b market.Node) int {
		x, _ := a.Score(f.now, f.now)
		y, _ := b.Score(f.now, f.now) // both have one: they could be awarded
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(b.Reputation(f.now), a.Reputation(f.now)))
	})
	var out []service.Offer
	for i := range f.nodes[:min(len(f.nodes), most)] {
		n := &f.nodes[i]
		out = append(out, service.DescribeNode(n, modelIn(f.models, n.Spec.Model), f.now))
	}
	return out
}

// imageRuns asks the best machines that fit how the order's image has started there, and tells it before money moves. It takes seconds
// at most, and what it does not learn keeps nobody from ordering. Nothing is asked of an image that is not to be known: machines would
// learn its digest.
func (d *deal) imageRuns(fit *fitting) *service.ImageRuns {
	if !mayBeKnown(&d.p, d.r.job.Image) || (d.b.o.OnEvent == nil && d.b.o.Confirm == nil) {
		return nil
	}
	ask := func() ([]service.Offer, error) {
		digest, err := orderedDigest(d.r.job.Image)
		if err != nil {
			return nil, err
		}
		genesis, err := d.b.client.Genesis(d.ctx)
		if err != nil {
			return nil, err
		}
		find := func(ctx context.Context, node solana.PublicKey) error {
			return d.remote.Net.Find(ctx, node, d.remote.keepers)
		}
		return starts.New(d.remote.Net, find, d.b.client, records.DomainOf(genesis)).Offers(d.ctx, digest, fit.best(starts.Purchase.Most), starts.Purchase)
	}
	offers, err := ask()
	if err != nil {
		d.b.log.Debug().Err(err).Str("image", d.r.job.Image).Msg("how the image has started on machines is not known")
		return nil
	}
	runs := service.RunsOf(offers)
	if runs != nil {
		d.b.tell(ImageKnown{Runs: *runs})
	}
	return runs
}

// mayBeKnown reports whether machines other than its own may learn the image of a purchase.
func mayBeKnown(p *purchase.Purchase, image string) bool {
	return image != "" && !p.Unrecorded && p.Attest == "" && p.Registry == sendNothing
}
