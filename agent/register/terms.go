package register

import (
	"context"
	"errors"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/query"
)

// ErrTermsAccepted: the node knows the terms that are in force for its model.
var ErrTermsAccepted = errors.New("the node has accepted the terms of its model")

// AcceptTerms accepts the terms that are in force for the node's model, whether or not the machine reaches them: from now on
// it can lose stake by them. The machine's key signs. Errors: ErrNotRegistered, ErrTermsAccepted, *market.Error.
func (c *Commands) AcceptTerms(ctx context.Context) error {
	if err := c.resume(ctx); err != nil {
		return err
	}
	node, err := c.node(ctx)
	if err != nil {
		return err
	}
	model, err := query.Fetch[market.Model](ctx, c.o.Chain, market.ModelAddress(node.Spec.Model), level)
	if err != nil {
		return err
	}
	if node.TermsAt >= model.Since {
		return ErrTermsAccepted
	}
	instruction, err := ix.NodeAcceptTerms(ix.NodeAcceptTermsArgs{Authority: c.o.NodeKey, Node: node})
	if err != nil {
		return err
	}
	sig, err := c.submit(ctx, "node_accept_terms", c.o.NodeKey, instruction)
	if err != nil {
		return err
	}
	c.progress("node %s accepted the terms of %s: %d billion operations and %d MB of memory a second of each GPU; below %d %% of them it loses its leases, and then stake   tx %s",
		node.Address, model.ModelName(), model.MinOperations, model.MinBandwidth, market.FiguresBPS/100, sig)
	return nil
}
