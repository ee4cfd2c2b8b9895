package audit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/chain"
	"github.com/gantry-market/gantry/client/market"
	"github.com/gantry-market/gantry/idl/bindings"
)

// Places of accounts in instructions.
const (
	orderInCreate   = 3
	orderInAward    = 3
	nodeInAward     = 5
	providerInAward = 6
)

// drawnOrder is a redundant order with the nodes that it was given, in the order of their awards.
type drawnOrder struct {
	order     market.Order
	nodes     []drawnNode
	exact     bool // the second of its creation is known
	reopened  bool
	createdIn Tx
	awardedIn Tx // the last of them
}

type drawnNode struct{ node, provider solana.PublicKey }

// redundantOrder reads an order and its awards out of the transactions of its life; ok is false when it is not
// redundant, or not in them.
func redundantOrder(txs []Tx, address solana.PublicKey, account *market.Order) (d drawnOrder, ok bool) {
	for _, t := range txs {
		for _, in := range t.Instructions {
			if in.Program != market.ProgramID || len(in.Data) < 8 {
				continue
			}
			switch [8]byte(in.Data[:8]) {
			case bindings.Instruction_OrderCreate:
				args, err := bindings.UnmarshalOrderArgs(in.Data[8:])
				if err != nil || len(in.Accounts) <= orderInCreate || in.Accounts[orderInCreate] != address || args.Redundant != 1 {
					continue
				}
				ok, d.createdIn = true, t
				d.order.Address, d.order.Requirement = address, args.Requirement
				d.order.MaxPrice, d.order.GpusPerNode, d.order.NodesWanted = args.MaxPrice, args.GpusPerNode, args.Nodes
				d.order.DurationSecs, d.order.AwardDeadline = args.DurationSecs, math.MaxInt64 // a guarantee that lasts for ever is none
			case bindings.Instruction_OrderAward:
				if len(in.Accounts) > providerInAward && in.Accounts[orderInAward] == address {
					d.nodes = append(d.nodes, drawnNode{in.Accounts[nodeInAward], in.Accounts[providerInAward]})
					d.awardedIn = t
				}
			}
		}
		_, _, again := find([]Tx{t}, func(e *bindings.OrderReopened) bool { return e.Order == address })
		d.reopened = d.reopened || again
	}
	d.order.CreatedAt = d.createdIn.Time.Unix()
	if account != nil && account.Address == address {
		d.order.CreatedAt, d.order.AwardDeadline, d.order.StartSecs, d.exact = account.CreatedAt, account.AwardDeadline, account.StartSecs, true
	}
	return d, ok
}

// drawnStep recomputes the draw of a redundant order's nodes; nil for other orders, and where there are no blocks to ask.
func drawnStep(ctx context.Context, o Options, txs []Tx, order solana.PublicKey) (*Step, error) {
	d, ok := redundantOrder(txs, order, o.Order)
	if !ok || o.Blocks == nil {
		return nil, nil
	}
	// A local engine's blocks may have another time than the clock that the order has its creation from.
	created := []int64{d.order.CreatedAt}
	if !d.exact {
		created = append(created, d.order.CreatedAt-1, d.order.CreatedAt+1)
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
		return &Step{Name: "draw", Text: "the block that draws the nodes is not final yet", Time: d.awardedIn.Time}, nil
	}
	var suited []*market.Node
	if o.Nodes != nil && !d.reopened && d.order.Requirement.SameSite == 0 {
		nodes, models, err := o.Nodes(ctx)
		if err != nil {
			return nil, err
		}
		for i := range nodes {
			if m, known := models[nodes[i].Spec.Model]; known && d.order.SuitedThroughout(&nodes[i], &m, d.awardedIn.Time.Unix()) {
				suited = append(suited, &nodes[i])
			}
		}
	}
	step := d.check(blocks[0], seeds, suited)
	return &step, nil
}

// check compares the awarded nodes with the draw: each is of another provider, and of the nodes that are known to have
// suited all the time none comes before them. Where the order's creation is known to a second only, every block that may
// have drawn its nodes is given, and what one of them explains is no problem.
func (d drawnOrder) check(b chain.Block, seeds []market.DrawSeed, suited []*market.Node) Step {
	var c problems
	var ranks []string
	for i, n := range d.nodes {
		rank := seeds[0].Rank(n.node)
		ranks = append(ranks, fmt.Sprintf("%s %x", n.node, rank[:4]))
		for _, other := range d.nodes[:i] {
			c.require(d.reopened || other.provider != n.provider, "nodes %s and %s are of one provider", other.node, n.node)
		}
	}
	for _, n := range suited {
		passed := !slices.ContainsFunc(seeds, func(s market.DrawSeed) bool { return !d.passedOver(s, n) })
		c.require(!passed, "node %s suited all the time and comes before one that was chosen", n.Address)
	}
	text := fmt.Sprintf("by block %s of slot %d, first after the order's second: %s", solana.Hash(b.Hash), b.Slot, strings.Join(ranks, ", "))
	switch {
	case d.reopened:
		text += "; the order was awarded more than once, so that the choice is not checked"
	case d.order.Requirement.SameSite != 0:
		text += "; nodes at one site, so that the choice is not checked"
	default:
		text += fmt.Sprintf("; compared with %d nodes that are known to have suited all the time", len(suited))
	}
	return Step{Name: "draw", Time: d.awardedIn.Time, Text: text, Signature: d.awardedIn.Signature, Problems: c}
}

// passedOver reports whether a node that suited comes before a chosen one in the draw, though its provider had none.
func (d drawnOrder) passedOver(s market.DrawSeed, n *market.Node) bool {
	later := false
	for _, chosen := range d.nodes {
		if chosen.node == n.Address || chosen.provider == n.Provider && s.Before(chosen.node, n.Address) {
			return false
		}
		later = later || s.Before(n.Address, chosen.node)
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
