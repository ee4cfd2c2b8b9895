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

// followTerms accepts the terms of the node's model when they have changed: until then keepers measure the node by
// the old ones, and it gets no new leases. They were public for a timelock, and change by a factor of two at most.
func (a *Agent) followTerms(ctx context.Context) error {
	tick := time.NewTicker(termsEvery)
	defer tick.Stop()
	for {
		if node, ok := a.view.Node(a.node); ok && node.State() != market.NodeRetired {
			if model, ok := a.view.Model(node.Spec.Model); ok && node.TermsAt < model.Since {
				a.acceptTerms(ctx, node, model)
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
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
