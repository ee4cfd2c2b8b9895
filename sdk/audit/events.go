package audit

import (
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// event takes one event; each part of the audit takes those that it knows, of this order and lease.
func (a *auditor) event(t Tx, e market.Event) {
	for _, take := range []func(Tx, market.Event){a.orderEvent, a.startEvent, a.paymentEvent, a.endEvent, a.proven, a.disputed, a.output, a.slashEvent} {
		take(t, e)
	}
}

func (a *auditor) orderEvent(t Tx, e market.Event) {
	switch v := e.Value.(type) {
	case *bindings.OrderCreated:
		if v.Order == a.lease.Order {
			a.orderCreated(t, v)
		}
	case *bindings.AuctionOpened:
		if v.Order == a.lease.Order {
			a.step(t, "auction", checks{}, "sealed: commitments until %s, reveals until %s", clock(v.CloseAt), clock(v.RevealUntil))
		}
	case *bindings.AuctionAwarded:
		if v.Order == a.lease.Order {
			a.awardedBy(v)
		}
		if v.Order == a.lease.Order && v.Node == a.award.Node {
			a.auctioned(t, v)
		}
	}
}

func (a *auditor) startEvent(t Tx, e market.Event) {
	address := a.lease.Address
	switch v := e.Value.(type) {
	case *bindings.LeaseAwarded:
		if v.Lease == address {
			a.awarded(t, v)
		}
	case *bindings.LeaseMigrated:
		switch address {
		case v.To:
			a.continued(t, v)
		case v.From:
			a.step(t, "moved", checks{}, "to machine %s for the last %s, at %s per GPU-hour; %s is reserved", v.Node, span(int64(v.DurationSecs)), dollars(v.Price), dollars(v.Reserved))
		}
	case *bindings.LeaseCheckpointed:
		if v.Lease == address {
			a.step(t, "checkpoint", checks{}, "%x", v.Hash)
		}
	case *bindings.LeaseStarted:
		if v.Lease == address {
			a.started(t, v)
		}
	case *bindings.LeaseExtended:
		if v.Lease == address {
			a.extended(t, v)
		}
	}
}

func (a *auditor) paymentEvent(t Tx, e market.Event) {
	switch v := e.Value.(type) {
	case *bindings.LeafApplied:
		if v.Lease == a.lease.Address {
			a.leafApplied(t, v)
		}
	case *bindings.LeaseSettled:
		if v.Lease == a.lease.Address {
			a.settlement(t, v)
		}
	}
}

func (a *auditor) endEvent(t Tx, e market.Event) {
	address := a.lease.Address
	switch v := e.Value.(type) {
	case *bindings.LeaseFailed:
		if v.Lease == address {
			a.failed(t, v)
		}
	case *bindings.LeaseCut:
		if v.Lease == address {
			a.endedAt = v.EndedAt
			a.step(t, "cut", checks{}, "the machine is convicted of the time from %s on: the lease ended at %s", clock(v.From), clock(v.EndedAt))
		}
	case *bindings.LeaseNoticed:
		if v.Lease == address {
			a.step(t, "notice", checks{}, "the provider gave notice at %s", clock(v.NoticeAt))
		}
	case *bindings.LeaseEnded:
		if v.Lease == address {
			a.ended(t, v)
		}
	case *bindings.LeaseAborted:
		if v.Lease == address {
			a.aborted(t, v)
		}
	case *bindings.LeaseDeclined:
		if v.Lease == address {
			a.declined(t, v)
		}
	case *bindings.LeaseRated:
		if v.Lease == address {
			c := a.checks()
			c.require(v.Stars >= 1 && v.Stars <= 5, "%d stars", v.Stars)
			a.step(t, "rated", c, "%d of 5; it weighs %s", v.Stars, dollars(v.Weight))
		}
	case *bindings.LeaseClosed:
		if v.Lease == address {
			a.closed(t, v)
		}
	}
}

func (a *auditor) slashEvent(t Tx, e market.Event) {
	switch v := e.Value.(type) {
	case *bindings.FaultOpened:
		if v.Lease == a.lease.Address {
			a.step(t, "fault", checks{}, "%s in period %d: %s GNT of stake may be slashed from %s on; audit it with: gantry audit slash %s",
				records.Flags(v.Flags), v.Period, market.GNT(v.Amount), clock(v.ApplicableAt), v.Fault)
		}
	case *bindings.SlashApplied:
		a.step(t, "slashed", checks{}, "%s GNT: for those it harmed %s, finder %s, burned %s", market.GNT(v.Amount), market.GNT(v.Pool), market.GNT(v.Finder), market.GNT(v.Burned))
	case *bindings.SlashCompensated:
		if v.Lease == a.lease.Address {
			a.step(t, "compensated", checks{}, "%s GNT in a payout of the customer", market.GNT(v.Amount))
		}
	}
}
