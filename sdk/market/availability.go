package market

import (
	"math"

	"github.com/gantry-market/gantry/idl/bindings"
)

// availabilitySecs is for how long a node keeps how many of its GPUs were free.
const availabilitySecs = 7_200

// FreeThroughout is the fewest GPUs of the node that were free from one unix second to another, both included; ok is
// false when that is too long ago. It is the twin of Availability::free_throughout.
func (n *Node) FreeThroughout(from, to int64) (free uint8, ok bool) {
	a := &n.Availability
	if a.Since[0] == 0 || a.Since[0] >= from {
		return 0, false
	}
	free = math.MaxUint8
	for i, since := range a.Since {
		end := int64(math.MaxInt64)
		if i+1 < len(a.Since) && a.Since[i+1] != 0 {
			end = a.Since[i+1]
		}
		if since != 0 && since <= to && end >= from {
			free = min(free, a.Free[i])
		}
	}
	return free, true
}

// FreedAt is when the node's last lease gave its GPUs back; 0 while one has some, and before the first.
func (n *Node) FreedAt() int64 {
	if n.LiveLeases > 0 {
		return 0
	}
	since := n.Availability.Since
	for i := len(since) - 1; i > 0; i-- { // the first interval is of its registration as long as it is the only one
		if since[i] != 0 {
			return since[i]
		}
	}
	return 0
}

// LeasedWithin reports whether a lease had GPUs of the node at any time from one unix second to another, both included.
func (n *Node) LeasedWithin(from, to int64) bool {
	a := &n.Availability
	for i, since := range a.Since {
		end := int64(math.MaxInt64)
		if i+1 < len(a.Since) && a.Since[i+1] != 0 {
			end = a.Since[i+1]
		}
		if since != 0 && a.Free[i] < n.Spec.Gpus && since <= to && end >= from {
			return true
		}
	}
	return false
}

// StartAvailability is what a node begins with: all its GPUs are free from now on.
func (n *Node) StartAvailability(now int64) {
	n.Availability = bindings.Availability{}
	n.Availability.Since[0], n.Availability.Free[0] = now, n.FreeGPUs()
}

// NoteFree writes down how many GPUs are free from now on. It is the twin of Availability::change.
func (n *Node) NoteFree(now int64) {
	a := &n.Availability
	count := func() int {
		for i, since := range a.Since {
			if since == 0 {
				return i
			}
		}
		return len(a.Since)
	}
	remove := func(at int) {
		copy(a.Since[at:], a.Since[at+1:])
		copy(a.Free[at:], a.Free[at+1:])
		a.Since[len(a.Since)-1], a.Free[len(a.Free)-1] = 0, 0
	}
	for count() > 1 && a.Since[1] < now-availabilitySecs {
		remove(0)
	}
	if count() == len(a.Since) {
		shortest, length := 0, int64(math.MaxInt64)
		for at := range len(a.Since) - 1 {
			end := now
			if at+2 < len(a.Since) {
				end = min(a.Since[at+2], now)
			}
			if long := end - a.Since[at]; long < length {
				shortest, length = at, long
			}
		}
		a.Free[shortest] = min(a.Free[shortest], a.Free[shortest+1])
		remove(shortest + 1)
	}
	at := count()
	a.Since[at], a.Free[at] = now, n.FreeGPUs()
}

// AskedAt is when the order asked for nodes: what a report said of their health by then counts. For a sealed order that
// is the close of its auction.
func (o *Order) AskedAt() int64 { return max(o.CreatedAt, o.AuctionClose) }

// RegisteredBefore is the time from which on a node is too new for the order, as Unix seconds; 0 when none is. The nodes of a redundant
// order are drawn.
func (o *Order) RegisteredBefore() int64 {
	if o.NodesWanted > 1 && o.Redundant == 0 {
		return o.CreatedAt
	}
	return 0
}

// TooNew says whether the node was registered at or after a time that RegisteredBefore gives.
func (n *Node) TooNew(before int64) bool { return before != 0 && n.RegisteredAt >= before }

// unhealthyPeriods is for how many periods after its own a report that calls a machine unhealthy counts.
const unhealthyPeriods = 2

// NoteHealth takes over what the leaf of the last period says. It is the twin of Node::note_health.
func (n *Node) NoteHealth(unhealthy bool, period uint64, periodSecs uint32, now int64) {
	end, err := PeriodEnd(period, periodSecs)
	if err != nil {
		return
	}
	u, until := &n.Unhealthy, end+unhealthyPeriods*int64(periodSecs)
	switch {
	case !unhealthy:
		u.Until = min(u.Until, now)
	case now < u.Until:
		u.Until = max(u.Until, until)
	case now < until:
		*u = bindings.Unhealthy{Since: now, Until: until, FormerUntil: u.Until}
	}
}

// missedHold is the longest that a node gets no new work because it did not start what it was awarded.
const missedHold = 86_400

// NoteMissed notes a lease that the node did not start in time. It is the twin of Node::note_missed.
func (n *Node) NoteMissed(startSecs uint32, now int64) {
	if now >= n.Absent.Until+missedHold {
		n.Missed = 0
	}
	n.Missed += min(1, math.MaxUint8-n.Missed)
	until := now + min(int64(startSecs)<<min(n.Missed, 20), missedHold)
	if a := &n.Absent; now < a.Until {
		a.Until = max(a.Until, until)
	} else {
		*a = bindings.Unhealthy{Since: now, Until: until, FormerUntil: a.Until}
	}
}

// HealthyFor reports whether the node may have work at now that was ordered at orderedAt: its health, and whether it started
// what it was awarded. It is the twin of Node::healthy_for.
func (n *Node) HealthyFor(orderedAt, now int64) bool {
	in := func(u *bindings.Unhealthy) bool { return now < u.Until && orderedAt >= u.Since }
	return !in(&n.Unhealthy) && !in(&n.Absent)
}

// HealthyThroughout reports whether the same held from a unix second until the award.
func (n *Node) HealthyThroughout(from, orderedAt int64) bool {
	clear := func(u *bindings.Unhealthy) bool {
		return u.Until < from || (orderedAt < u.Since && u.FormerUntil < from)
	}
	return clear(&n.Unhealthy) && clear(&n.Absent)
}
