package market

// The methods below are twins of program/src/state/freeze.rs.

// earlier is the earlier of two instants, of which 0 is none.
func earlier(one, other int64) int64 {
	if one == 0 {
		return other
	}
	return min(one, other)
}

// PayableUntil says from which second on leases of the node are not paid now.
func (n *Node) PayableUntil(now int64) int64 {
	return earlier(n.ConvictedFrom, earlier(n.FrozenFrom, earlier(n.BillingUntil, now)))
}

// Holds says whether a fault of the node that was applied, or may be, can still concern the lease.
func (n *Node) Holds(l *Lease, now int64) bool {
	frozen := n.PendingNodeFaults > 0 && l.occupied() > n.FrozenFrom
	compensated := l.LastFault == n.Convictions && l.FaultWindow == windowFull
	return frozen || now < n.ClaimsUntil && l.occupied() > n.ClaimsFrom && !compensated
}

// CutsAt is where an ended lease ends once the node's conviction has cut it: its own end without a conviction.
func (n *Node) CutsAt(l *Lease) int64 {
	if n.ConvictedFrom == 0 || l.Cut == 1 {
		return l.EndedAt
	}
	return max(min(l.EndedAt, n.ConvictedFrom), l.paidUntil())
}

// paidUntil is the first second after what is paid, as if downtime came before.
func (l *Lease) paidUntil() int64 {
	return satAdd(l.StartedAt, int64(l.DowntimeSecs)+int64(l.PaidSecs))
}

// occupied says until when the lease has had its GPUs, at the latest.
func (l *Lease) occupied() int64 {
	switch {
	case l.OccupiedUntil != 0:
		return l.OccupiedUntil
	case l.EndedAt != 0:
		return l.EndedAt
	}
	return l.FundedUntil
}

// SecondsWithin are the seconds of [from, until) in which the lease had its GPUs.
func (l *Lease) SecondsWithin(from, until int64) uint64 {
	return overlap(l.StartedAt, l.occupied(), from, until)
}

// PaidSecsWithin are the seconds of [from, until) that are paid.
func (l *Lease) PaidSecsWithin(from, until int64) uint32 {
	return uint32(min(overlap(l.StartedAt, l.paidUntil(), from, until), uint64(l.PaidSecs)))
}

func overlap(start, end, from, until int64) uint64 {
	return uint64(max(satSub(min(end, until), max(start, from)), 0))
}

// Applied reports whether the fault stands and its slash was taken.
func (f *Fault) Applied() bool {
	const applied = 2
	return f.Status == applied
}
