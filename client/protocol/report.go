package protocol

// SignedStatement is a check statement (144 bytes, see client/wire) with its keeper and signature.
type SignedStatement struct {
	Version   uint8    `cbor:"1,keyasint"`
	Keeper    [32]byte `cbor:"2,keyasint"`
	Statement []byte   `cbor:"3,keyasint"`
	Signature [64]byte `cbor:"4,keyasint"`
}

// StatementsRequest asks a keeper for all statements that it holds of a period.
type StatementsRequest struct {
	Version uint8  `cbor:"1,keyasint"`
	Period  uint64 `cbor:"2,keyasint"`
}

// StatementsAnswer holds them.
type StatementsAnswer struct {
	Version    uint8             `cbor:"1,keyasint"`
	Statements []SignedStatement `cbor:"2,keyasint"`
}

// Proposal is a report's leaf set together with the statements that it follows from. Every keeper recomputes the
// leaves from the statements, checks that none of its own is missing, and votes the root.
type Proposal struct {
	Version  uint8    `cbor:"1,keyasint"`
	Period   uint64   `cbor:"2,keyasint"`
	Round    uint32   `cbor:"3,keyasint"`
	Proposer [32]byte `cbor:"4,keyasint"`
	Root     [32]byte `cbor:"5,keyasint"`
	// Leaves are 176 bytes each, sorted by node, then lease.
	Leaves     [][]byte          `cbor:"6,keyasint"`
	Statements []SignedStatement `cbor:"7,keyasint"`
	// Signature by the proposer over sha256("gantry-proposal-1" ‖ period u64 LE ‖ round u32 LE ‖ root).
	Signature [64]byte `cbor:"8,keyasint"`
}

// Contradiction is two statements of one keeper about one check, one "passed" and one "failed": proof against it. Whoever
// finds one tells all, once.
type Contradiction struct {
	Version uint8           `cbor:"1,keyasint"`
	One     SignedStatement `cbor:"2,keyasint"`
	Other   SignedStatement `cbor:"3,keyasint"`
}
