package market

import (
	"crypto/sha256"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// OutputState is how far a redundant job's output is, as in program/src/state/lease.rs.
type OutputState uint8

// The states.
const (
	// OutputNone: not a redundant job.
	OutputNone OutputState = iota
	OutputWanted
	OutputCommitted
	OutputRevealed
	// OutputAccepted: what the majority had.
	OutputAccepted
	// OutputRejected: never paid.
	OutputRejected
	// OutputWithheld: committed to and not revealed in time; never paid, and its node is yet to forfeit stake.
	OutputWithheld
)

// The number of nodes of a redundant job: an odd one, or half of them could keep the others from a majority.
const (
	MinRedundancy = 3
	MaxRedundancy = 7
)

// CanCompare says whether outputs are compared of so many nodes.
func CanCompare(nodes uint8) bool {
	return nodes >= MinRedundancy && nodes <= MaxRedundancy && nodes%2 == 1
}

// Payable is false while the outputs of a redundant job wait to be compared, and for ever when this one lost.
func (l *Lease) Payable() bool {
	return OutputState(l.Output) == OutputNone || OutputState(l.Output) == OutputAccepted
}

// OutputsCommitted says whether every node that can still commit to its output has: then outputs may be revealed.
func (o *Order) OutputsCommitted(now int64) bool {
	return o.Outputs >= o.NodesAwarded || now > o.OutputsBy
}

// OutputCommitment is what a node of a redundant job commits to: sha256(tag ‖ domain ‖ lease ‖ output ‖ salt), where
// output is the sha256 of what the job wrote.
func OutputCommitment(domain records.Domain, lease solana.PublicKey, output, salt [32]byte) [32]byte {
	h := sha256.New()
	h.Write([]byte(records.TagOutputCommitment))
	h.Write(domain[:])
	h.Write(lease[:])
	h.Write(output[:])
	h.Write(salt[:])
	return [32]byte(h.Sum(nil))
}
