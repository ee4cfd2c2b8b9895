package market

import (
	"github.com/gantry-market/gantry/idl/bindings"
)

// The bounds of a guarantee, as in program/src/constants.rs.
const (
	GuaranteeMinBPS  = 9_000
	MaxGuaranteeSecs = 31_536_000 // from its first second
)

// ResolvesAt is the unix second from which the node's guarantee can be resolved; ok is false without one.
func (n *Node) ResolvesAt() (at int64, ok bool) {
	wait := int64(n.GuaranteeSettleSecs) + int64(n.GuaranteeAppealSecs)
	return satAdd(n.GuaranteedUntil, wait), n.GuaranteedUntil != 0
}

// CanResolveGuarantee says why guarantee_resolve would be refused at now; nil when it would not.
func (n *Node) CanResolveGuarantee(now int64) error {
	at, ok := n.ResolvesAt()
	switch {
	case !ok:
		return bindings.ErrorCodeNotGuaranteed
	case now < at:
		return bindings.ErrorCodeTooEarly
	case n.State() == NodeSuspended && n.PendingNodeFaults > 0:
		return bindings.ErrorCodeFaultPending
	}
	return nil
}
