package daemon

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// guests says whom this node answers: keepers, the customers of its leases and of open orders, and gateways of these
// customers. Everybody else is a stranger, of whom no request is read but one that shows a customer's grant.
type guests struct {
	view  *view.View
	store *store.Store
	node  solana.PublicKey
	now   func() time.Time
	log   zerolog.Logger
	// gateways says who has shown a customer's grant.
	gateways func(solana.PublicKey) bool
	// members says which machines have a lease in a group with one of this node.
	members func(solana.PublicKey) bool
	// former are the customers of leases that the node still has in its store: the chain may have closed them.
	former atomic.Pointer[map[solana.PublicKey]bool]
}

const (
	// formerEvery is how often former customers are read anew from the store.
	formerEvery = 10 * time.Second
	// lookEvery is how often those of the running leases are added: no lease is over sooner.
	lookEvery = 500 * time.Millisecond
)

func (g *guests) role(key solana.PublicKey) roles.Role {
	now := g.now().Unix()
	end := now + 1
	if p, ok := g.view.Params(); ok && p.PeriodSecs > 0 {
		secs := int64(p.PeriodSecs)
		end = (now/secs + 1) * secs
	}
	r := roles.ForNode(g.view, g.node, key, end)
	r.Lease = r.Lease || g.was(key)
	return r
}

// was reports whether the key is that of a former customer, or of its session.
func (g *guests) was(key solana.PublicKey) (was bool) {
	former := g.former.Load()
	if former == nil || len(*former) == 0 {
		return false
	}
	was = (*former)[key]
	g.view.Read(func(v *view.Accounts) {
		for customer := range v.CustomersOfKey[key] {
			was = was || (*former)[customer]
		}
	})
	return was
}

func (g *guests) visits(key solana.PublicKey) bool {
	return g.role(key).May(roles.Visit) || g.gateways(key) || g.members(key)
}
func (g *guests) challenges(key solana.PublicKey) bool { return g.role(key).May(roles.Challenge) }
func (g *guests) deals(key solana.PublicKey) bool      { return g.role(key).May(roles.Deal) }
func (g *guests) leases(key solana.PublicKey) bool     { return g.role(key).Lease }

// refresh reads the former customers, and adds those of the leases that there are now.
func (g *guests) refresh() error {
	all, err := g.store.Leases()
	if err != nil {
		return err
	}
	former := make(map[solana.PublicKey]bool, len(all))
	for _, l := range all {
		former[solana.PublicKey(l.Customer)] = true
	}
	g.former.Store(&former)
	g.keep()
	return nil
}

// keep adds the customers of the leases that there are now: a short lease may be closed before the store is read again.
func (g *guests) keep() {
	former := maps.Clone(*g.former.Load())
	before := len(former)
	for _, l := range g.view.LeasesOfNode(g.node) {
		former[l.Customer] = true
	}
	if len(former) > before {
		g.former.Store(&former)
	}
}

// run follows the former customers until ctx ends.
func (g *guests) run(ctx context.Context) error {
	tick, look := time.NewTicker(formerEvery), time.NewTicker(lookEvery)
	defer tick.Stop()
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
			g.keep()
		case <-tick.C:
			if err := g.refresh(); err != nil {
				g.log.Warn().Err(err).Msg("agent cannot read the leases in its store: customers of closed ones are not answered")
			}
		}
	}
}

// mayVisit reports whether a key is anything to this node. Until the node knows its own account, nothing is answered,
// and any may connect.
func (a *Agent) mayVisit(key solana.PublicKey) bool {
	g := a.guests.Load()
	return g == nil || g.visits(key)
}

// allowance is how many bytes of answers a key may take. The output of a job waits until its customer may have it.
func (a *Agent) allowance(key solana.PublicKey) p2p.Allowance {
	g := a.guests.Load()
	switch {
	case g == nil || g.challenges(key): // measurements and evidence
		return p2p.Allowance{Rate: 4 << 20, Burst: 64 << 20}
	case g.leases(key):
		return p2p.Allowance{Rate: 8 << 20, Burst: 64 << 20}
	}
	return p2p.Allowance{Rate: 16 << 10, Burst: 1 << 20, Shared: true}
}

// comesFirst reports whether a key is a keeper's, for whom connections and streams are kept.
func (a *Agent) comesFirst(key solana.PublicKey) bool {
	g := a.guests.Load()
	return g == nil || g.challenges(key)
}
