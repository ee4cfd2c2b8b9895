package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/pricing"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/txm"
)

// askEvery is how often a policy that follows the market is applied again.
const askEvery = 10 * time.Minute

// followMarket changes the node's ask as a policy that follows the market says. A fixed price is set by register and
// update only.
func (a *Agent) followMarket(ctx context.Context) error {
	policy, follows := a.policy.(pricing.FollowMarket)
	if !follows {
		return nil
	}
	idleSince := time.Now()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		node, ok := a.view.Node(a.node)
		if ok && node.State() == market.NodeActive {
			if node.GpuMask != 0 {
				idleSince = time.Now()
			}
			s := pricing.Observe(a.others(ctx, node.Spec.Model), node.Spec.Model, node.Address)
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
	if err := a.updateNode(ctx, node, ask, node.State()); err != nil {
		a.log.Warn().Err(market.Explain(err)).Str("ask", ask.String()).Msg("the node's ask cannot be changed")
		return
	}
	a.log.Info().Str("from", node.Ask().String()).Str("to", ask.String()).Msg("node changed its ask to follow the market")
}

// updateNode sets the node's ask and status.
func (a *Agent) updateNode(ctx context.Context, node market.Node, ask market.PricePerHour, status market.NodeStatus) error {
	instruction, err := ix.NodeUpdate(ix.NodeUpdateArgs{
		Authority: a.key.PublicKey(), Node: node, Price: ask, Status: status,
	})
	if err != nil {
		return err
	}
	_, err = a.txm.Submit(ctx, txm.Intent{
		ID: fmt.Sprintf("node_update/%s/%d", node.Address, time.Now().UnixNano()), Kind: "node_update", Instructions: []solana.Instruction{instruction},
	})
	return err
}
