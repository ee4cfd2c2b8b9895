package buy

import (
	"time"

	"github.com/gagliardetto/solana-go"

	format "github.com/gantry-market/gantry/attest/measure"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/snapshot"
	"github.com/gantry-market/gantry/sdk/txm"
	"github.com/gantry-market/gantry/sdk/volumes"
)

// Event is a step of a purchase: one of the types of this file.
type Event interface{ event() }

// Events before an order is placed.
type (
	// Unreadable: a record of the folder cannot be read.
	Unreadable struct{ Err error }
	// Unattended: a lease or an order of an earlier purchase needs somebody who brings its job, or takes it back.
	Unattended struct {
		Order solana.PublicKey
		Lease *market.Lease // nil for an order that waits
		State market.OrderStatus
	}
	// Resumed: an earlier call has begun this purchase.
	Resumed struct {
		Order   solana.PublicKey
		Created time.Time
	}
	// Bought: an earlier call has brought this purchase to its end; nothing is ordered.
	Bought struct {
		Order   solana.PublicKey
		Created time.Time
	}
	// BackupKeyMade: snapshots are encrypted with a key made of this file, of which a copy is needed.
	BackupKeyMade struct{ Path string }
	// ContainerFound: the job continues a suspended container.
	ContainerFound struct{ Container snapshot.Container }
	// VolumeFound: the job has a volume that is kept. It begins with a snapshot, or is empty.
	VolumeFound struct{ Found volumes.Found }
	// ImageKnown: what the best machines that fit say of the order's image, as far as they have answered in time.
	ImageKnown struct{ Runs service.ImageRuns }
	// FirstRunClosed: keepers do not know the machines of the run that is repeated any more.
	FirstRunClosed struct{ Order solana.PublicKey }
	// PriceTaken: the request named no price, and the model's reference price is the most that is paid.
	PriceTaken struct {
		Price market.PricePerHour
		Model string
	}
	// TimeTaken: the request named no time, and the default is rented.
	TimeTaken struct{ Seconds uint32 }
	// Simulated is what the order's transaction would do.
	Simulated struct {
		Kind   string
		Result txm.DryRun
	}
)

// Events of an order.
type (
	// Declined: a machine does not serve its lease, and the order is open again for another one.
	Declined struct {
		Order solana.PublicKey
		Why   string
	}
	// Placed: the order is on chain.
	Placed struct {
		Order     solana.PublicKey
		Reserved  market.USDC
		Signature string
	}
	// AuctionOpened: nodes commit to bids until CloseAt, and reveal them until RevealUntil, unix seconds.
	AuctionOpened struct{ CloseAt, RevealUntil int64 }
	// AuctionClosed: the order can no longer be cancelled, and nodes reveal their bids.
	AuctionClosed struct{}
	// AuctionRevealed: all bids are in.
	AuctionRevealed struct{}
	// Awarded: a node has a lease of the order.
	Awarded struct {
		Lease    market.Lease
		Model    string
		Region   string
		Released market.USDC
	}
	// FirstRunAvoided: no machine is of an owner of the run that is repeated.
	FirstRunAvoided struct{ Machines int }
)

// Events of a machine's proof and measurement.
type (
	// Attested: the machine was asked to prove itself before it gets the job. One that was refused is sent nothing, and
	// its lease is left.
	Attested struct {
		Lease       market.Lease
		Attestation service.Attestation
	}
	// Measured: the machine has passed before it is paid. Typical are the operations a second of machines of its class, 0 where
	// nobody knows.
	Measured struct {
		Lease   market.Lease
		Figures format.Figures
		Typical float64
	}
	// NotMeasured: the lease runs already.
	NotMeasured struct{ Lease market.Lease }
	// Failed: the machine does not pass, and its lease is left.
	Failed struct {
		Lease market.Lease
		Why   error
	}
	// NeverStarted: a lease that was left has not started; nothing is billed.
	NeverStarted struct{ Lease market.Lease }
	// Left: a lease that was left is ended. Known says whether Seconds and Most, what can be billed at most, are.
	Left struct {
		Lease     market.Lease
		Known     bool
		Seconds   uint32
		Most      market.USDC
		Signature string
	}
	// Inspected: the machine has passed while its job ran.
	Inspected struct {
		Lease   market.Lease
		Figures format.Figures
	}
	// InspectionMissed: this program could not inspect the machine.
	InspectionMissed struct{ Err error }
	// InspectionUndecided: the job left the GPU nothing to compute with.
	InspectionUndecided struct{ Lease market.Lease }
)

// Events of a lease.
type (
	// Fetching: how far the machine has fetched the job's image, as the machine reports it. It comes again and again.
	Fetching struct {
		Lease market.Lease
		Image service.Image
	}
	// Running: the job is handed over, and the lease runs. Ports are those of its template.
	Running struct {
		Lease market.Lease
		After time.Duration
		Ports []template.Port
	}
	// Serving: the program of a template answers its health check, so long after its lease ran.
	Serving struct {
		Lease market.Lease
		Probe template.Probe
		After time.Duration
	}
	// NotServing: it has not answered within its time. The lease runs on.
	NotServing struct {
		Lease market.Lease
		Probe template.Probe
		Err   error
	}
	// OutputEnded: the machine does not give the rest of the output.
	OutputEnded struct{ Err error }
	// Exited: the job has ended, and its lease runs on.
	Exited struct {
		Lease    market.Lease
		ExitCode int
	}
	// ReceiptSigned: the customer has signed for the first seconds of a lease.
	ReceiptSigned struct {
		Lease   solana.PublicKey
		Seconds uint64
	}
	// MachineFailed: keepers found the machine gone, and look for another.
	MachineFailed struct{ Lease market.Lease }
	// Moved: another machine has the rest of the lease.
	Moved struct{ Lease market.Lease }
	// Continued: the job runs on the machine that has taken the lease. Gap is how many seconds no machine ran it.
	Continued struct {
		Lease market.Lease
		Gap   int64
		Left  time.Duration
	}
	// OutputCompared: keepers have compared the output of a redundant job.
	OutputCompared struct {
		Lease    market.Lease
		Accepted bool
	}
	// Noticed: the machine has given notice of an interruptible lease.
	Noticed struct{ Lease market.Lease }
	// LeaseOver: the lease has ended before its job was handed over by this call. Closed: its account is gone.
	LeaseOver struct {
		Lease  market.Lease
		Closed bool
	}
	// LeaseServed: a lease of an order that is over was served, and is closed.
	LeaseServed struct{ Lease solana.PublicKey }
	// HistoryUnread: what a closed lease has cost cannot be read.
	HistoryUnread struct {
		Lease solana.PublicKey
		Err   error
	}
	// SnapshotKept: the snapshot of a lease's volume with which another can begin.
	SnapshotKept struct{ Lease market.Lease }
	// Ended: the lease was ended by the customer.
	Ended struct {
		Lease     solana.PublicKey
		Signature string
	}
	// Suspended: the machine has stored the container.
	Suspended struct {
		Lease    market.Lease
		Snapshot snapshot.Hash
		After    time.Duration
	}
	// SnapshotUnannounced: the hash of a suspended container is not on chain yet.
	SnapshotUnannounced struct{ Lease solana.PublicKey }
	// Leftover is a transaction of an earlier process, and its fate in a few words.
	Leftover struct {
		Kind      string
		Created   time.Time
		Fate      string
		Signature solana.Signature
	}
)

func (Unreadable) event()          {}
func (Unattended) event()          {}
func (Resumed) event()             {}
func (Declined) event()            {}
func (Bought) event()              {}
func (BackupKeyMade) event()       {}
func (ContainerFound) event()      {}
func (VolumeFound) event()         {}
func (ImageKnown) event()          {}
func (FirstRunClosed) event()      {}
func (PriceTaken) event()          {}
func (TimeTaken) event()           {}
func (Simulated) event()           {}
func (Placed) event()              {}
func (AuctionOpened) event()       {}
func (AuctionClosed) event()       {}
func (AuctionRevealed) event()     {}
func (Awarded) event()             {}
func (FirstRunAvoided) event()     {}
func (Attested) event()            {}
func (Measured) event()            {}
func (NotMeasured) event()         {}
func (Failed) event()              {}
func (NeverStarted) event()        {}
func (Left) event()                {}
func (Inspected) event()           {}
func (InspectionMissed) event()    {}
func (InspectionUndecided) event() {}
func (Fetching) event()            {}
func (Running) event()             {}
func (Serving) event()             {}
func (NotServing) event()          {}
func (OutputEnded) event()         {}
func (Exited) event()              {}
func (ReceiptSigned) event()       {}
func (MachineFailed) event()       {}
func (Moved) event()               {}
func (Continued) event()           {}
func (OutputCompared) event()      {}
func (Noticed) event()             {}
func (LeaseOver) event()           {}
func (LeaseServed) event()         {}
func (HistoryUnread) event()       {}
func (SnapshotKept) event()        {}
func (Ended) event()               {}
func (Suspended) event()           {}
func (SnapshotUnannounced) event() {}
func (Leftover) event()            {}

// Offer is an order that is about to be placed, and reserves its cost.
type Offer struct {
	Nodes, GPUs uint8
	Model       string
	Needs       string // of the machine besides its GPUs, such as " with 8 cores"; empty for nothing
	Seconds     uint32
	MaxPrice    market.PricePerHour
	Cost        market.USDC
}

// WaitFor is what a purchase waits for.
type WaitFor uint8

// What a purchase waits for.
const (
	WaitConfirmed WaitFor = iota // a transaction to be confirmed
	WaitAward                    // a keeper to award the order
	WaitCommits                  // nodes to commit to their bids
	WaitReveals                  // nodes to reveal their bids
	WaitProof                    // the machine to prove itself
	WaitStart                    // the machine to take the job and start
	WaitMove                     // keepers to move the lease
	WaitEnd                      // the lease to end with its job
	WaitOutputs                  // the outputs to be compared
	WaitSuspended                // the machine to save the container
	WaitSnapshot                 // the last snapshot of a volume whose lease has ended
)

// Wait is something that takes its time.
type Wait struct {
	For   WaitFor
	Kind  string // of the transaction
	Order solana.PublicKey
}

// tell reports an event.
func (b *Buyer) tell(e Event) {
	if b.o.OnEvent == nil {
		return
	}
	b.events.Lock()
	defer b.events.Unlock()
	b.o.OnEvent(e)
}

// waiting reports that something is waited for until the returned function is called.
func (b *Buyer) waiting(w Wait) (stop func()) {
	if b.o.Waiting == nil {
		return func() {}
	}
	return b.o.Waiting(w)
}
