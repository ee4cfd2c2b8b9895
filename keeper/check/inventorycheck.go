package check

import (
	"context"
	"fmt"

	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// inventory checks the node's hardware and health. A node that is up and does not show its inventory is not healthy.
func (c *Checker) inventory(ctx context.Context, t subject, period records.Period) {
	var inv *messages.Inventory
	f, ok := c.insist(ctx, t, insistence{"inventory", period, c.o.Timing.Timeout, nil}, func(ctx context.Context) (Finding, error) {
		resp, took, err := c.ask(ctx, t.node, messages.ChallengeRequest{Kind: messages.CheckInventory, Period: uint64(period)}, c.o.Timing.Timeout)
		f := Finding{At: c.o.Now(), Latency: took}
		if err != nil {
			return f, fmt.Errorf("%w: %w", errEvaded, err)
		}
		if inv = resp.Inventory; inv == nil {
			f.Evaded = true
			c.o.Log.Warn().Str("refused", resp.Refused).Stringer("node", t.node.Address).Msg("node does not show its inventory")
		}
		return f, nil
	})
	if !ok {
		return
	}
	f.Node, f.Kind, f.Period = t.node.Address, records.CheckInventory, period
	health := f
	health.Kind = records.CheckHealth
	if f.Evaded {
		c.finish(ctx, health)
		return
	}
	c.judgeInventory(ctx, t, inv, f, health)
}

// judgeInventory compares an inventory with the chain.
func (c *Checker) judgeInventory(ctx context.Context, t subject, inv *messages.Inventory, f, health Finding) {
	var mismatches, ailments []string
	complete, waiting := false, false
	var root [32]byte
	c.o.View.Read(func(v *view.Accounts) {
		n, ok := v.Nodes[t.node.Address]
		if complete = ok && v.ClaimsKnown(n); !complete {
			return // not all of its claims are in the view yet
		}
		mismatches, ailments = JudgeInventory(inv, n, t.model, v.HolderOf)
		root = ShownRoot(inv, n, v.HolderOf)
		waiting = n.ClaimsMissing > 0 && root == n.DeviceRoot
	})
	if !complete {
		return
	}
	if len(mismatches)+len(ailments) > 0 {
		c.o.Log.Warn().Strs("mismatches", mismatches).Strs("ailments", ailments).Stringer("node", t.node.Address).Msg("inventory differs from the chain")
	}
	if waiting {
		c.o.View.Shown(t.node.Address, identities(inv))
	}
	f.Passed, f.Detail = len(mismatches) == 0, root
	health.Passed = len(ailments) == 0
	c.finish(ctx, f)
	c.finish(ctx, health)
}

// identities of the GPUs in an inventory.
func identities(inv *messages.Inventory) [][32]byte {
	out := make([][32]byte, len(inv.GPUs))
	for i, g := range inv.GPUs {
		out[i] = g.Identity
	}
	return out
}
