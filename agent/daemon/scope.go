package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// scope is what an agent follows: the market, its node, provider and model, its leases with what belongs to them,
// keepers, and the open orders that a node of its model may get, with their auctions and customers. What else is in the
// market costs it nothing.
func (a *Agent) scope(node market.Node) watch.Scope {
	s := view.With(append(query.OpenOrders(node.Spec.Model), query.Kind(market.KindKeeper), query.LeasesAt(node.Address)))
	// Customers whose leases the chain may have closed are still answered, and so are their session keys.
	s.Addresses = func() []solana.PublicKey {
		out := []solana.PublicKey{market.MarketAddress(), node.Address}
		leases, err := a.store.Leases()
		if err != nil {
			a.log.Warn().Err(err).Msg("agent cannot read the leases in its store: session keys of closed ones are not answered")
		}
		for _, l := range leases { // leases by their addresses: a list may lack them
			out = append(out, solana.PublicKey(l.Address), market.CreditsAddress(solana.PublicKey(l.Customer)))
		}
		return out
	}
	s.Leads = func(key solana.PublicKey, data []byte) []solana.PublicKey {
		d, err := market.Decode(market.Meta{Address: key}, data)
		if c, ok := d.Value.(*market.Credits); err == nil && ok {
			if g := a.guests.Load(); g != nil && (*g.former.Load())[c.Customer] {
				return []solana.PublicKey{key}
			}
		}
		return query.Leads(key, data)
	}
	return s
}

// prices are what other nodes of the model ask and get. Only a policy that follows the market needs them, now and then,
// so that they are read and not followed.
type prices struct {
	mu   sync.Mutex
	at   time.Time
	view *view.View
}

// others returns a view with the nodes of a model and with all leases, as old as the time between two asks at most.
func (a *Agent) others(ctx context.Context, model uint16) *view.View {
	if _, follows := a.policy.(pricing.FollowMarket); !follows || a.shared != nil {
		return a.view
	}
	a.prices.mu.Lock()
	defer a.prices.mu.Unlock()
	if a.prices.view != nil && time.Since(a.prices.at) < askEvery {
		return a.prices.view
	}
	v := view.New(view.Options{Log: a.log})
	scope := view.Only([]chain.Filter{query.NodesOfModel(model), query.Kind(market.KindLease)}, market.ModelAddress(model))
	if err := view.Snapshot(ctx, a.client, v, chain.Confirmed, scope); err != nil {
		a.log.Warn().Err(err).Msg("the prices of other nodes cannot be read; the node goes by its costs and by the reference price")
		return a.view
	}
	a.prices.at, a.prices.view = time.Now(), v
	return v
}
