package messages

// SignedStatement is a check statement (144 bytes, see sdk/records) with its keeper and signature.
type SignedStatement struct {
	Version   uint8    `cbor:"1,keyasint"`
	Keeper    [32]byte `cbor:"2,keyasint"`
	Statement []byte   `cbor:"3,keyasint" max:"144"`
	Signature [64]byte `cbor:"4,keyasint"`
}

// StatementsRequest asks a keeper for the signed statements of a period that it has: its own, and those of others that
// it heard by gossip. Skip leaves out as many as the caller has already.
type StatementsRequest struct {
	Version uint8  `cbor:"1,keyasint"`
	Period  uint64 `cbor:"2,keyasint"`
	Skip    uint32 `cbor:"3,keyasint,omitempty"`
	// Node, if not zero, asks for statements about one node only.
	Node [32]byte `cbor:"4,keyasint,omitempty"`
}

// StatementsAnswer holds statements. More says that there are others after them.
type StatementsAnswer struct {
	Version    uint8             `cbor:"1,keyasint"`
	Statements []SignedStatement `cbor:"2,keyasint" max:"20000"`
	More       bool              `cbor:"3,keyasint,omitempty"`
}

// Manifest is a keeper's signed word on its complete set of statements about a period: how many, how many bytes, and
// the sha256 of them. See keeper/statement for the set's format and what is signed.
type Manifest struct {
	Keeper    [32]byte `cbor:"1,keyasint"`
	Period    uint64   `cbor:"2,keyasint"`
	Count     uint32   `cbor:"3,keyasint"`
	Size      uint32   `cbor:"4,keyasint"`
	Digest    [32]byte `cbor:"5,keyasint"`
	Signature [64]byte `cbor:"6,keyasint"`
}

// ManifestsRequest asks a keeper for all manifests that it knows of a period.
type ManifestsRequest struct {
	Version uint8  `cbor:"1,keyasint"`
	Period  uint64 `cbor:"2,keyasint"`
}

// Manifests are the answer, and what keepers gossip when they have sealed a period.
type Manifests struct {
	Version   uint8      `cbor:"1,keyasint"`
	Manifests []Manifest `cbor:"2,keyasint" max:"1024"`
}

// BlobKind says what a BlobRequest asks for.
type BlobKind uint8

const (
	// BlobSet is the set of statements whose manifest has the digest.
	BlobSet BlobKind = 1
	// BlobLeaves are the encoded leaves of the report whose root is the digest.
	BlobLeaves BlobKind = 2
)

// BlobRequest asks a keeper for a piece of something large.
type BlobRequest struct {
	Version uint8    `cbor:"1,keyasint"`
	Kind    BlobKind `cbor:"2,keyasint"`
	Period  uint64   `cbor:"3,keyasint"`
	Digest  [32]byte `cbor:"4,keyasint"`
	Offset  uint32   `cbor:"5,keyasint"`
}

// MaxPiece bounds the bytes of one Piece.
const MaxPiece = 256 << 10

// Piece is the answer: bytes from the offset on, and how many there are in all.
type Piece struct {
	Version uint8  `cbor:"1,keyasint"`
	Total   uint32 `cbor:"2,keyasint"`
	Data    []byte `cbor:"3,keyasint" max:"262144"`
}

// Proposal is a report's root together with what it follows from: the period's seed and, by their manifests, the
// complete sets of statements of so many keepers. A keeper that holds these sets computes the leaves and votes for the root.
type Proposal struct {
	Version   uint8      `cbor:"1,keyasint"`
	Period    uint64     `cbor:"2,keyasint"`
	Round     uint32     `cbor:"3,keyasint"`
	Proposer  [32]byte   `cbor:"4,keyasint"`
	Root      [32]byte   `cbor:"5,keyasint"`
	Seed      [32]byte   `cbor:"6,keyasint"`
	Manifests []Manifest `cbor:"7,keyasint" max:"256"`
	// Signature by the proposer over records.Proposal.
	Signature [64]byte `cbor:"8,keyasint"`
}

// EquivocationProof is two statements of one keeper about one check, one "passed" and one "failed": proof against it.
// The keeper that finds one tells all others, once.
type EquivocationProof struct {
	Version uint8           `cbor:"1,keyasint"`
	One     SignedStatement `cbor:"2,keyasint"`
	Other   SignedStatement `cbor:"3,keyasint"`
}
