package terminal

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/expose"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// Lines prints what happens in a purchase as plain lines, for pipes and scripts.
type Lines struct {
	// Say writes one line. Texts in it may be others'.
	Say func(format string, args ...any)
	// Pace limits how often lines about images are printed; nil: no limit.
	Pace *Pace
}

// Event prints a step of a purchase.
func (s Lines) Event(e buy.Event) {
	if !s.orderEvent(e) && !s.measureEvent(e) {
		s.leaseEvent(e)
	}
}

// orderEvent prints what happens to an order and before it.
func (s Lines) orderEvent(e buy.Event) bool {
	switch e := e.(type) {
	case buy.Unreadable:
		s.Say(" · %v", e.Err)
	case buy.Unattended:
		s.unattended(e)
	case buy.Resumed:
		s.Say(" · resumes  order %s of %s UTC", e.Order, service.When(e.Created.Unix()))
	case buy.Bought:
		s.Say(" · bought   already: order %s of %s UTC is over; nothing is ordered again", e.Order, service.When(e.Created.Unix()))
	case buy.BackupKeyMade:
		s.Say(" · backups  are encrypted with a key made of %s: keep a copy, without it nothing can be restored", e.Path)
	case buy.ContainerFound:
		s.Say(" · restored with %d MiB of memory, on a machine with runsc %s; open connections are lost", e.Container.Memory>>20, e.Container.Runsc)
	case buy.VolumeFound:
		s.volumeFound(e)
	case buy.ImageKnown:
		s.imageKnown(e)
	case buy.FirstRunClosed:
		s.Say(" · rerun    the first run is closed: keepers do not know its machines any more; whether they come again is seen at the award")
	case buy.PriceTaken:
		s.Say(" · price    at most %s USDC per GPU-hour, the reference price of %s", e.Price, e.Model)
	case buy.TimeTaken:
		s.Say(" · time     %s, since none was given; --hours or --duration choose another, and gantry stop ends it sooner", service.Span(int64(e.Seconds)))
	case buy.Placed:
		s.Say(" ✓ escrow   %s USDC reserved        tx %s", e.Reserved, e.Signature)
	case buy.AuctionOpened:
		s.Say(" · auction  commitments until %s UTC, then reveals until %s; the winner is paid what the best losing bid sets", service.When(e.CloseAt), service.When(e.RevealUntil))
	case buy.AuctionClosed:
		s.Say(" · auction  closed; it can no longer be cancelled, and nodes reveal their bids")
	case buy.AuctionRevealed:
		s.Say(" · auction  bids are in; a keeper awards")
	case buy.Awarded:
		l := e.Lease
		s.Say(" ✓ award    node %s  %d×%s %s  %s USDC per GPU-hour (%s USDC released)   lease %s", service.Short(l.Node), l.Gpus,
			e.Model, e.Region, market.PricePerHour(l.Price), e.Released, l.Address)
	case buy.Declined:
		s.Say(" · declined %s; order %s is open again for another machine", e.Why, e.Order)
	case buy.FirstRunAvoided:
		s.Say(" ✓ fresh    none of the %d machines is of an owner of the first run", e.Machines)
	case buy.Leftover:
		s.Say(" · an earlier command ended before its %s of %s UTC was confirmed: %s   tx %s",
			strings.ReplaceAll(e.Kind, "_", " "), service.When(e.Created.Unix()), e.Fate, e.Signature)
	default:
		return false
	}
	return true
}

// unattended says what needs somebody.
func (s Lines) unattended(e buy.Unattended) {
	switch l := e.Lease; {
	case l == nil:
		s.Say(" ! order    %s is %s and nobody attends it: continue with gantry resume %s, or take it back with gantry order cancel %s", e.Order, e.State, e.Order, e.Order)
	case l.State() == market.LeaseRunning:
		s.Say(" ! lease    %s runs without its job since %s UTC and is billed: bring the job with gantry resume %s, or end it with gantry stop %s",
			l.Address, service.When(l.StartedAt), e.Order, l.Address)
	default:
		s.Say(" ! lease    %s waits for its job and is billed as soon as its machine starts it: bring the job with gantry resume %s", l.Address, e.Order)
	}
}

// measureEvent prints what was measured of a machine.
func (s Lines) measureEvent(e buy.Event) bool {
	switch e := e.(type) {
	case buy.Attested:
		for i, line := range e.Attestation.Lines() {
			s.Say(" %s %s", []string{e.Attestation.Mark() + " proof    " + service.Short(e.Lease.Node), "·"}[min(i, 1)], line)
		}
	case buy.Measured:
		s.Say(" ✓ measured %s: %s", service.Short(e.Lease.Node), Figures(e.Figures))
	case buy.NotMeasured:
		s.Say(" · measured not: lease %s runs already; see: gantry verify %s", e.Lease.Address, e.Lease.Address)
	case buy.Failed:
		s.Say(" ✗ measured %s: %v", service.Short(e.Lease.Node), e.Why)
	case buy.NeverStarted:
		s.Say(" · ended    lease %s was never started: nothing is billed", e.Lease.Address)
	case buy.Left:
		if !e.Known {
			s.Say(" ✓ ended    lease %s   tx %s", e.Lease.Address, e.Signature)
			break
		}
		s.Say(" ✓ ended    lease %s after %s: at most %s USDC can be billed   tx %s", e.Lease.Address, service.Span(int64(e.Seconds)), e.Most.Exact(), e.Signature)
	case buy.Inspected:
		s.Say(" ✓ inspected %s: %s", service.Short(e.Lease.Node), Figures(e.Figures))
	case buy.InspectionMissed:
		s.Say(" · inspected not: %v", e.Err)
	case buy.InspectionUndecided:
		s.Say(" · inspected not: %s says that its GPU could not compute while the job runs; if the job leaves it memory, look at the machine: gantry verify %s --beside-job",
			service.Short(e.Lease.Node), e.Lease.Address)
	default:
		return false
	}
	return true
}

// leaseEvent prints what happens to a lease.
func (s Lines) leaseEvent(e buy.Event) {
	switch e := e.(type) {
	case buy.Fetching:
		s.fetching(e)
	case buy.Running:
		s.Say(" ✓ running  after %.1f s on %s", e.After.Seconds(), service.Short(e.Lease.Node))
		for _, p := range e.Ports {
			s.Say(" · reach    %s: gantry port %s %d", p.Name, e.Lease.Address, p.Port)
		}
	case buy.Serving:
		s.Say(" ✓ serving  after %.1f s: port %d of %s answers %s", e.After.Seconds(), e.Probe.Port, service.Short(e.Lease.Address), e.Probe.Path)
	case buy.NotServing:
		s.Say(" ! serving  not within %s: %v; see what the job says: gantry logs %s", service.Span(int64(time.Duration(e.Probe.Deadline).Seconds())), e.Err, e.Lease.Address)
	case buy.Exposed:
		s.exposed(e)
	case buy.NotExposed:
		var none *expose.NoGatewayError
		if errors.As(e.Err, &none) {
			s.Say(" · public   %v, so ports have no public address", none)
			break
		}
		s.Say(" ! public   the gateway gives lease %s no address: %v; try: gantry gateway open %s --via %s", service.Short(e.Lease.Address), e.Err, e.Lease.Address, e.Gateway)
	case buy.OutputEnded:
		s.Say(" · output   %v", e.Err)
	case buy.Renewed:
		s.Say(" ✓ extended %s by %s for %s USDC", service.Short(e.Lease.Address), service.Span(int64(e.Seconds)), e.Cost)
	case buy.NotRenewed:
		s.Say(" ! time     %s is not extended: %v", service.Short(e.Lease.Address), e.Err)
	case buy.Exited:
		s.Say(" · exited   with code %d; the lease runs until %s UTC: stop it with gantry stop %s", e.ExitCode, service.When(e.Lease.FundedUntil), e.Lease.Address)
	case buy.MachineFailed:
		s.Say(" · failed   %s was gone for %d s until %s UTC; keepers look for another machine", service.Short(e.Lease.Node), e.Lease.DowntimeSecs, service.When(e.Lease.EndedAt))
	case buy.TooFew:
		s.tooFew(e)
	case buy.MemberLost:
		s.Say(" ! lost     %v", e.Err)
	case buy.Moved:
		s.Say(" ✓ moved    to %s at %s USDC per GPU-hour   lease %s", service.Short(e.Lease.Node), market.PricePerHour(e.Lease.Price), e.Lease.Address)
	case buy.Continued:
		s.Say(" ✓ resumed  on %s after %d s without a machine, which are not paid; %s left", service.Short(e.Lease.Node), e.Gap, e.Left)
	case buy.OutputCompared:
		if e.Accepted {
			s.Say(" ✓ output   of %s is what most machines have: %x", service.Short(e.Lease.Node), e.Lease.OutputHash[:8])
			break
		}
		s.Say(" ✗ output   of %s is not what most machines have; it is not paid", service.Short(e.Lease.Node))
	case buy.Noticed:
		s.Say(" ! notice   %s wants its machine back: the lease may end from %s UTC", service.Short(e.Lease.Node), service.When(e.Lease.NoticeOver()))
	case buy.OrderedAgain:
		s.Say(" · again    lease %s is over; order %s is for the %s that were left", service.Short(e.Lease.Address), e.Order, service.Span(int64(e.Seconds)))
	case buy.NotOrderedAgain:
		s.Say(" · again    nothing is ordered in place of lease %s: %v", service.Short(e.Lease.Address), e.Why)
	case buy.NoMachineYet:
		s.Say(" · again    no machine has order %s yet, next try in %s: %v", service.Short(e.Order), service.Span(int64(e.Pause.Seconds())), e.Why)
	case buy.LeaseOver:
		s.Say(" · over     %s", e)
	case buy.LeaseServed:
		s.Say(" · over     lease %s was served and is closed: gantry audit %s", e.Lease, e.Lease)
	case buy.HistoryUnread:
		s.Say(" ! closed   lease %s: its history, which says what it cost in the end, cannot be read (%v); try later: gantry audit %s", e.Lease, e.Err, e.Lease)
	case buy.SnapshotKept:
		s.Say(" · snapshot %x of the volume of lease %s: continue from it with --restore", e.Lease.CheckpointHash, e.Lease.Address)
	case buy.Ended:
		s.Say(" ✓ ended    tx %s", e.Signature)
	case buy.Suspended:
		s.Say(" ✓ suspended  after %.1f s: snapshot %s", e.After.Seconds(), e.Snapshot)
	case buy.SnapshotUnannounced:
		s.Say(" · snapshot  its hash is not on chain yet; it stands above")
	}
}

// tooFew says how many machines of a group run.
func (s Lines) tooFew(e buy.TooFew) {
	switch {
	case e.Short == nil:
		s.Say(" ✓ group    enough machines run again: %d", e.Running)
	case e.Short.Broken():
		s.Say(" ✗ group    %s", e.Short.Says)
	default:
		s.Say(" ! group    %d of the machines run, and it needs %d: the others are ended at %s UTC, unless enough run again", e.Running, e.Least, service.When(e.Short.Until))
	}
}

// exposed says where ports of a lease are reached.
func (s Lines) exposed(e buy.Exposed) {
	for _, port := range slices.Sorted(maps.Keys(e.URLs)) {
		s.Say(" ✓ public   port %d: %s", port, e.URLs[port])
	}
	if e.Terms != nil {
		s.Say(" · relay    the gateway asks %s USDC a GiB; %s are left for nothing and %s paid; more with: gantry gateway pay %s --via %s --amount USDC",
			e.Terms.Price, Mebibytes(e.Terms.FreeLeft), Mebibytes(e.Terms.Left), e.Lease.Address, e.Gateway)
	}
}

// volumeFound says with what a volume that is kept begins, and what of it is lost.
func (s Lines) volumeFound(e buy.VolumeFound) {
	f := e.Found
	if f.From == (snapshot.Hash{}) {
		s.Say(" · volume   %s begins empty", f.Name)
		return
	}
	s.Say(" · volume   %s begins with snapshot %s", f.Name, f.From)
	if f.Lost != "" {
		s.Say(" · volume   lease %s made no last snapshot: what it wrote after that one is lost", f.Lost)
	}
}

// imageKnown says what is known of an image before it is ordered; nothing where nobody knows.
func (s Lines) imageKnown(e buy.ImageKnown) {
	switch r := e.Runs; {
	case r.Fails:
		s.Say(" ! image    %s (machines that fit, of %s). It may fail for you too; nobody has recorded why", r.Says, service.Plural(r.Owners, "owner"))
	case r.Says != "":
		s.Say(" · image    %s (of those that fit)", r.Says)
	}
}

// WaitText is what a purchase waits for, and how to interrupt it.
func WaitText(w buy.Wait) (what, out string) {
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
	case buy.WaitProof:
		return "the machine to prove itself", "Ctrl-C leaves the lease; stop it with gantry stop"
	case buy.WaitStart:
		return "the machine to take the job and start", "Ctrl-C leaves the lease; stop it with gantry stop"
	case buy.WaitMove:
		return "keepers to move the lease", "Ctrl-C detaches; a machine that takes it would wait for the command"
	case buy.WaitEnd:
		return "the lease to end with its job", "Ctrl-C detaches; the machine ends the lease"
	case buy.WaitOutputs:
		return "the outputs to be compared", "Ctrl-C detaches; keepers still compare them"
	case buy.WaitSnapshot:
		return "the last snapshot of the volume, whose lease has ended", "Ctrl-C ends the command; nothing was bought"
	}
	return "the machine to save the container", "Ctrl-C leaves it to the machine, and the lease to you"
}

// Figures is what was measured of a GPU, for people.
func Figures(f format.Figures) string {
	return fmt.Sprintf("%.3g tera-operations (int8) a second, %.3g GB/s of memory, %d MiB resident", f.Operations/1e12, f.Bandwidth/1e9, f.Memory>>20)
}

// Mebibytes is a size in MiB.
func Mebibytes(n uint64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// YesNo is a flag in a word.
func YesNo(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}
