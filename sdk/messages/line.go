package messages

// What keepers and nodes say when a node's line is checked: sdk/line has what is moved, docs/adr/0027-lines.md who asks and
// when.

// LineDirection is which way the blocks of a check go.
type LineDirection uint8

const (
	// LineDown: the keeper sends blocks, the node answers each with its hash.
	LineDown LineDirection = 1
	// LineUp: the keeper sends seeds, the node answers each with its block.
	LineUp LineDirection = 2
)

// String is the direction in a word.
func (d LineDirection) String() string {
	switch d {
	case LineDown:
		return "down"
	case LineUp:
		return "up"
	}
	return "unknown"
}

// LineRequest asks a node for one direction of a check. The member of the committee who asks is the stream's authenticated
// peer. The stream that follows the answer belongs to the check.
type LineRequest struct {
	Version uint8 `cbor:"1,keyasint"`
	// Node is the node account's address.
	Node   [32]byte `cbor:"2,keyasint"`
	Period uint64   `cbor:"3,keyasint"`
	// Tick, Slot and BlockHash name the block that made the period's instant.
	Tick      uint8         `cbor:"4,keyasint"`
	Slot      uint64        `cbor:"5,keyasint"`
	BlockHash [32]byte      `cbor:"6,keyasint"`
	Direction LineDirection `cbor:"7,keyasint"`
}

// LineAnswer says that the node is ready, or why it is not.
type LineAnswer struct {
	Refused LineRefusal `cbor:"1,keyasint,omitempty"`
}

// LineRefusal says why a node's line is not checked.
type LineRefusal uint8

const (
	// LineLease: a lease is live, and the line its customer's. Keepers look at the chain whether there is one.
	LineLease LineRefusal = 1
	// LineUndrawn: the block is not the period's instant, or does not draw the node, or the keeper does not sit in its committee.
	LineUndrawn LineRefusal = 2
	// LineOver: it is not the period.
	LineOver LineRefusal = 3
	// LineBusy: another member's check runs.
	LineBusy LineRefusal = 4
	// LineSpent: this member has had its check, or the node moves no more bytes for checks today.
	LineSpent LineRefusal = 5
	// LineUnready: the node cannot read now who may ask.
	LineUnready LineRefusal = 6
)

// String is the refusal in words.
func (r LineRefusal) String() string {
	switch r {
	case LineLease:
		return "a lease is live: the line is the customer's"
	case LineUndrawn:
		return "the node is not drawn in this period, or not for this keeper"
	case LineOver:
		return "it is not the time for this"
	case LineBusy:
		return "another keeper's check runs"
	case LineSpent:
		return "the node has moved what it moves in a day"
	case LineUnready:
		return "the node does not know yet who may ask"
	}
	return "a reason that is not known"
}
