package daemon

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// restartProtocol tells a keeper that this agent starts again.
var restartProtocol = p2p.Protocol{ID: messages.Restart, MaxRequest: 4 << 10, MaxResponse: 4 << 10}

// tellLimit bounds how long the end of the agent waits for keepers. It is less than the time after which they vote.
const tellLimit = 5 * time.Second

// tellRestart tells the keepers that this agent was asked to end, and is expected to be started again
// within messages.MaxRestartSecs, so that they vote no sooner that its machine is away. Whether it is started again it
// cannot know: it may be an update of the program. It does so only if a lease would move. ctx has ended.
func (a *Agent) tellRestart(ctx context.Context) {
	if a.p2p == nil || a.node.IsZero() || !a.mayLose() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellLimit)
	defer cancel()
	notice := messages.RestartNotice{Version: messages.Version, Node: a.node, Secs: messages.MaxRestartSecs}
	var wg sync.WaitGroup
	for _, k := range a.keepers() {
		wg.Go(func() {
			answer, err := p2p.Call[messages.RestartNotice, messages.RestartAnswer](ctx, a.p2p, k.Key, restartProtocol, notice)
			log := a.log.Debug().Stringer("keeper", k.Key)
			if err != nil {
				log.Err(err).Msg("keeper was not told of the restart")
				return
			}
			log.Str("refused", answer.Refused).Msg("keeper was told of the restart")
		})
	}
	wg.Wait()
}

// mayLose reports whether a lease of this node would move if its machine were away. One that is awarded may have started on
// chain a moment ago, by this agent's own transaction: what it has seen of the chain is older.
func (a *Agent) mayLose() bool {
	return slices.ContainsFunc(a.view.LeasesOfNode(a.node), func(l market.Lease) bool {
		return l.State() <= market.LeaseRunning && l.MayMigrate == 1
	})
}

// greet connects to the keepers that are on chain now, before the agent knows anything else, if an earlier process has left
// a lease: they look for it, and where it listens may have changed. If it fails, followers of the chain do it later.
func (a *Agent) greet(ctx context.Context) {
	leases, err := a.store.Leases()
	if err != nil || !slices.ContainsFunc(leases, func(l store.Lease) bool { return l.State.Live() }) {
		return
	}
	v := a.view
	if a.shared == nil {
		ctx, cancel := context.WithTimeout(ctx, greetLimit)
		defer cancel()
		v = view.New(view.Options{Log: a.log})
		if err := view.Snapshot(ctx, a.client, v, chain.Confirmed, view.Only([]chain.Filter{query.Kind(market.KindKeeper)})); err != nil {
			a.log.Debug().Err(err).Msg("the keepers cannot be read yet; the agent connects to them later")
			return
		}
	}
	a.connect(keepersOf(v))
}

// greetLimit bounds the first look for keepers.
const greetLimit = 5 * time.Second
