package daemon

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/client/market/ix"
	"github.com/gantry-market/gantry/client/market/view"
	"github.com/gantry-market/gantry/client/p2p"
	"github.com/gantry-market/gantry/client/txm"
)

// keepers are those to be connected to, with their addresses on chain. A keeper with an address that cannot be read
// is left out: it must not cost the node its other keepers.
func (a *Agent) keepers() []p2p.Peer {
	var out []p2p.Peer
	for _, k := range a.view.Keepers() {
		peer, err := p2p.ParsePeer(k.Addr())
		if err != nil {
			// An address without the trailing identity is as good: the identity is the wallet.
			peer = p2p.Peer{Key: k.Wallet, Addrs: []string{k.Addr()}}
		}
		if peer.Key != k.Wallet || k.Addr() == "" {
			continue
		}
		out = append(out, peer)
	}
	return out
}

// keepConnections holds a connection to every keeper, following the chain.
func (a *Agent) keepConnections(ctx context.Context) error {
	var last []string
	for {
		changed := a.view.Changed()
		peers := a.keepers()
		now := make([]string, len(peers))
		for i, p := range peers {
			now[i] = fmt.Sprint(p.Key, p.Addrs)
		}
		if !slices.Equal(now, last) {
			last = now
			a.connect(peers)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// connect replaces the list of kept peers; one bad address must not spoil it.
func (a *Agent) connect(peers []p2p.Peer) {
	var good []p2p.Peer
	for _, p := range peers {
		if err := a.p2p.Remember(p); err != nil {
			a.log.Warn().Err(err).Str("keeper", p.Key.String()).Msg("keeper has an address on chain that cannot be used")
			continue
		}
		good = append(good, p)
	}
	if err := a.p2p.Keep(good); err != nil {
		a.log.Warn().Err(err).Msg("connections to keepers")
		return
	}
	a.log.Info().Int("keepers", len(good)).Msg("connecting to keepers")
}

// connected counts the keepers that this node is connected to.
func (a *Agent) connected() (connected, all int) {
	for _, k := range a.view.Keepers() {
		all++
		if a.p2p.Connected(k.Wallet) {
			connected++
		}
	}
	return connected, all
}

const (
	balanceEvery = time.Minute
	balanceLow   = chain.SOL / 200
)

// watchNode ends the agent when its node is closed, and warns of an empty purse before it hurts.
func (a *Agent) watchNode(ctx context.Context) error {
	status := market.NodeStatus(0)
	tick := time.NewTicker(balanceEvery)
	defer tick.Stop()
	a.warnLow(ctx)
	for {
		changed := a.view.Changed()
		node, ok := a.view.Node(a.ledger.node)
		if !ok {
			return ErrClosed
		}
		if node.State() != status {
			if status != 0 {
				a.log.Warn().Stringer("from", status).Stringer("to", node.State()).Msg("the node's status on chain has changed")
			}
			status = node.State()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
			a.warnLow(ctx)
		case <-changed:
		}
	}
}

func (a *Agent) warnLow(ctx context.Context) {
	b, err := a.client.Balance(ctx, a.key.PublicKey(), chain.Confirmed)
	if err == nil && b < balanceLow {
		a.log.Warn().Str("balance", b.String()).Str("node_key", a.key.PublicKey().String()).Msg("the machine's key runs out of SOL for fees; send it some")
	}
}

// askEvery is how often a policy that follows the market is asked again.
const askEvery = 10 * time.Minute

// keepAsk lets a policy that follows the market move the node's ask. A fixed price is set by register and update only.
func (a *Agent) keepAsk(ctx context.Context) error {
	policy, follows := a.policy.(pricing.FollowMarket)
	if !follows {
		return nil
	}
	idleSince := time.Now()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		node, ok := a.view.Node(a.ledger.node)
		if ok && node.State() == market.NodeActive {
			if node.GpuMask != 0 {
				idleSince = time.Now()
			}
			s := Snapshot(a.view, node.Spec.Model, node.Address)
			s.Current, s.Leased, s.Idle = node.Ask(), node.GpuMask != 0, time.Since(idleSince)
			if ask := policy.Ask(s); ask != 0 && ask != node.Ask() {
				a.setAsk(ctx, node, ask)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (a *Agent) setAsk(ctx context.Context, node market.Node, ask market.PricePerHour) {
	instruction, err := ix.NodeUpdate(ix.NodeUpdateArgs{Authority: a.key.PublicKey(), Node: node, Price: ask, Status: node.State()})
	if err == nil {
		_, err = a.txm.Submit(ctx, txm.Intent{
			ID: fmt.Sprintf("node_update/%s/%d", node.Address, time.Now().UnixNano()), Kind: "node_update", Instructions: []solana.Instruction{instruction},
		})
	}
	if err != nil {
		a.log.Warn().Err(market.Explain(err)).Str("ask", ask.String()).Msg("the ask was not changed")
		return
	}
	a.log.Info().Str("from", node.Ask().String()).Str("to", ask.String()).Msg("ask changed, following the market")
}

// Snapshot is what a view shows to a pricing policy: the model's reference price and the asks of other active nodes
// that are as real, or as simulated, as anybody's.
func Snapshot(v *view.View, model uint16, own solana.PublicKey) pricing.Snapshot {
	var s pricing.Snapshot
	if m, ok := v.Model(model); ok {
		s.Reference = market.PricePerHour(m.ReferencePrice)
	}
	for _, n := range v.Nodes() {
		if n.Address != own && n.Spec.Model == model && n.State() == market.NodeActive {
			s.Others = append(s.Others, n.Ask())
		}
	}
	return s
}
