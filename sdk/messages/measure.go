package messages

// What keepers, customers and nodes say while a node is measured: docs/protocol/measurement.md has what is computed,
// docs/adr/0026-measuring.md who asks and when.

// Bounds of a measurement's messages. Tests compare them with the format's (attest/measure).
const (
	// MaxMeasureRoots is how many roots one item has at most: all of a GPU's.
	MaxMeasureRoots = 1 << 12
	// MaxMeasureItem bounds an item of the stream: a GPU's roots, and what is around them.
	MaxMeasureItem = 32*MaxMeasureRoots + 1<<10
	// MaxMeasureAnswer bounds what is opened of one GPU.
	MaxMeasureAnswer = 80 << 10
)

// MeasureRequest asks a node to be measured at a period's instant, or to be told of the measurement that runs. The member
// of the committee who asks is the stream's authenticated peer.
type MeasureRequest struct {
	Version uint8 `cbor:"1,keyasint"`
	// Node is the node account's address.
	Node   [32]byte `cbor:"2,keyasint"`
	Period uint64   `cbor:"3,keyasint"`
	// Tick, Slot and BlockHash name the block that made the instant.
	Tick      uint8    `cbor:"4,keyasint"`
	Slot      uint64   `cbor:"5,keyasint"`
	BlockHash [32]byte `cbor:"6,keyasint"`
}

// MeasureItem is a part of the answer: roots, or that the node is ready, or the commitment, or a refusal. The last two end
// the stream.
type MeasureItem struct {
	Roots      *MeasureRoots      `cbor:"1,keyasint,omitempty"`
	Commitment *MeasureCommitment `cbor:"2,keyasint,omitempty"`
	Refused    MeasureRefusal     `cbor:"3,keyasint,omitempty"`
	// Ready is SHA-256 of the commitment that the node signs as soon as it has seen the instant's block itself. Its GPUs
	// have ended their walks: the time of the measurement ends with this item.
	Ready *[32]byte `cbor:"4,keyasint,omitempty"`
}

// MeasureRoots are roots of a GPU's rounds that have ended, one after the other. Each stream begins with round 0 of each
// GPU and leaves none out.
type MeasureRoots struct {
	GPU   uint8  `cbor:"1,keyasint"`
	First uint32 `cbor:"2,keyasint"`
	// Roots are 32 bytes each, at least one and at most MaxMeasureRoots.
	Roots []byte `cbor:"3,keyasint" max:"131072"`
}

// MeasureCommitment is what the node signs when all GPUs are ready. All roots were sent before.
type MeasureCommitment struct {
	Commitment []byte   `cbor:"1,keyasint" max:"361"`
	Signature  [64]byte `cbor:"2,keyasint"`
	// Entries are those of the GPUs, 145 bytes each.
	Entries []byte `cbor:"3,keyasint" max:"1160"`
	// Guest is by the key of the process that answers, over the instant and SHA-256 of the commitment.
	Guest *GuestSignature `cbor:"4,keyasint,omitempty"`
}

// MeasureRefusal says why a node is not measured, or does not open what it is asked for.
type MeasureRefusal uint8

const (
	// MeasureLease: a lease is live, or has begun meanwhile. Keepers look at the chain whether there is one.
	MeasureLease MeasureRefusal = 1
	// MeasureBlock: the block is not the period's instant as the node reads the chain, or the node cannot read it in time, or
	// the keeper has named one before that was not. It says nothing about the node.
	MeasureBlock MeasureRefusal = 2
	// MeasureOver: the time to begin, to join or to open is over, or has not come.
	MeasureOver MeasureRefusal = 3
	// MeasureUnready: the node does not know yet what is asked of its GPUs.
	MeasureUnready MeasureRefusal = 4
	// MeasureFailed: a GPU could not compute.
	MeasureFailed MeasureRefusal = 5
	// MeasureTooMany: too many members have joined, or this one has asked for too much.
	MeasureTooMany MeasureRefusal = 6
	// MeasureJob: the lease's job has the GPUs, and the customer has not asked for a measurement beside it.
	MeasureJob MeasureRefusal = 7
)

// String is the refusal in words.
func (r MeasureRefusal) String() string {
	switch r {
	case MeasureLease:
		return "a lease is live: the GPUs are the customer's"
	case MeasureBlock:
		return "the node does not see this block as the period's instant"
	case MeasureOver:
		return "it is not the time for this"
	case MeasureUnready:
		return "the node does not know yet what is asked of its GPUs"
	case MeasureFailed:
		return "a GPU could not compute"
	case MeasureTooMany:
		return "too many ask, or too much is asked for"
	case MeasureJob:
		return "the lease's job has the GPUs"
	}
	return "a reason that is not known"
}

// MeasureOpenRequest asks what a draw names of one GPU of a signed commitment.
type MeasureOpenRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Node    [32]byte `cbor:"2,keyasint"`
	Period  uint64   `cbor:"3,keyasint"`
	GPU     uint8    `cbor:"4,keyasint"`
	// Challenge is 32 random bytes, of which the draw is made. A member has one for each GPU of a run; it may ask with it
	// again when an answer was lost.
	Challenge [32]byte `cbor:"5,keyasint"`
}

// MeasureOpening answers it, or says why not.
type MeasureOpening struct {
	// Answer has the length that follows from entry and draw.
	Answer  []byte         `cbor:"1,keyasint,omitempty" max:"81920"`
	Refused MeasureRefusal `cbor:"2,keyasint,omitempty"`
	// Signature is the node's over what it answers to this draw (records.Opening), so that others can check a wrong answer.
	// All zero where the node has signed no commitment that it could open.
	Signature [64]byte `cbor:"3,keyasint"`
}

// LeaseMeasureRequest asks a node to have the GPUs of a lease measured by its customer, who is the stream's authenticated
// peer, or to be told of the measurement of this nonce. One of another nonce ends the one before.
type LeaseMeasureRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	// Nonce is 32 random bytes: with the lease they make the instant.
	Nonce [32]byte `cbor:"3,keyasint"`
	// Beside asks for it while the lease's job has the GPUs, by the light form of the profile. It takes memory and time
	// from the job.
	Beside bool `cbor:"4,keyasint,omitempty"`
}

// LeaseMeasureOpenRequest asks what a draw names of one GPU of the commitment of a lease's measurement. The answer is a
// MeasureOpening.
type LeaseMeasureOpenRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Lease   [32]byte `cbor:"2,keyasint"`
	Nonce   [32]byte `cbor:"3,keyasint"`
	GPU     uint8    `cbor:"4,keyasint"`
	// Challenge is as in MeasureOpenRequest.
	Challenge [32]byte `cbor:"5,keyasint"`
	// Done says that nothing more is asked for, of any GPU, and draws nothing: the measurement ends, wherever it is.
	Done bool `cbor:"6,keyasint,omitempty"`
}
