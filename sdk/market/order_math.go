package market

import "github.com/gantry-market/gantry/idl/bindings"

// CanExpire says whether order_expire succeeds at now.
func (o *Order) CanExpire(now int64) error {
	if o.State() != OrderOpen && (o.State() != OrderLapsed || o.LiveLeases != 0) {
		return bindings.ErrorCodeWrongOrderStatus
	}
	if now <= o.OpenUntil() {
		return bindings.ErrorCodeTooEarly
	}
	return nil
}

// OpenUntil is the last second in which the order waits for awards, or a lapsed one for its customer. Machines that have a
// part of it do not wait until the award deadline for parts that nobody awards.
func (o *Order) OpenUntil() int64 {
	if o.PartsBy == 0 {
		return o.AwardDeadline
	}
	return min(o.PartsBy, o.AwardDeadline)
}

// Machines that have parts of an order wait wholeSecs for the others from its first part on, and partSecs more for each.
const wholeSecs, partSecs = 30, 1

// NotePart counts a part that is awarded at now, as the program does.
func (o *Order) NotePart(now int64) {
	o.NodesAwarded++
	if o.Redundant == 1 || o.AuctionClose != 0 {
		return
	}
	if o.PartsBy == 0 {
		o.PartsBy = satAdd(now, wholeSecs)
	}
	o.PartsBy = satAdd(o.PartsBy, partSecs)
}

// CanCancel says whether order_cancel succeeds at now.
func (o *Order) CanCancel(now int64) error {
	switch {
	case !o.Unused():
		return bindings.ErrorCodeWrongOrderStatus
	case o.State() == OrderOpen && o.Decided(now):
		return bindings.ErrorCodeTooLate
	}
	return nil
}

// Unused reports whether the order has no lease and still waits for one, or for its customer after all machines declined.
func (o *Order) Unused() bool {
	return (o.State() == OrderOpen && o.NodesAwarded == 0) || (o.State() == OrderLapsed && o.LiveLeases == 0)
}

// Decided says whether it is settled who gets the order: bids are open, or its nodes are drawn. From then on it is
// awarded or it expires.
func (o *Order) Decided(now int64) bool {
	return o.Redundant == 1 && now > o.CreatedAt || o.AuctionClose != 0 && now >= o.AuctionClose
}
