package check

import (
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// stillFree reports whether the node may be asked for what needs its GPUs.
func (c *Checker) stillFree(t subject) bool {
	free := false
	c.o.View.Read(func(v *view.Accounts) {
		n, ok := v.Nodes[t.node.Address]
		free = ok && Free(n)
	})
	return free
}

// owes reports whether a node is judged by what it does at an instant. It cannot get out of that by itself: one that reports a
// dead GPU, hibernates or retires after the instant's block is judged as if it had not. One that did so before owes
// nothing, and one with a lease never does: its GPUs are the customer's.
func (c *Checker) owes(t subject, drawn instant.Instant) (owes bool) {
	c.o.View.Read(func(v *view.Accounts) {
		n, ok := v.Nodes[t.node.Address]
		switch {
		case !ok || n.LiveLeases > 0:
		case n.DeadUntil != 0:
			owes = n.DiedAt >= drawn.At.Unix() // times are of seconds, and no block before the instant's has its
		case Checked(n.State()):
			owes = true
		case n.State() == market.NodeSuspended: // for a fault, which is judged by itself
		case t.left != nil:
			owes = t.left.Slot > drawn.Slot
		default: // seen at work a moment ago
			owes = n.Slot > drawn.Slot
		}
	})
	return owes
}
