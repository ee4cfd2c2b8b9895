package market

// The constants and methods below are twins of program/src/constants.rs and program/src/state/outage.rs.
const (
	// OutageSecs is for how long a node has not answered a keeper that votes that it is away.
	OutageSecs = 5
	// OutageMaxSecs is how old the last answer of a vote may be.
	OutageMaxSecs = 3600
	// OutageVoteSecs is for how long votes count together, from the first.
	OutageVoteSecs = 30
	// OutageMoveSecs is for how long leases may leave a node that was away by a quorum's votes.
	OutageMoveSecs = 60
)

// Over reports whether the votes, and what they came to, count no more.
func (o *Outage) Over(now int64) bool {
	if o.SeenAt != 0 {
		return now > satAdd(o.SeenAt, OutageMoveSecs)
	}
	return now > satAdd(o.OpenedAt, OutageVoteSecs)
}

// Seen reports whether the node is away by a quorum's votes, so that its leases may leave it.
func (o *Outage) Seen(now int64) bool { return o.SeenAt != 0 && !o.Over(now) }

// Counted reports whether the vote of a keeper with this index is among those that count.
func (o *Outage) Counted(index uint16) bool { return Has(o.Voters, index) }

// FailedBy is the lease as lease_outage leaves it; ok is false when it does not let the lease go.
func (l *Lease) FailedBy(o *Outage, now int64) (failed Lease, ok bool) {
	if l.Node != o.Node || l.State() != LeaseRunning || l.StartedAt > o.LastAnswer || !o.Seen(now) {
		return Lease{}, false
	}
	failed = *l
	failed.Lease.Status, failed.Away = uint8(LeaseFailed), 1
	failed.EndedAt = max(min(o.LastAnswer, l.FundedUntil), l.paidUntil())
	return failed, failed.CanMigrate()
}
