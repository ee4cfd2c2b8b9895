package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/txm"
)

// termsEvery is how often the agent looks whether its model has other terms.
const termsEvery = 15 * time.Second

// followTerms accepts the terms of the node's model when they have changed and the machine is known to reach them: until
// then keepers measure the node by the old ones, and it gets no new leases. It says once for each change why it does not.
func (a *Agent) followTerms(ctx context.Context) error {
	tick := time.NewTicker(termsEvery)
	defer tick.Stop()
	var told int64
	for {
		if node, ok := a.view.Node(a.node); ok && node.State() != market.NodeRetired {
			if model, ok := a.view.Model(node.Spec.Model); ok && node.TermsAt < model.Since {
				if doubt := doubtTerms(&node, &model); doubt == "" {
					a.acceptTerms(ctx, node, model)
				} else if told != model.Since {
					told = model.Since
					a.log.Warn().Str("reason", doubt).Uint32("min_operations", model.MinOperations).Uint32("min_bandwidth", model.MinBandwidth).
						Msg("the terms of the model have changed and are not accepted: the node gets no new leases, and old terms count. Accept them with gantry-agent accept-terms")
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// doubtTerms says why the terms are not for the agent to accept; empty when they are. Who accepts thresholds that no machine
// reaches loses stake, and governance may set any, once. A node that was never measured may accept what it does not know
// only while it can leave: one with a guarantee cannot.
func doubtTerms(n *market.Node, m *market.Model) string {
	switch {
	case m.MinOperations <= n.MinOperations && m.MinBandwidth <= n.MinBandwidth:
		return ""
	case n.Operations != 0:
		if share := market.ShareBPS(n.Operations, n.Bandwidth, m.MinOperations, m.MinBandwidth); share < market.FiguresBPS {
			return fmt.Sprintf("the last measurement is %s of what they ask for, and %s are needed", market.Percent(share), market.Percent(market.FiguresBPS))
		}
		return ""
	case n.GuaranteedUntil != 0:
		return "the machine was never measured, and its uptime guarantee keeps it from leaving if it does not reach them"
	}
	return ""
}

func (a *Agent) acceptTerms(ctx context.Context, node market.Node, model market.Model) {
	instruction, err := ix.NodeAcceptTerms(ix.NodeAcceptTermsArgs{Authority: a.key.PublicKey(), Node: node})
	if err == nil {
		// One intent for each change of the model: the same one is not sent twice.
		_, err = a.txm.Submit(ctx, txm.Intent{
			ID: fmt.Sprintf("node_accept_terms/%s/%d", node.Address, model.Since), Kind: "node_accept_terms", Instructions: []solana.Instruction{instruction},
		})
	}
	if err != nil {
		a.log.Warn().Err(market.Explain(err)).Msg("the node cannot accept its model's terms: it gets no new leases")
		return
	}
	a.log.Info().Uint32("min_operations", model.MinOperations).Uint32("min_bandwidth", model.MinBandwidth).Msg("node accepted the terms of its model")
}
