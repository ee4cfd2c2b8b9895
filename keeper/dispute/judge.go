package dispute

import (
	"fmt"

	"github.com/gantry-market/gantry/sdk/market"
)

// Facts are what a keeper knows of a disputed lease.
type Facts struct {
	Kind market.DisputeKind
	// Elapsed are the lease's seconds from its start to its end or the dispute, Paid those that are paid for.
	Elapsed, Paid int64
	// Up and Down are those of Elapsed for which this keeper has signed that the lease was served, and that it was not.
	Up, Down int64
	// Grace is what a report does not count as a failure: seconds.
	Grace int64
	// Output is how far the lease's output is, of a redundant job; Agreeing are other leases of the order whose output
	// was accepted, Dissenting those whose output was not.
	Output               market.OutputState
	Agreeing, Dissenting int
	// Readable: the keeper has the complaint.
	Readable bool
}

// Opinion is what a keeper thinks of a dispute.
type Opinion uint8

// Opinions.
const (
	// Abstain: what the keeper knows shows neither.
	Abstain Opinion = iota
	Uphold
	Reject
)

var opinionNames = [...]string{Abstain: "abstains", Uphold: "upholds", Reject: "rejects"}

func (o Opinion) String() string { return opinionNames[o] }

// Judgement is an opinion with its reason.
type Judgement struct {
	Opinion Opinion
	Why     string
}

// servedTenths of a lease's time must have been seen up for a complaint about its delivery to be rejected.
const servedTenths = 9

// agreeingOutputs is how many other nodes must have shown one output that was accepted: with this one they are the
// smallest redundant job.
const agreeingOutputs = 2

// Judge decides by the facts alone.
func Judge(f Facts) Judgement {
	var j Judgement
	switch f.Kind {
	case market.DisputeNotDelivered:
		j = delivered(f)
	case market.DisputeBadOutput:
		j = output(f)
	default:
		return Judgement{Abstain, "a kind of dispute that this keeper does not know"}
	}
	if j.Opinion == Uphold && !f.Readable {
		return Judgement{Abstain, "the complaint is not here: " + j.Why}
	}
	return j
}

// delivered judges by the keeper's own statements about the lease.
func delivered(f Facts) Judgement {
	seen := fmt.Sprintf("of %d s this keeper saw %d s served and %d s not, %d s are paid", f.Elapsed, f.Up, f.Down, f.Paid)
	switch {
	case f.Down > f.Grace && f.Paid > f.Elapsed-f.Down+f.Grace:
		return Judgement{Uphold, "seconds are paid that were not served: " + seen}
	case f.Down > f.Grace && 2*f.Down > f.Elapsed:
		return Judgement{Uphold, "it was not served for most of its time: " + seen}
	case f.Elapsed > 0 && f.Down <= f.Grace && 10*f.Up >= servedTenths*f.Elapsed:
		return Judgement{Reject, "it was served: " + seen}
	}
	return Judgement{Abstain, "too little was seen: " + seen}
}

// output judges by what the nodes of a redundant job have shown on chain.
func output(f Facts) Judgement {
	switch {
	case f.Output == market.OutputAccepted:
		return Judgement{Reject, "most nodes of the job have shown this output"}
	// A majority may be one person's; that all others of a job that keepers assigned at random are is less likely.
	case f.Output == market.OutputRejected && f.Agreeing >= agreeingOutputs && f.Dissenting == 0:
		return Judgement{Uphold, fmt.Sprintf("all %d other nodes have shown one output, and this node has not", f.Agreeing)}
	case f.Output == market.OutputNone:
		return Judgement{Abstain, "nothing on chain can be compared with the output"}
	}
	return Judgement{Abstain, "the outputs do not decide: " + f.Output.String()}
}
