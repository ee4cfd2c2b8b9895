package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
)

// event prints a step of a purchase.
func (s *session) event(e buy.Event) {
	switch e := e.(type) {
	case buy.ReceiptSigned:
		s.log.Debug().Stringer("lease", e.Lease).Uint64("seconds", e.Seconds).Msg("client signed a receipt")
	case buy.Simulated:
		s.simulated = &e
	default:
		if !s.orderEvent(e) && !s.measureEvent(e) {
			s.leaseEvent(e)
		}
	}
	if s.forwards != nil {
		s.forwards.event(e)
	}
}

// orderEvent prints what happens to an order and before it.
func (s *session) orderEvent(e buy.Event) bool {
	switch e := e.(type) {
	case buy.Unreadable:
		s.say(" · %v", e.Err)
	case buy.Unattended:
		s.unattended(e)
	case buy.Resumed:
		s.say(" · resumes  order %s of %s UTC", e.Order, service.When(e.Created.Unix()))
	case buy.Bought:
		s.say(" · bought   already: order %s of %s UTC is over; nothing is ordered again", e.Order, service.When(e.Created.Unix()))
	case buy.BackupKeyMade:
		s.say(" · backups  are encrypted with a key made of %s: keep a copy, without it nothing can be restored", e.Path)
	case buy.ContainerFound:
		s.say(" · restored with %d MiB of memory, on a machine with runsc %s; open connections are lost", e.Container.Memory>>20, e.Container.Runsc)
	case buy.FirstRunClosed:
		s.say(" · rerun    the first run is closed: keepers do not know its machines any more; whether they come again is seen at the award")
	case buy.PriceTaken:
		s.say(" · price    at most %s USDC per GPU-hour, the reference price of %s", e.Price, e.Model)
	case buy.TimeTaken:
		s.say(" · time     %s, since none was given; --hours or --duration choose another, and gantry stop ends it sooner", service.Span(int64(e.Seconds)))
	case buy.Placed:
		s.say(" ✓ escrow   %s USDC reserved        tx %s", e.Reserved, e.Signature)
	case buy.AuctionOpened:
		s.say(" · auction  commitments until %s UTC, then reveals until %s; the winner is paid what the best losing bid sets", service.When(e.CloseAt), service.When(e.RevealUntil))
	case buy.AuctionClosed:
		s.say(" · auction  closed; it can no longer be cancelled, and nodes reveal their bids")
	case buy.AuctionRevealed:
		s.say(" · auction  bids are in; a keeper awards")
	case buy.Awarded:
		l := e.Lease
		s.say(" ✓ award    node %s  %d×%s %s  %s USDC per GPU-hour (%s USDC released)   lease %s", service.Short(l.Node), l.Gpus,
			e.Model, e.Region, market.PricePerHour(l.Price), e.Released, l.Address)
	case buy.FirstRunAvoided:
		s.say(" ✓ fresh    none of the %d machines is of an owner of the first run", e.Machines)
	case buy.Leftover:
		s.say(" · an earlier command ended before its %s of %s UTC was confirmed: %s   tx %s",
			strings.ReplaceAll(e.Kind, "_", " "), service.When(e.Created.Unix()), e.Fate, e.Signature)
	default:
		return false
	}
	return true
}

// unattended says what needs somebody.
func (s *session) unattended(e buy.Unattended) {
	switch l := e.Lease; {
	case l == nil:
		s.say(" ! order    %s is %s and nobody attends it: continue with gantry resume %s, or take it back with gantry order cancel %s", e.Order, e.State, e.Order, e.Order)
	case l.State() == market.LeaseRunning:
		s.say(" ! lease    %s runs without its job since %s UTC and is billed: bring the job with gantry resume %s, or end it with gantry stop %s",
			l.Address, service.When(l.StartedAt), e.Order, l.Address)
	default:
		s.say(" ! lease    %s waits for its job and is billed as soon as its machine starts it: bring the job with gantry resume %s", l.Address, e.Order)
	}
}

// measureEvent prints what was measured of a machine.
func (s *session) measureEvent(e buy.Event) bool {
	switch e := e.(type) {
	case buy.Measured:
		s.say(" ✓ measured %s: %s", service.Short(e.Lease.Node), figuresText(e.Figures))
	case buy.NotMeasured:
		s.say(" · measured not: lease %s runs already; see: gantry verify %s", e.Lease.Address, e.Lease.Address)
	case buy.Failed:
		s.say(" ✗ measured %s: %v", service.Short(e.Lease.Node), e.Why)
	case buy.NeverStarted:
		s.say(" · ended    lease %s was never started: nothing is billed", e.Lease.Address)
	case buy.Left:
		if !e.Known {
			s.say(" ✓ ended    lease %s   tx %s", e.Lease.Address, e.Signature)
			break
		}
		s.say(" ✓ ended    lease %s after %s: at most %s USDC can be billed   tx %s", e.Lease.Address, service.Span(int64(e.Seconds)), e.Most.Exact(), e.Signature)
	case buy.Inspected:
		s.say(" ✓ inspected %s: %s", service.Short(e.Lease.Node), figuresText(e.Figures))
	case buy.InspectionMissed:
		s.say(" · inspected not: %v", e.Err)
	case buy.InspectionUndecided:
		s.say(" · inspected not: %s says that its GPU could not compute while the job runs; if the job leaves it memory, look at the machine: gantry verify %s --%s",
			service.Short(e.Lease.Node), e.Lease.Address, flagBeside)
	default:
		return false
	}
	return true
}

// leaseEvent prints what happens to a lease.
func (s *session) leaseEvent(e buy.Event) {
	switch e := e.(type) {
	case buy.Running:
		s.say(" ✓ running  after %.1f s on %s", e.After.Seconds(), service.Short(e.Lease.Node))
		for _, p := range e.Ports {
			s.say(" · reach    %s: gantry port %s %d", p.Name, e.Lease.Address, p.Port)
		}
	case buy.Exposed:
		s.exposed(e)
	case buy.NotExposed:
		s.say(" ! public   the gateway gives lease %s no address: %v; try: gantry gateway open %s --via %s", service.Short(e.Lease.Address), e.Err, e.Lease.Address, e.Gateway)
	case buy.OutputEnded:
		s.say(" · output   %v", e.Err)
	case buy.Exited:
		s.say(" · exited   with code %d; the lease runs until %s UTC: stop it with gantry stop %s", e.ExitCode, service.When(e.Lease.FundedUntil), e.Lease.Address)
	case buy.MachineFailed:
		s.say(" · failed   %s was gone for %d s until %s UTC; keepers look for another machine", service.Short(e.Lease.Node), e.Lease.DowntimeSecs, service.When(e.Lease.EndedAt))
	case buy.Moved:
		s.say(" ✓ moved    to %s at %s USDC per GPU-hour   lease %s", service.Short(e.Lease.Node), market.PricePerHour(e.Lease.Price), e.Lease.Address)
	case buy.Continued:
		s.say(" ✓ resumed  on %s after %d s without a machine, which are not paid; %s left", service.Short(e.Lease.Node), e.Gap, e.Left)
	case buy.OutputCompared:
		if e.Accepted {
			s.say(" ✓ output   of %s is what most machines have: %x", service.Short(e.Lease.Node), e.Lease.OutputHash[:8])
			break
		}
		s.say(" ✗ output   of %s is not what most machines have; it is not paid", service.Short(e.Lease.Node))
	case buy.LeaseOver:
		s.over(e)
	case buy.LeaseServed:
		s.say(" · over     lease %s was served and is closed: gantry audit %s", e.Lease, e.Lease)
	case buy.HistoryUnread:
		s.say(" ! closed   lease %s: its history, which says what it cost in the end, cannot be read (%v); try later: gantry audit %s", e.Lease, e.Err, e.Lease)
	case buy.SnapshotKept:
		s.say(" · snapshot %x of the volume of lease %s: continue from it with --restore", e.Lease.CheckpointHash, e.Lease.Address)
	case buy.Ended:
		s.say(" ✓ ended    tx %s", e.Signature)
	case buy.Suspended:
		s.say(" ✓ suspended  after %.1f s: snapshot %s", e.After.Seconds(), e.Snapshot)
	case buy.SnapshotUnannounced:
		s.say(" · snapshot  its hash is not on chain yet; it stands above")
	}
}

// exposed says where ports of a lease are reached.
func (s *session) exposed(e buy.Exposed) {
	for _, port := range slices.Sorted(maps.Keys(e.URLs)) {
		s.say(" ✓ public   port %d: %s", port, e.URLs[port])
	}
	if e.Terms != nil {
		s.say(" · relay    the gateway asks %s USDC a GiB; %s are left for nothing and %s paid; more with: gantry gateway pay %s --via %s --amount USDC",
			e.Terms.Price, mebibytes(e.Terms.FreeLeft), mebibytes(e.Terms.Left), e.Lease.Address, e.Gateway)
	}
}

// over says how a lease ended, and what it costs.
func (s *session) over(e buy.LeaseOver) {
	l := e.Lease
	if e.Closed {
		s.say(" · over     lease %s is closed", l.Address)
		return
	}
	secs := l.BillableSecs(l.EndedAt)
	cost, _ := market.Cost(market.PricePerHour(l.Price), l.Gpus, secs)
	why := l.State().String()
	if l.EndReason != 0 {
		why = l.Reason().String()
	}
	s.say(" · over     lease %s ended at %s UTC (%s): %d s are billed, %s USDC", l.Address, service.When(l.EndedAt), why, secs, cost.Exact())
}

// waitingFor prints what a purchase waits for and how to interrupt it.
func (s *session) waitingFor(w buy.Wait) (stop func()) {
	what, out := waitText(w)
	return s.waiting(what, out)
}

func waitText(w buy.Wait) (what, out string) {
	auction := fmt.Sprintf("Ctrl-C leaves the order; until the close it can be cancelled: gantry order cancel %s", w.Order)
	switch w.For {
	case buy.WaitConfirmed:
		return w.Kind + " to be confirmed", "Ctrl-C stops waiting; a transaction that is sent may still take effect"
	case buy.WaitAward:
		return "the award by a keeper", fmt.Sprintf("Ctrl-C leaves the order; cancel it with: gantry order cancel %s", w.Order)
	case buy.WaitCommits:
		return "nodes to commit to their bids", auction
	case buy.WaitReveals:
		return "nodes to reveal their bids", auction
	case buy.WaitStart:
		return "the machine to take the job and start", "Ctrl-C leaves the lease; stop it with gantry stop"
	case buy.WaitMove:
		return "keepers to move the lease", "Ctrl-C detaches; a machine that takes it would wait for the command"
	case buy.WaitEnd:
		return "the lease to end with its job", "Ctrl-C detaches; the machine ends the lease"
	case buy.WaitOutputs:
		return "the outputs to be compared", "Ctrl-C detaches; keepers still compare them"
	}
	return "the machine to save the container", "Ctrl-C leaves it to the machine, and the lease to you"
}
