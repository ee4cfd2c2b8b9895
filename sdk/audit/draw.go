package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// drawnStep recomputes the draw of a redundant order's nodes; nil for other orders, and where there are no blocks to ask.
func drawnStep(ctx context.Context, o Options, txs []Tx, order solana.PublicKey) (*Step, error) {
	r, ok := runOf(txs, order)
	if !ok || o.Blocks == nil {
		return nil, nil
	}
	of, exact := r.order(o.Order)
	// A local engine's blocks may have another time than the clock that the order has its creation from: then every block
	// that may have drawn the nodes counts, and what one of them explains is no problem.
	created := []int64{of.CreatedAt}
	if !exact {
		created = append(created, of.CreatedAt-1, of.CreatedAt+1)
	}
	var seeds []market.DrawSeed
	var blocks []chain.Block
	for _, at := range created {
		b, err := chain.FirstBlock(ctx, o.Blocks, market.DrawTime(at))
		if errors.Is(err, chain.ErrNoBlockYet) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("block that draws the nodes of order %s: %w", order, err)
		}
		blocks, seeds = append(blocks, b), append(seeds, market.NewDrawSeed(o.Domain, order, b.Hash))
	}
	if len(seeds) == 0 {
		return &Step{Name: "draw", Text: "the block that draws the nodes is not final yet", Time: r.awardedIn.Time}, nil
	}
	suited, err := r.suited(ctx, o, of)
	if err != nil {
		return nil, err
	}
	passed := slices.DeleteFunc(slices.Clone(suited), func(n *market.Node) bool {
		return slices.ContainsFunc(seeds, func(s market.DrawSeed) bool { return !r.passedOver(s, n) })
	})
	if len(passed) > 0 {
		earlier, err := r.earlier(ctx, o)
		if err != nil {
			return nil, err
		}
		passed = slices.DeleteFunc(passed, func(n *market.Node) bool { return earlier[n.Provider] })
	}
	step := r.drawn(blocks[0], seeds[0], len(suited), passed)
	return &step, nil
}

// order is the order as far as a draw needs it; exact is false where the second of its creation is that of its block.
func (r *Run) order(account *market.Order) (o *market.Order, exact bool) {
	o = &market.Order{Meta: market.Meta{Address: r.Order}}
	o.Requirement, o.MaxPrice, o.GpusPerNode, o.DurationSecs = r.Args.Requirement, r.Args.MaxPrice, r.Args.GpusPerNode, r.Args.DurationSecs
	o.CreatedAt, o.AwardDeadline = r.createdIn.Time.Unix(), math.MaxInt64 // no guarantee is known to last long enough
	if account != nil && account.Address == r.Order {
		o.CreatedAt, o.AwardDeadline, o.StartSecs, exact = account.CreatedAt, account.AwardDeadline, account.StartSecs, true
	}
	return o, exact
}

// suited are the nodes that are known to have suited from before the order until its last award; none where that is not
// judged.
func (r *Run) suited(ctx context.Context, o Options, of *market.Order) ([]*market.Node, error) {
	if o.Nodes == nil || r.reopened || of.Requirement.SameSite != 0 {
		return nil, nil
	}
	nodes, models, err := o.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var out []*market.Node
	for i := range nodes {
		if m, known := models[nodes[i].Spec.Model]; known && of.SuitedThroughout(&nodes[i], &m, r.awardedIn.Time.Unix()) {
			out = append(out, &nodes[i])
		}
	}
	return out, nil
}

// drawn is what the draw shows: each node is of another provider, and none was passed over.
func (r *Run) drawn(b chain.Block, seed market.DrawSeed, suited int, passed []*market.Node) Step {
	c := checks{gaps: r.gaps}
	var ranks []string
	for i, n := range r.Nodes {
		rank := seed.Rank(n.Node)
		ranks = append(ranks, fmt.Sprintf("%s %x", n.Node, rank[:4]))
		for _, other := range r.Nodes[:i] {
			c.follows(ofAll, r.reopened || other.Provider != n.Provider, "nodes %s and %s are of one provider", other.Node, n.Node)
		}
	}
	for _, n := range passed {
		c.follows(ofAll, false, "node %s suited all the time and comes before one that was chosen", n.Address)
	}
	text := fmt.Sprintf("by block %s of slot %d, first after the order's second: %s", solana.Hash(b.Hash), b.Slot, strings.Join(ranks, ", "))
	switch {
	case r.reopened:
		text += "; the order was awarded more than once, and the choice is not checked"
	case r.Args.Requirement.SameSite != 0:
		text += "; nodes at one site, and the choice is not checked"
	default:
		text += fmt.Sprintf("; compared with %d nodes that are known to have suited all the time", suited)
	}
	return c.step(r.awardedIn, "draw", "%s", text)
}

// passedOver reports whether a node that suited comes before a chosen one in the draw, though its provider had none.
func (r *Run) passedOver(s market.DrawSeed, n *market.Node) bool {
	later := false
	for _, chosen := range r.Nodes {
		if chosen.Node == n.Address || chosen.Provider == n.Provider && s.Before(chosen.Node, n.Address) {
			return false
		}
		later = later || s.Before(n.Address, chosen.Node)
	}
	return later
}

// addDraw puts the draw after the award.
func (l *Lease) addDraw(step *Step) {
	if step == nil {
		return
	}
	at := 1 + slices.IndexFunc(l.Steps, func(s Step) bool { return s.Name == "award" })
	l.Steps = slices.Insert(l.Steps, at, *step)
}
