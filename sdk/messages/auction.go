package messages

// Limits of the messages of sealed auctions.
const (
	// MaxBidRequest bounds a commitment or reveal, bytes.
	MaxBidRequest = 4 << 10
	// MaxBidAcks is how many keepers' acknowledgements a bid may carry.
	MaxBidAcks = 16
	// MaxGossipBids is how many bids one message of gossip has, at most.
	MaxGossipBids = 64
	// MaxPartBids is how many bids one part of a published set has, at most.
	MaxPartBids = 128
)

// BidAck is a keeper's acknowledgement of a commitment or a reveal: sdk/records has the 48 bytes that are signed.
type BidAck struct {
	Keeper     [32]byte `cbor:"1,keyasint"`
	Stage      uint8    `cbor:"2,keyasint"` // records.AckStage
	ReceivedAt int64    `cbor:"3,keyasint"` // unix seconds
	Signature  [64]byte `cbor:"4,keyasint"`
}

// BidPrice is what a commitment hides.
type BidPrice struct {
	Price uint64   `cbor:"1,keyasint"` // µUSDC per GPU-hour
	Salt  [32]byte `cbor:"2,keyasint"`
}

// Bid is a commitment as the node signed it, with its reveal once there is one, and with what keepers acknowledged.
type Bid struct {
	Node       [32]byte  `cbor:"1,keyasint"` // the node account's address
	Commitment [32]byte  `cbor:"2,keyasint"`
	Signature  [64]byte  `cbor:"3,keyasint"`
	Reveal     *BidPrice `cbor:"4,keyasint,omitempty"`
	Acks       []BidAck  `cbor:"5,keyasint,omitempty" max:"256"`
}

// BidRequest brings a commitment (without a reveal) or a reveal. A reveal repeats the commitment and may carry the
// acknowledgements of other keepers, so that a keeper that missed the commitment can take it.
type BidRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Order   [32]byte `cbor:"2,keyasint"`
	CloseAt int64    `cbor:"3,keyasint"` // of the auction: which life of the order's address
	Bid     Bid      `cbor:"4,keyasint"`
}

// BidAnswer acknowledges, or says with the keeper's signature why not.
type BidAnswer struct {
	Version uint8          `cbor:"1,keyasint"`
	Ack     *BidAck        `cbor:"2,keyasint,omitempty"`
	Outcome *SignedOutcome `cbor:"3,keyasint,omitempty"`
}

// SignedOutcome is a keeper's signed outcome of a bid (92 bytes, see sdk/records).
type SignedOutcome struct {
	Keeper    [32]byte `cbor:"1,keyasint"`
	Outcome   []byte   `cbor:"2,keyasint" max:"92"`
	Signature [64]byte `cbor:"3,keyasint"`
}

// OutcomeRequest asks about one bid of the caller's.
type OutcomeRequest struct {
	Version    uint8    `cbor:"1,keyasint"`
	Order      [32]byte `cbor:"2,keyasint"`
	CloseAt    int64    `cbor:"3,keyasint"`
	Node       [32]byte `cbor:"4,keyasint"`
	Commitment [32]byte `cbor:"5,keyasint"`
}

// BidGossip is what keepers tell each other: bids of one auction, each with the author's own acknowledgement.
type BidGossip struct {
	Version uint8    `cbor:"1,keyasint"`
	Order   [32]byte `cbor:"2,keyasint"`
	CloseAt int64    `cbor:"3,keyasint"`
	Bids    []Bid    `cbor:"4,keyasint" max:"64"`
}

// BidSetRequest asks for the bids of an auction as one keeper saw them.
type BidSetRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Order   [32]byte `cbor:"2,keyasint"`
	// CloseAt of the auction; 0 for the last one of this order's address.
	CloseAt int64 `cbor:"3,keyasint"`
	// Keeper whose set is asked for; zero for the answering keeper's own.
	Keeper [32]byte `cbor:"4,keyasint"`
}

// JudgedBid is a bid with what the keeper says about it.
type JudgedBid struct {
	Bid         Bid    `cbor:"1,keyasint"`
	Code        uint8  `cbor:"2,keyasint"` // records.OutcomeCode
	Requirement uint16 `cbor:"3,keyasint"`
	Reputation  uint16 `cbor:"4,keyasint"` // basis points when the keeper chose
	Score       uint64 `cbor:"5,keyasint"`
	// Site of the node, for orders whose nodes must share one.
	Site [16]byte `cbor:"6,keyasint"`
	// Guarantee is the uptime that the node guarantees until the latest end of the order, basis points; 0 without such a guarantee.
	Guarantee uint16 `cbor:"7,keyasint"`
}

// BidSetPart is a piece of a published set: the first has the head (132 bytes, see sdk/records).
type BidSetPart struct {
	Version   uint8       `cbor:"1,keyasint"`
	Keeper    [32]byte    `cbor:"2,keyasint"`
	Head      []byte      `cbor:"3,keyasint,omitempty" max:"132"`
	Signature [64]byte    `cbor:"4,keyasint"`
	Bids      []JudgedBid `cbor:"5,keyasint" max:"128"`
}
