package lease

import (
	"fmt"
	"time"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/sdk/market"
)

// Order is what a lease's worker needs of its order.
type Order struct {
	// Complete means that every node of the order is awarded: only then may a lease start.
	Complete bool
	// AwardedAt is when the last of them was; the start deadline counts from there.
	AwardedAt time.Time
	// StartDeadline is the order's time between the award and the start.
	StartDeadline time.Duration
	// Digest is that of the job that may run.
	Digest [32]byte
	// Duration is the paid-for time.
	Duration time.Duration
	// Outputs are those of a redundant order.
	Outputs Outputs
}

// JobPhase is how far the job of a lease is.
type JobPhase int

// Phases of a job.
const (
	// JobNone: nothing ran; it may be started.
	JobNone JobPhase = iota
	// JobActive: it runs or is about to.
	JobActive
	// JobOver: it ended, or was lost.
	JobOver
)

// Facts is all that a decision rests on.
type Facts struct {
	Now time.Time
	// Entry is what the agent has stored about the lease.
	Entry store.Lease
	// Exists is false when the agent's view of the chain has no such account (any more), or one of another lease at the
	// same address.
	Exists bool
	// Gone: the account itself says so, finalized, by two answers. What does not exist for the view may be there all the
	// same.
	Gone bool
	// Later: a later lease is at the same address.
	Later bool
	// Account is the lease on chain.
	Account market.Lease
	Order   Order
	Job     JobPhase
	// Keyless: the job has a volume, and its key is not here. An agent that was started anew has none.
	Keyless bool
	// Ask is the node's own price now, for work of the lease's kind.
	Ask market.PricePerHour
	// Wanted says why the machine's owner wants it back; empty while the owner does not.
	Wanted string
	// Meeting is how far those are that start together with the lease.
	Meeting Meeting
	// Measured: the customer measures the lease's GPUs. Neither lease nor job starts meanwhile.
	Measured bool
	// Snapshot is the hash of the last snapshot of the job's volume; zero for none.
	Snapshot [32]byte
	// Keep is how long a closed lease's output stays readable.
	Keep time.Duration
}

// Action is what a worker does next.
type Action int

// Actions.
const (
	// Wait: nothing to do before the time in Decision.Until, or a change.
	Wait Action = iota
	// MarkStarting stores that the lease is about to be started.
	MarkStarting
	// SubmitStart sends lease_start.
	SubmitStart
	// SubmitDecline stores why the node does not serve the lease, and sends lease_decline.
	SubmitDecline
	// StartJob starts the customer's job and stores that it runs.
	StartJob
	// MarkRunning stores that the job runs; needed when the agent ended while it started the job.
	MarkRunning
	// ExtendJob gives the job the time that the customer has added to the lease.
	ExtendJob
	// MarkExited stores how the job ended.
	MarkExited
	// StopJob ends the job because the lease is over.
	StopJob
	// EndFinished sends lease_end for a job that is done, after a last attempt to settle.
	EndFinished
	// EndRepriced sends lease_end for a lease whose price fell below the node's ask because its award was unjust.
	EndRepriced
	// GiveNotice sends lease_end for an interruptible lease whose machine its owner wants back.
	GiveNotice
	// EndNoticed sends lease_end for an interruptible lease after its notice.
	EndNoticed
	// EndDue sends lease_end for a lease that ran out or failed; anyone may.
	EndDue
	// EndLost sends lease_end for a lease whose job this machine has lost, at the machine's cost, after a last attempt to settle.
	EndLost
	// MarkEnded stores that the lease is over.
	MarkEnded
	// MarkClosed stores that its account is gone.
	MarkClosed
	// Remove deletes the job's directory; the worker ends.
	Remove
	// HashOutput stores the hash of a redundant job's output, with a salt.
	HashOutput
	// CommitOutput sends output_commit.
	CommitOutput
	// RevealOutput sends output_reveal, once the others have committed.
	RevealOutput
	// SubmitCheckpoint sends lease_checkpoint for a new snapshot of the volume.
	SubmitCheckpoint
	// ProveGone asks the account itself whether it is gone.
	ProveGone
	// TakeUp goes on with a lease that was stored as over, and that the chain shows not to be.
	TakeUp
)

var actionNames = [...]string{
	"wait", "mark starting", "submit start", "decline lease", "start job", "mark running", "extend job", "mark exited", "stop job",
	"end finished lease", "end repriced lease", "give notice", "end lease after its notice", "end due lease", "end lease of a lost job", "mark ended", "mark closed", "remove", "hash output", "commit to output",
	"reveal output", "submit checkpoint", "prove that the lease is gone", "take up again",
}

func (a Action) String() string {
	if a < 0 || int(a) >= len(actionNames) {
		return "unknown"
	}
	return actionNames[a]
}

// Decision is an action, or the wait for one.
type Decision struct {
	Action Action
	// Until is when to observe again at the latest; zero for no such time. Only for Wait.
	Until time.Time
	// Late: a time that was agreed on chain is over by Facts.Now. The worker asks the chain before it acts on that.
	Late bool
	// Why is for people.
	Why string
	// Decline is the reason that goes on chain; only for SubmitDecline.
	Decline market.DeclineReason
}

const (
	// clockMargin keeps a transaction from reaching a chain whose clock is a little behind what we take for its time.
	clockMargin = time.Second
	// keeperGrace leaves the ending of due leases to keepers, who are paid for it, before the node does it itself.
	keeperGrace = 3 * time.Second
)

// Decide names the next action. It is pure: same facts, same decision.
func Decide(f Facts) Decision {
	if !f.Exists {
		return decideGone(f)
	}
	goesOn := f.Account.State() == market.LeaseAwarded || f.Account.State() == market.LeaseRunning
	if goesOn && (f.Entry.State == store.Ended || f.Entry.State == store.Closed) {
		return Decision{Action: TakeUp, Why: "the chain shows that the lease is not over"}
	}
	switch f.Account.State() {
	case market.LeaseAwarded:
		return decideAwarded(f)
	case market.LeaseRunning:
		return decideRunning(f)
	case market.LeaseFailed, market.LeaseEnded:
		return decideOver(f)
	}
	return Decision{Action: Wait, Why: "status not known to this agent"}
}

// decideGone handles a lease without an account: aborted before its start, or settled and closed. Nothing of it is
// ended before the account itself has said so; a later lease at its address is enough where no job runs.
func decideGone(f Facts) Decision {
	until := stepTime(f.Entry, store.Closed).Add(f.Keep)
	if f.Entry.State == store.Closed && f.Job != JobActive && f.Now.Before(until) {
		return Decision{Action: Wait, Until: until, Why: "output stays readable for a while"}
	}
	if !f.Gone && (!f.Later || f.Job == JobActive) {
		return Decision{Action: ProveGone, Why: "the lease is not among those that the RPC endpoint shows"}
	}
	switch {
	case f.Job == JobActive:
		return Decision{Action: StopJob, Why: "the lease is gone from the chain"}
	case f.Entry.State.Live():
		return Decision{Action: MarkEnded, Why: goneWhy(f.Entry)}
	case f.Entry.State == store.Ended:
		return Decision{Action: MarkClosed, Why: "account closed"}
	}
	return Decision{Action: Remove, Why: "closed"}
}

func goneWhy(r store.Lease) string {
	if r.StartedAt.IsZero() {
		return "aborted before it started"
	}
	return "ended and closed while the agent was down"
}

// decideAwarded waits for the job, at most half of the start deadline, then starts: a customer that brings none pays for the
// machine that it holds. A lease whose job was refused is declined, and one whose customer measures the GPUs does not start before
// that half: what the job needs is fetched meanwhile.
func decideAwarded(f Facts) Decision {
	if f.Entry.State != store.Awarded && f.Entry.State != store.Starting {
		// The store is ahead of the chain: what the agent saw was on a fork, or the RPC node lags.
		return Decision{Action: Wait, Why: "the chain shows an earlier state than was seen"}
	}
	if !f.Order.Complete {
		return Decision{Action: Wait, Why: "other nodes of the order are not awarded yet"}
	}
	deadline := f.Order.AwardedAt.Add(f.Order.StartDeadline)
	if f.Now.After(deadline) {
		return Decision{Action: Wait, Late: true, Why: "start deadline missed; the customer gets everything back"}
	}
	if f.Entry.Refused != "" {
		return Decision{Action: SubmitDecline, Decline: market.DeclineReason(f.Entry.Decline), Why: f.Entry.Refused}
	}
	half := f.Order.AwardedAt.Add(f.Order.StartDeadline / 2)
	if f.Entry.State == store.Starting {
		if f.Measured && f.Now.Before(half) {
			return Decision{Action: Wait, Until: half, Why: "the customer measures the GPUs"}
		}
		if d, done := decideMeeting(f, half); done {
			return d
		}
		return Decision{Action: SubmitStart}
	}
	if repriced(f) {
		return Decision{Action: SubmitDecline, Decline: market.DeclinedPrice, Why: "the price fell below the ask of this machine"}
	}
	if f.Entry.Job == nil && f.Now.Before(half) {
		return Decision{Action: Wait, Until: half, Why: "waiting for the customer's job"}
	}
	if f.Keyless && f.Now.Before(half) {
		return Decision{Action: Wait, Until: half, Why: "waiting for the key of the customer's volume"}
	}
	if held := f.Now.Sub(f.Order.AwardedAt); f.Account.Continues == 0 && f.Order.Duration < f.Order.StartDeadline && held > f.Order.Duration {
		// Its customer would hold this machine for longer than it pays for.
		return Decision{Action: SubmitDecline, Decline: market.DeclinedLate, Why: fmt.Sprintf("the job came %s after the award, and %s are ordered", held.Round(time.Second), f.Order.Duration)}
	}
	return Decision{Action: MarkStarting}
}

// repriced: the award of the lease was unjust, and it pays less than the node asks.
func repriced(f Facts) bool {
	return f.Account.Repriced() && market.PricePerHour(f.Account.Price) < f.Ask
}

// decideRunning starts the job, stores its end, and ends the lease when it is done or out of money.
func decideRunning(f Facts) Decision {
	funded := time.Unix(f.Account.FundedUntil, 0)
	if due := funded.Add(clockMargin); !f.Now.Before(due) {
		if f.Job == JobActive {
			return Decision{Action: StopJob, Late: true, Why: "the paid-for time is over"}
		}
		if at := due.Add(keeperGrace); f.Now.Before(at) {
			return Decision{Action: Wait, Until: at, Why: "paid-for time is over"}
		}
		return Decision{Action: EndDue, Late: true, Why: "paid-for time is over"}
	}
	if f.Snapshot != [32]byte{} && f.Snapshot != f.Account.CheckpointHash && (f.Entry.State == store.Running || f.Entry.State == store.Exited) {
		return Decision{Action: SubmitCheckpoint} // before the end: an ended lease takes none
	}
	if repriced(f) {
		return Decision{Action: EndRepriced, Why: "the award was unjust, and the price fell below the ask of this machine"}
	}
	wait := Decision{Action: Wait, Until: funded.Add(clockMargin)}
	if d, due := decideNotice(f, &wait); due {
		return d
	}
	switch f.Entry.State {
	case store.Awarded:
		return Decision{Action: MarkStarting, Why: "started on chain already"}
	case store.Starting, store.Running:
		return decideJob(f, wait)
	case store.Exited:
		if d, ok := decideOutput(f); ok && d.Action != Wait {
			return d // before the end: a node that fails then has committed at least
		}
		if f.Account.RunToCompletion == 1 {
			return Decision{Action: EndFinished}
		}
		if f.Entry.Exit != nil && f.Entry.Exit.Reason == string(runtime.Lost) {
			return Decision{Action: EndLost, Why: "this machine has lost the job"}
		}
		wait.Why = "the job is over; the customer keeps the lease until it is stopped or runs out"
		return wait
	}
	wait.Why = "the chain shows an earlier state than was seen"
	return wait
}

func decideJob(f Facts, wait Decision) Decision {
	switch {
	case f.Job == JobOver:
		return Decision{Action: MarkExited}
	case f.Job == JobNone && f.Entry.State == store.Running:
		// It ran, and nothing is left of it: it is not run a second time.
		return Decision{Action: MarkExited, Why: "the job's directory is gone"}
	case f.Job == JobActive && f.Entry.State == store.Starting:
		return Decision{Action: MarkRunning}
	case f.Job == JobActive && f.Entry.FundedUntil.Unix() < f.Account.FundedUntil:
		return Decision{Action: ExtendJob}
	case f.Job == JobActive:
		wait.Why = "the job runs"
		return wait
	case f.Entry.Job == nil:
		wait.Why = "the customer's job has not arrived"
		return wait
	case f.Keyless:
		wait.Why = "the key of the customer's volume has not arrived"
		return wait
	case f.Measured:
		wait.Why = "the customer measures the GPUs"
		return wait
	}
	return Decision{Action: StartJob}
}

// decideOver stops what still runs. A failed lease is ended by keepers, or by the node if they do not.
func decideOver(f Facts) Decision {
	if f.Job == JobActive {
		return Decision{Action: StopJob, Why: overWhy(f.Account)}
	}
	if f.Account.State() == market.LeaseFailed {
		at := time.Unix(f.Account.EndedAt, 0).Add(clockMargin + keeperGrace)
		if f.Account.CanMigrate() { // for so long only keepers and the customer may act
			at = at.Add(time.Duration(f.Account.SettleSecs) * time.Second)
		}
		if f.Now.Before(at) {
			return Decision{Action: Wait, Until: at, Why: "failed"}
		}
		return Decision{Action: EndDue, Why: "failed"}
	}
	if f.Entry.State.Live() {
		return Decision{Action: MarkEnded, Why: overWhy(f.Account)}
	}
	if d, ok := decideOutput(f); ok {
		return d
	}
	return Decision{Action: Wait, Why: "over; waiting until it is settled and closed"}
}

// overWhy is the reason, for people, why a lease is over.
func overWhy(l market.Lease) string {
	if l.State() == market.LeaseFailed {
		return "keepers found the node gone for too long"
	}
	switch l.Reason() {
	case market.EndedByCustomer:
		return "ended by the customer"
	case market.EndedByProvider:
		return "ended by the provider"
	case market.EndedUnfunded:
		return "paid-for time is over"
	case market.EndedFailed:
		return "failed: keepers found the node gone for too long"
	case market.EndedJobDone:
		return "the job is done"
	}
	return "ended"
}

// stepTime is when a lease reached a state; zero if it never did.
func stepTime(r store.Lease, s store.State) time.Time {
	for _, step := range r.History {
		if step.State == s {
			return step.At
		}
	}
	return time.Time{}
}
